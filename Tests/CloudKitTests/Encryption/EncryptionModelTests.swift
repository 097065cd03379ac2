import CloudKitLocal
import Foundation
import NephosCrypto
import NephosWire
import Testing

@testable import CloudKit

/// Random shares, moves, removals, writes and revoked devices: after each step every account opens exactly what a plain model
/// says; what it ever had of keys opens nothing that was written when it might not read; and who was offline misses nothing.
/// `NEPHOS_FUZZ_STEPS=200` takes so many steps with each seed.
@Suite struct EncryptionModelTests {
    private static let steps = ProcessInfo.processInfo.environment["NEPHOS_FUZZ_STEPS"].flatMap { Int($0) }

    @Test(arguments: [1, 2, 3] as [UInt64]) func `each opens what it may, and no token passes a record`(
        seed: UInt64
    ) async throws {
        let run = try Run(seed)
        defer { run.cloud.removeKeys() }
        do {
            try await run.begin()
            for _ in 0..<(Self.steps ?? 25) {
                try await run.step()
                try await run.compare()
            }
            try await run.compareOffline()
        } catch {
            Issue.record("seed \(seed): \(error)\n\(run.log.suffix(12).joined(separator: "\n"))")
        }
    }

    /// An account that takes part in shares, with one session that it keeps, and what it has of its last fetch.
    private final class Guest {
        let name: String
        let container: CKContainer
        var texts: [String: String] = [:]
        var token: CKServerChangeToken?
        /// Every share's key that its session ever had.
        var hoard: [String: GroupKeys] = [:]

        init(_ name: String, _ container: CKContainer) {
            self.name = name
            self.container = container
        }
    }

    private final class Run {
        typealias Cloud = SharedValuesTests.Cloud
        let cloud: Cloud
        var random: SeededGenerator
        var log: [String] = []
        var owner: CKContainer
        var ownersDevices = 1
        let guests: [Guest]
        let roots = ["A", "B"]
        /// The model: every item's root and text, who takes part in which root's share, and who might read each record since it
        /// was written last.
        var items: [String: (root: String?, text: String)] = [:]
        var members: [String: Set<String>] = [:]
        var readers: [String: Set<String>] = [:]
        var shares: [String: CKRecord.ID] = [:]
        var count = 0

        init(_ seed: UInt64) throws {
            cloud = try Cloud(escrows: false)
            random = SeededGenerator(seed: seed)
            owner = cloud.container("mei")
            let cloud = cloud
            guests = ["ana", "bob"].map { Guest($0, cloud.container($0)) }
        }

        private var database: CKDatabase { owner.privateCloudDatabase }

        private func id(_ name: String, _ owner: String = CKCurrentUserDefaultName) -> CKRecord.ID {
            CKRecord.ID(recordName: name, zoneID: CKRecordZone.ID(zoneName: "Lists", ownerName: owner))
        }

        private func mayRead(_ name: String) -> Set<String> {
            (roots.contains(name) ? name : items[name]?.root).flatMap { members[$0] } ?? []
        }

        private func reference(_ root: String?) -> CKRecord.Reference? {
            root.map { CKRecord.Reference(recordID: id($0), action: .none) }
        }

        func begin() async throws {
            _ = try await database.save(CKRecordZone(zoneID: Cloud.zoneID))
            for root in roots { try await write(root, under: nil) }
            for number in 0..<6 { try await write("i\(number)", under: roots[number % 2]) }
        }

        private func write(_ name: String, under root: String?) async throws {
            count += 1
            let record = (try? await database.record(for: id(name))) ?? CKRecord(recordType: "Item", recordID: id(name))
            record.encryptedValues["text"] = "\(name) \(count)"
            record.parent = reference(root)
            _ = try await database.save(record)
            items[name] = (root, "\(name) \(count)")
            readers[name] = mayRead(name)
        }

        // MARK: Steps

        func step() async throws {
            let name = "i\(Int.random(in: 0..<6, using: &random))"
            let root = roots[Int.random(in: 0..<2, using: &random)]
            let guest = guests[Int.random(in: 0..<2, using: &random)]
            switch Int.random(in: 0..<10, using: &random) {
            case 0...2:
                log.append("write \(name)")
                try await write(name, under: items[name]?.root)
            case 3, 4: try await move(name, to: Bool.random(using: &random) ? root : nil)
            case 5...7: try await toggle(guest, root)
            case 8: try await guestWrites(guest, name)
            default: try await replaceOwnersDevice()
            }
            for (name, _) in items { readers[name, default: []].formUnion(mayRead(name)) }
        }

