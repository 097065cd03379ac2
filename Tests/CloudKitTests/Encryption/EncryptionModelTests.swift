import CloudKitLocal
import Foundation
import NephosCrypto
import NephosTesting
import NephosWire
import Testing

@testable import CloudKit

/// Random shares, moves, removals, writes and revoked devices. After each step every account opens exactly the records of a
/// plain model, and no endpoint hands it a key of a record that it may not read; a record that left a share is no longer
/// wrapped for it; a value is sealed with a key that only its readers were handed; and an offline device misses nothing.
/// `NEPHOS_FUZZ_STEPS=200` takes so many steps with each seed, `NEPHOS_FUZZ_SEEDS=100` so many seeds.
@Suite struct EncryptionModelTests {
    private static func number(_ name: String, _ usual: Int) -> Int {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? usual
    }

    @Test(.timeLimit(.minutes(60)), arguments: 1...UInt64(number("NEPHOS_FUZZ_SEEDS", 3)))
    func `each participant opens what it may, and no token skips a record`(seed: UInt64) async throws {
        let run = try EncryptionModel(seed)
        defer { run.cloud.removeKeys() }
        do {
            try await run.begin()
            for _ in 0..<Self.number("NEPHOS_FUZZ_STEPS", 25) {
                try await run.step()
                try await run.expectModel()
            }
            try await run.expectOfflineTexts()
        } catch {
            Issue.record("seed \(seed): \(error)\n\(run.log.suffix(12).joined(separator: "\n"))")
        }
    }
}

/// The accounts, what they do, and what is to come of it.
private final class EncryptionModel {
    typealias Cloud = SharedValuesTests.Cloud

    /// An account that takes part in shares, with one session that it keeps.
    final class Guest {
        let name: String
        let container: CKContainer
        /// What it has of its last fetch.
        var texts: [String: String] = [:]
        var token: CKServerChangeToken?
        /// The IDs of record keys that it was ever handed, by record.
        var handed: [String: Set<[UInt8]>] = [:]

        init(_ name: String, _ container: CKContainer) {
            self.name = name
            self.container = container
        }
    }

    let cloud: Cloud
    var random: SeededGenerator
    var log: [String] = []
    var owner: CKContainer
    var ownersDevices = 1
    let guests: [Guest]
    static let roots = ["A", "B"]
    /// The last one is below the first, and goes where that goes.
    static let names = ["i0", "i1", "i2", "i3", "i4", "below i0"]
    /// Every item's root and text.
    var items: [String: (root: String?, text: String)] = [:]
    /// Who takes part in which root's share.
    var members: [String: Set<String>] = [:]
    /// Who might read each record since it was written last.
    var readers: [String: Set<String>] = [:]
    var shares: [String: CKRecord.ID] = [:]
    /// The names of all that there were.
    var formerShares: Set<String> = []
    var count = 0

    init(_ seed: UInt64) throws {
        cloud = try Cloud(escrows: false)
        random = SeededGenerator(seed: seed)
        owner = cloud.container("mei")
        let cloud = cloud
        guests = ["ana", "bob"].map { Guest($0, cloud.container($0)) }
    }

    private var database: CKDatabase { owner.privateCloudDatabase }
    private var last: Comment { "\(log.suffix(8).joined(separator: "; "))" }

    private func zone(_ owner: String) -> CKRecordZone.ID { CKRecordZone.ID(zoneName: "Lists", ownerName: owner) }

    private func id(_ name: String, _ owner: String = CKCurrentUserDefaultName) -> CKRecord.ID {
        CKRecord.ID(recordName: name, zoneID: zone(owner))
    }

    private func root(of name: String) -> String? { Self.roots.contains(name) ? name : items[name]?.root }

    private func mayRead(_ name: String) -> Set<String> { root(of: name).flatMap { members[$0] } ?? [] }

    private func nextText(_ name: String) -> String {
        count += 1
        items[name, default: (nil, "")].text = "\(name) \(count)"
        return "\(name) \(count)"
    }

    // MARK: Steps

    func begin() async throws {
        _ = try await database.save(CKRecordZone(zoneID: Cloud.zoneID))
        for root in Self.roots { try await make(root, below: nil) }
        for (number, name) in Self.names.enumerated() {
            let root = Self.roots[number % 2]
            try await make(name, below: name == "below i0" ? "i0" : root)
            items[name]?.root = name == "below i0" ? "A" : root
        }
    }

    private func make(_ name: String, below parent: String?) async throws {
        let record = CKRecord(recordType: "Item", recordID: id(name))
        record.encryptedValues["text"] = nextText(name)
        record.parent = parent.map { CKRecord.Reference(recordID: id($0), action: .none) }
        _ = try await database.save(record)
    }

    func step() async throws {
        let name = Self.names[Int.random(in: 0..<6, using: &random)]
        let root = Self.roots[Int.random(in: 0..<2, using: &random)]
        let guest = guests[Int.random(in: 0..<2, using: &random)]
        switch Int.random(in: 0..<13, using: &random) {
        case 0...2: try await write(name)
        case 3...5: try await move(name == "below i0" ? "i0" : name, to: Bool.random(using: &random) ? root : nil)
        case 6...8: try await toggle(guest, root)
        case 9, 10: try await guestWrites(guest, name)
        case 11: try await endShare(of: root)
        default: try await replaceOwnersDevice()
        }
        for name in items.keys { readers[name, default: []].formUnion(mayRead(name)) }
    }

    private func write(_ name: String) async throws {
        log.append("write \(name)")
        let record = try await database.record(for: id(name))
        record.encryptedValues["text"] = nextText(name)
        _ = try await database.save(record)
        readers[name] = []
    }

    private func move(_ name: String, to root: String?) async throws {
        let writes = Bool.random(using: &random)
        log.append("move \(name) to \(root ?? "none")\(writes ? " and write it" : "")")
        let record = try await database.record(for: id(name))
        record.parent = root.map { CKRecord.Reference(recordID: id($0), action: .none) }
        if writes { record.encryptedValues["text"] = nextText(name) }
        _ = try await database.save(record)
        if writes { readers[name] = [] }
        items[name]?.root = root
        if name == "i0" { items["below i0"]?.root = root }
    }