        private func move(_ name: String, to root: String?) async throws {
            log.append("move \(name) to \(root ?? "none")")
            let record = try await database.record(for: id(name))
            record.parent = reference(root)
            _ = try await database.save(record)
            items[name]?.root = root
        }

        private func share(_ root: String) async throws -> CKShare {
            if let known = shares[root] { return try #require(try await database.record(for: known) as? CKShare) }
            let record = try await database.record(for: id(root))
            let share = CKShare(rootRecord: record)
            try await database.saveAll([record, share])
            shares[root] = share.recordID
            return share
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
            try await sync()
            count += 1
            let shared = guest.container.sharedCloudDatabase
            let record = try await shared.record(for: id(name, try await owner.userRecordID().recordName))
            record.encryptedValues["text"] = "\(name) \(count)"
            _ = try await shared.save(record)
            items[name]?.text = "\(name) \(count)"
            readers[name] = mayRead(name)
        }

        /// Another device of the owner's comes, and takes the former one off the list.
        private func replaceOwnersDevice() async throws {
            log.append("the owner has another device")
            let container = cloud.cloud.container(account: "mei")
            func device(_ number: Int) -> (AccountDevices, CKContainer) {
                let service = FaultyService(container)
                service.mayEscrow.value = false
                service.keysIn.value = "\(cloud.directory)/mei" + (number == 1 ? "" : "-\(number)")
                let identifier = container.containerIdentifier ?? ""
                return (AccountDevices(service, container: identifier), service.container(named: identifier))
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

        /// The owner's library makes good what is to be.
        private func sync() async throws {
            _ = try await database.recordZoneChanges(inZoneWith: Cloud.zoneID, since: nil)
        }

        func compare() async throws {
            try await sync()
            let ownersName = try await owner.userRecordID().recordName
            for (name, item) in items {
                let own = try await database.record(for: id(name)).encryptedValues["text"] as? String
                #expect(own == item.text, "\(log.suffix(8))")
                for guest in guests {
                    var found: String?
                    do {
                        found =
                            try await guest.container.sharedCloudDatabase.record(for: id(name, ownersName))
                            .encryptedValues["text"] as? String
                    } catch let error as CKError where error.code == .unknownItem || error.code == .zoneNotFound {}
                    let expected = mayRead(name).contains(guest.name) ? item.text : nil
                    #expect(found == expected, "\(guest.name) \(name) \(log.suffix(8))")
                }
            }
            for guest in guests { try await compareHoard(guest, ownersName) }
            if Int.random(in: 0..<4, using: &random) == 0 {
                try await fetch(guests[Int.random(in: 0..<2, using: &random)], ownersName)
            }
        }

        /// What the account ever had of keys opens no record that was written when it might not read it.
        private func compareHoard(_ guest: Guest, _ ownersName: String) async throws {
            let zone = KeyZone(id("", ownersName).zoneID, .shared)
            for (root, share) in shares where members[root]?.contains(guest.name) == true {
                let group = KeyRing.GroupName(zone: zone, group: share.recordName)
                guest.hoard[share.recordName] = try await guest.container.session.keyRing.keys(of: group, making: false)
                    .1
            }
            let answer = try await owner.session.service.lookupKeys(
                LookupKeysRequest(
                    zoneID: ZoneIDDictionary(zoneName: "Lists"), wantsGroup: false, recordNames: Array(items.keys)),
                ServiceCall(scope: .private))
            let place = await owner.session.keyRing.place(
                of: KeyZone(Cloud.zoneID, .private), try await owner.session.keyRing.device())
            for record in answer.records where !readers[record.recordName, default: []].contains(guest.name) {
                for wrapped in record.keys {
                    guard let key = guest.hoard[wrapped.group]?.keys[wrapped.version] else { continue }
                    let opened = RecordKey(
                        wrapped, under: key, recordName: record.recordName,
                        in: GroupPlace(zone: place, group: wrapped.group))
                    #expect(opened == nil, "\(guest.name) has a key of \(record.recordName) \(log.suffix(8))")
                }
            }
        }

        private func fetch(_ guest: Guest, _ ownersName: String) async throws {
            let zoneID = id("", ownersName).zoneID
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
        func compareOffline() async throws {
            let ownersName = try await owner.userRecordID().recordName
            for guest in guests {
                try await fetch(guest, ownersName)
                let expected = items.filter { mayRead($0.key).contains(guest.name) }.mapValues(\.text)
                #expect(guest.texts == expected, "\(guest.name) \(log.suffix(8))")
            }
        }
    }
}