    private func share(_ root: String) async throws -> CKShare {
        if let known = shares[root] { return try #require(try await database.record(for: known) as? CKShare) }
        let record = try await database.record(for: id(root))
        let share = CKShare(rootRecord: record)
        try await database.saveAll([record, share])
        shares[root] = share.recordID
        formerShares.insert(share.recordID.recordName)
        return share
    }

    private func endShare(of root: String) async throws {
        guard let share = shares.removeValue(forKey: root) else { return }
        log.append("\(root) is shared no more")
        _ = try await database.deleteRecord(withID: share)
        members[root] = nil
    }

    private func toggle(_ guest: Guest, _ root: String) async throws {
        let share = try await share(root)
        if members[root, default: []].remove(guest.name) != nil {
            log.append("\(guest.name) out of \(root)")
            let userID = try await guest.container.userRecordID()
            let part = try #require(share.participants.first { $0.userIdentity.userRecordID == userID })
            share.removeParticipant(part)
            _ = try await database.save(share)
        } else {
            log.append("\(guest.name) into \(root)")
            let part = try await owner.shareParticipant(forEmailAddress: "\(guest.name)@localhost")
            part.permission = .readWrite
            share.addParticipant(part)
            _ = try await database.save(share)
            try await guest.container.join(share.url)
            members[root, default: []].insert(guest.name)
        }
    }

    private func guestWrites(_ guest: Guest, _ name: String) async throws {
        guard mayRead(name).contains(guest.name) else { return }
        log.append("\(guest.name) writes \(name)")
        let shared = guest.container.sharedCloudDatabase
        let record = try await shared.record(for: id(name, try await owner.userRecordID().recordName))
        record.encryptedValues["text"] = nextText(name)
        _ = try await shared.save(record)
        readers[name] = []
    }

    /// Another device of the owner's comes, and takes the former one off the list.
    private func replaceOwnersDevice() async throws {
        log.append("the owner has another device")
        let container = cloud.cloud.container(account: "mei")
        func device(_ number: Int) -> (AccountDevices, CKContainer) {
            let keys = "\(cloud.directory)/mei" + (number == 1 ? "" : "-\(number)")
            let service = HostileService(container, mayEscrow: false, keysIn: keys)
            return (service.devices, service.container)
        }
        let (former, _) = device(ownersDevices)
        ownersDevices += 1
        let (keys, next) = device(ownersDevices)
        let code = try #require(try await keys.code())
        try await former.approve(code)
        let old = try #require(try await keys.list().first { !$0.isThis })
        try await keys.revoke(old.name)
        owner = next
    }

    // MARK: Comparing

    func expectModel() async throws {
        if Bool.random(using: &random) {
            // The owner's library makes good what is to be.
            _ = try await database.recordZoneChanges(inZoneWith: Cloud.zoneID, since: nil)
        }
        let ownersName = try await owner.userRecordID().recordName
        #expect(try await texts(database, CKCurrentUserDefaultName) == items.mapValues(\.text), last)
        for guest in guests {
            let expected = items.filter { mayRead($0.key).contains(guest.name) }.mapValues(\.text)
            let found = try await texts(guest.container.sharedCloudDatabase, ownersName)
            #expect(found == expected, "\(guest.name): \(last)")
            try await expectHandedKeys(guest, ownersName)
        }
        try await expectStoredKeys()
        if Int.random(in: 0..<4, using: &random) == 0 {
            try await fetch(guests[Int.random(in: 0..<2, using: &random)], ownersName)
        }
    }

    /// The texts of the items that a database has.
    private func texts(_ database: CKDatabase, _ owner: String) async throws -> [String: String] {
        var found: [String: String] = [:]
        let recordIDs = items.keys.sorted().map { id($0, owner) }
        for (recordID, result) in try await database.records(for: recordIDs) {
            do {
                found[recordID.recordName] = try result.get().encryptedValues["text"] as? String
            } catch let error as CKError where [.unknownItem, .zoneNotFound].contains(error.code) {}
        }
        return found
    }

    /// The service hands an account the keys of the groups that it takes part in, and of the records that it may read.
    private func expectHandedKeys(_ guest: Guest, _ ownersName: String) async throws {
        let mine = Set(shares.filter { members[$0.key]?.contains(guest.name) == true }.values.map(\.recordName))
        for group in [""] + formerShares.sorted() {
            var request = LookupKeysRequest(
                zoneID: ZoneIDDictionary(zoneName: "Lists", ownerRecordName: ownersName), group: group,
                wantsGroup: true, wantsMembers: true, missingBelow: [""] + Self.roots + Self.names,
                recordNames: Self.roots + Self.names)
            request.wantsLeft = true
            guard
                let answer = try? await guest.container.session.service.send(
                    .lookupKeys, request, ServiceCall(scope: .shared))
            else {
                // The zone is not there for who takes part in nothing of it.
                #expect(mine.isEmpty, "\(guest.name): \(last)")
                continue
            }
            let hasGroup = !answer.group.isEmpty || !answer.boxes.isEmpty || answer.link != nil
            #expect(!hasGroup || mine.contains(group), "\(guest.name) has keys of \(group): \(last)")
            #expect(answer.members.isEmpty && !answer.hasLeft && answer.oneTimeLinks.isEmpty)
            for record in answer.records {
                let name = record.recordName
                #expect(mayRead(name).contains(guest.name), "\(guest.name) has keys of \(name): \(last)")
                #expect(record.keys.allSatisfy { mine.contains($0.group) }, "\(guest.name), \(name): \(last)")
                guest.handed[name, default: []].formUnion(record.keys.map(\.id))
            }
        }
    }

    /// No record is wrapped for a share that it has left, and none is sealed with a key that somebody was handed who might
    /// not read it since.
    private func expectStoredKeys() async throws {
        let (service, call) = (owner.session.service, ServiceCall(scope: .private))
        let zoneID = ZoneIDDictionary(zoneName: "Lists")
        let keys = try await service.send(
            .lookupKeys, LookupKeysRequest(zoneID: zoneID, wantsGroup: false, recordNames: items.keys.sorted()), call)
        let live = Set(shares.values.map(\.recordName))
        for record in keys.records {
            let share = root(of: record.recordName).flatMap { shares[$0]?.recordName }
            let others = live.intersection(record.keys.map(\.group)).subtracting([share ?? ""])
            #expect(others.isEmpty, "\(record.recordName): \(last)")
        }
        let stored = try await service.send(
            .lookupRecords,
            LookupRecordsRequest(records: items.keys.sorted().map { .init(recordName: $0) }, zoneID: zoneID), call)
        for case .record(let record) in stored.records {
            guard case .sealed(let value)? = try record.fields.decoded()["text"]?.value,
                let keyID = RecordKey.id(of: value)
            else {
                Issue.record("\(record.recordName) is not encrypted: \(last)")
                continue
            }
            for guest in guests where !readers[record.recordName, default: []].contains(guest.name) {
                let wasHanded = guest.handed[record.recordName]?.contains(keyID) ?? false
                #expect(!wasHanded, "\(guest.name) was handed the key of \(record.recordName): \(last)")
            }
        }
    }

    private func fetch(_ guest: Guest, _ ownersName: String) async throws {
        let zoneID = zone(ownersName)
        let database = guest.container.sharedCloudDatabase
        guard try await database.allRecordZones().contains(where: { $0.zoneID == zoneID }) else {
            (guest.texts, guest.token) = ([:], nil)
            return
        }
        var moreComing = true
        while moreComing {
            let changes = try await database.recordZoneChanges(inZoneWith: zoneID, since: guest.token)
            for (recordID, result) in changes.modificationResultsByID {
                let record = try result.get().record
                if record is CKShare { continue }
                guest.texts[recordID.recordName] = record.encryptedValues["text"] as? String
            }
            for deletion in changes.deletions { guest.texts[deletion.recordID.recordName] = nil }
            (guest.token, moreComing) = (changes.changeToken, changes.moreComing)
        }
    }

    /// Who fetched now and then has what it would have had at once.
    func expectOfflineTexts() async throws {
        let ownersName = try await owner.userRecordID().recordName
        for guest in guests {
            try await fetch(guest, ownersName)
            let expected = items.filter { mayRead($0.key).contains(guest.name) }.mapValues(\.text)
            #expect(guest.texts == expected, "\(guest.name): \(last)")
        }
    }
}
