import CloudKitTesting
import Foundation
import NephosWire
import Testing

@testable import CloudKit

/// Records that arrive before their keys: each fails alone, and arrives with a later fetch, even if an app stores only tokens.
@Suite struct WaitingRecordTests: SharedValuesChecks {
    private typealias Cloud = SharedValuesTests.Cloud

    private func plain(_ name: String) -> CKRecord {
        let record = CKRecord(recordType: "Item", recordID: id(name))
        record["title"] = name
        if name != "list" { record.parent = CKRecord.Reference(recordID: id("list"), action: .none) }
        return record
    }

    /// Shares a list of which nothing is encrypted but what is under it; the other account has come without the key.
    /// - Returns: the zone as the guest has it.
    private func share(
        _ owner: CKContainer, _ guest: CKContainer, sealed: [String] = [], plain others: [String] = []
    ) async throws -> CKRecordZone.ID {
        let database = owner.privateCloudDatabase
        _ = try await database.save(CKRecordZone(zoneID: Cloud.zoneID))
        let root = plain("list")
        let share = CKShare(rootRecord: root)
        share.publicPermission = .readWrite
        try await database.saveAll([root, share])
        // Alternating, so that every page has both.
        var records: [CKRecord] = []
        for index in 0..<max(sealed.count, others.count) {
            if index < sealed.count { records.append(Cloud.record(sealed[index], sealed[index], parent: "list")) }
            if index < others.count { records.append(plain(others[index])) }
        }
        for start in stride(from: 0, to: records.count, by: 200) {
            try await database.saveAll(Array(records[start..<min(start + 200, records.count)]))
        }
        return try await guest.joinWithoutKey(share.url).recordID.zoneID
    }

    /// What an owner's device does at its next sync.
    private func sync(_ owner: CKContainer) async throws {
        #expect(try await fetch(owner, Cloud.zoneID, scope: .private).zones.isEmpty)
    }

    /// The events of a fetch of zones, in order.
    private struct Fetched: Sendable {
        /// The records' names with their texts, or alone where they have none; shares are left out.
        var came: [String] = []
        var failed: [String: CKError.Code] = [:]
        /// Calls for records that failed.
        var failures = 0
        var deleted: [String] = []
        var tokens: [CKRecordZone.ID: CKServerChangeToken] = [:]
        var zones: [CKRecordZone.ID: CKError.Code] = [:]
        var batches = 0
    }

    /// One operation, from tokens as an app has archived them.
    private func fetch(
        _ container: CKContainer, _ zoneIDs: CKRecordZone.ID..., since former: Fetched? = nil, limit: Int? = nil,
        scope: CKDatabase.Scope = .shared
    ) async throws -> Fetched {
        let fetched = Box(Fetched())
        var configurations: [CKRecordZone.ID: CKFetchRecordZoneChangesOperation.ZoneConfiguration] = [:]
        for zoneID in zoneIDs {
            let token = try former?.tokens[zoneID].flatMap { token in
                let data = try NSKeyedArchiver.archivedData(withRootObject: token, requiringSecureCoding: true)
                return try NSKeyedUnarchiver.unarchivedObject(ofClass: CKServerChangeToken.self, from: data)
            }
            configurations[zoneID] = .init(previousServerChangeToken: token, resultsLimit: limit)
        }
        let operation = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: zoneIDs, configurationsByRecordZoneID: configurations)
        operation.recordWasChangedBlock = { recordID, result in
            switch result {
            case .success(let record):
                let text = (record.encryptedValues["text"] as? String).map { "=\($0)" } ?? ""
                if !(record is CKShare) { fetched.value.came.append(recordID.recordName + text) }
            case .failure(let error):
                fetched.value.failed[recordID.recordName] = (error as? CKError)?.code
                fetched.value.failures += 1
            }
        }
        operation.recordWithIDWasDeletedBlock = { recordID, _ in fetched.value.deleted.append(recordID.recordName) }
        operation.recordZoneChangeTokensUpdatedBlock = { zoneID, token, _ in
            fetched.value.tokens[zoneID] = token
            fetched.value.batches += 1
        }
        operation.recordZoneFetchResultBlock = { zoneID, result in
            fetched.value.batches += 1
            switch result {
            case .success(let end): fetched.value.tokens[zoneID] = end.serverChangeToken
            case .failure(let error): fetched.value.zones[zoneID] = (error as? CKError)?.code
            }
        }
        await operation.finish(in: scope == .shared ? container.sharedCloudDatabase : container.privateCloudDatabase)
        return fetched.value
    }

    // MARK: Operations

    @Test(arguments: [true, false])
    func `a record without its key fails alone, and arrives after a restart once the key is there`(
        escrows: Bool
    ) async throws {
        let cloud = try Cloud(escrows: escrows)
        defer { cloud.removeKeys() }
        let (owner, guest) = (cloud.container("mei"), cloud.container("ana"))
        let zone = try await share(owner, guest, sealed: ["milk", "eggs"], plain: ["bread"])
        let first = try await fetch(guest, zone)
        #expect(Set(first.came) == ["list", "bread"])
        #expect(first.failed == ["milk": .zoneBusy, "eggs": .zoneBusy] && first.zones.isEmpty)
        // Nothing but the token is left of the app.
        let second = try await fetch(cloud.container("ana"), zone, since: first)
        #expect(second.came.isEmpty && second.failed == first.failed)
        try await sync(owner)
        let third = try await fetch(cloud.container("ana"), zone, since: second)
        #expect(Set(third.came) == ["milk=milk", "eggs=eggs"] && third.failed.isEmpty)
        let fourth = try await fetch(cloud.container("ana"), zone, since: third)
        #expect(fourth.came.isEmpty && fourth.failed.isEmpty)
        #expect(third.tokens[zone]?.waitingRecords.isEmpty == true)
    }

    @Test func `a waiting record that is changed or deleted arrives in its latest state`() async throws {
        let cloud = try Cloud()
        let (owner, guest) = (cloud.container("mei"), cloud.container("ana"))
        let zone = try await share(owner, guest, sealed: ["a", "b", "c", "d"])
        let first = try await fetch(guest, zone)
        #expect(first.failed.count == 4)
        let database = owner.privateCloudDatabase
        let (b, c) = (try await database.record(for: id("b")), try await database.record(for: id("c")))
        b.encryptedValues["text"] = "B"
        c.encryptedValues["text"] = nil
        try await database.saveAll([b, c], deleting: [id("a")])
        let second = try await fetch(guest, zone, since: first)
        #expect(second.came == ["c"] && second.deleted == ["a"])
        #expect(second.failed == ["b": .zoneBusy, "d": .zoneBusy] && second.failures == 2)
        _ = try await database.deleteRecord(withID: id("d"))
        try await sync(owner)
        let third = try await fetch(guest, zone, since: second)
        #expect(third.came == ["b=B"] && third.deleted == ["d"] && third.failed.isEmpty)
        #expect(try await fetch(guest, zone, since: third).came.isEmpty)
    }

    @Test func `a waiting record that leaves the share is not requested again`() async throws {
        let cloud = try Cloud()
        let (owner, guest) = (cloud.container("mei"), cloud.container("ana"))
        let zone = try await share(owner, guest, sealed: ["a", "b"])
        let first = try await fetch(guest, zone)
        let a = try await owner.privateCloudDatabase.record(for: id("a"))
        a.parent = nil
        _ = try await owner.privateCloudDatabase.save(a)
        let second = try await fetch(guest, zone, since: first)
        #expect(second.deleted == ["a"] && second.failed == ["b": .zoneBusy])
        try await sync(owner)
        let third = try await fetch(guest, zone, since: second)
        #expect(third.came == ["b=b"] && third.failed.isEmpty)
    }

    @Test(arguments: [nil, 30, 150])
    func `more waiting records than a token names arrive once each, in bounded tokens`(limit: Int?) async throws {
        let cloud = try Cloud()
        let (owner, guest) = (cloud.container("mei"), cloud.container("ana"))
        let sealed = (0..<450).map { "sealed-\($0)" }
        let others = (0..<60).map { "plain-\($0)" }
        let zone = try await share(owner, guest, sealed: sealed, plain: others)
        let first = try await fetch(guest, zone, limit: limit)
        #expect(first.came.count == 61 && Set(first.came) == Set(others + ["list"]))
        #expect(Set(first.failed.keys) == Set(sealed) && first.failures == 450)
        #expect(first.zones.isEmpty && first.batches > 1)
        let second = try await fetch(cloud.container("ana"), zone, since: first, limit: limit)
        #expect(second.came.isEmpty && !second.failed.isEmpty)
        #expect(second.failures <= 2 * WaitingRecords.limit)
        for fetched in [first, second] {
            let token = try #require(fetched.tokens[zone])
            #expect(token.waitingRecords.names.count <= WaitingRecords.limit)
            #expect(token.syncToken.utf8.count < 8000)
        }
        // What changes meanwhile is where it is now.
        let changed = try await owner.privateCloudDatabase.record(for: id("sealed-440"))
        changed.encryptedValues["text"] = "changed"
        try await owner.privateCloudDatabase.saveAll([changed], deleting: [id("sealed-3"), id("sealed-430")])
        try await sync(owner)
        let third = try await fetch(cloud.container("ana"), zone, since: second, limit: limit)
        let expected = sealed.filter { !["sealed-3", "sealed-430", "sealed-440"].contains($0) }.map { "\($0)=\($0)" }
        #expect(third.came.count == 448 && Set(third.came) == Set(expected + ["sealed-440=changed"]))
        #expect(Set(third.deleted) == ["sealed-3", "sealed-430"] && third.failed.isEmpty)
        #expect(third.tokens[zone]?.waitingRecords.isEmpty == true)
    }

    @Test func `the single-batch function returns waiting records in batches, too`() async throws {
        let cloud = try Cloud()
        let (owner, guest) = (cloud.container("mei"), cloud.container("ana"))
        let sealed = (0..<450).map { "sealed-\($0)" }
        let zone = try await share(owner, guest, sealed: sealed)
        func all(since token: CKServerChangeToken?) async throws -> ([String: Int], Int, CKServerChangeToken) {
            var (came, batches, token) = ([String: Int](), 0, token)
            while true {
                let changes = try await guest.sharedCloudDatabase.recordZoneChanges(inZoneWith: zone, since: token)
                for (recordID, result) in changes.modificationResultsByID where (try? result.get()) != nil {
                    came[recordID.recordName, default: 0] += 1
                }
                (batches, token) = (batches + 1, changes.changeToken)
                if !changes.moreComing { return (came, batches, changes.changeToken) }
                try #require(batches < 100)
            }
        }
        let (before, _, token) = try await all(since: nil)
        #expect(before.count == 2)
        try await sync(owner)
        let (after, batches, _) = try await all(since: token)
        #expect(after.filter { $0.key.hasPrefix("sealed") } == Dictionary(uniqueKeysWithValues: sealed.map { ($0, 1) }))
        #expect(batches > 1, "no batch has them all")
    }

    @Test func `records whose keys never arrive do not block those whose keys do`() async throws {
        let cloud = try Cloud()
        let owner = cloud.container("mei")
        let (service, guest) = cloud.hostile("ana")
        let names = ["a", "b", "c"].flatMap { group in (0..<300).map { "\(group)-\($0)" } }
        let zone = try await share(owner, guest, sealed: names)
        _ = try await guest.session.keyRing.device()
        await cloud.cloud.settle()
        try await sync(owner)
        // Values of keys that the service hands to no account.
        func withhold(_ groups: String...) {
            service.changingRecords.value = { name, fields in
                guard groups.contains(where: { name.hasPrefix("\($0)-") }), let field = fields["text"],
                    case .sealed(var value) = field.value
                else { return }
                value.bytes.replaceSubrange(1..<9, with: [9, 9, 9, 9, 9, 9, 9, 9])
                fields["text"] = Field(.sealed(value), isEncrypted: true)
            }
        }
        withhold("a", "b", "c")
        var fetched = try await fetch(guest, zone)
        #expect(fetched.failed.count == 900)
        withhold("a", "c")
        var came: [String] = []
        var fetches = 0
        while Set(came).count < 300 {
            fetches += 1
            try #require(fetches < 20)
            fetched = try await fetch(guest, zone, since: fetched)
            #expect(fetched.failures <= 3 * WaitingRecords.limit, "what a fetch reads again is bounded")
            came += fetched.came
        }
        #expect(came.allSatisfy { $0.hasPrefix("b-") })
        #expect(came.count <= 300 + fetches * WaitingRecords.limit)
        // At last there are only those that still wait, and then none.
        service.changingRecords.value = nil
        let last = try await fetch(guest, zone, since: fetched)
        #expect(Set(last.came).isSuperset(of: names.filter { !$0.hasPrefix("b-") }.map { "\($0)=\($0)" }))
        #expect(last.tokens[zone]?.waitingRecords.isEmpty == true)
    }

    @Test func `the key of one owner's zone does not block another's`() async throws {
        let cloud = try Cloud()
        let (mei, bob, guest) = (cloud.container("mei"), cloud.container("bob"), cloud.container("ana"))
        let meis = try await share(mei, guest, sealed: ["milk"], plain: ["bread"])
        let bobs = try await share(bob, guest, sealed: ["tea"], plain: ["salt"])
        #expect(meis != bobs)
        let first = try await fetch(guest, meis, bobs)
        #expect(Set(first.came) == ["list", "bread", "salt"] && Set(first.failed.keys) == ["milk", "tea"])
        try await sync(bob)
        let second = try await fetch(cloud.container("ana"), meis, bobs, since: first)
        #expect(second.came == ["tea=tea"] && second.failed == ["milk": .zoneBusy])
        try await sync(mei)
        let third = try await fetch(cloud.container("ana"), meis, bobs, since: second)
        #expect(third.came == ["milk=milk"] && third.failed.isEmpty)
    }

    @Test func `an unapproved device gets plain records, and the rest once it is approved`() async throws {
        let cloud = try Cloud(escrows: false)
        defer { cloud.removeKeys() }
        let owner = cloud.container("mei")
        _ = try await cloud.makeList(owner)
        _ = try await owner.privateCloudDatabase.save(plain("bread"))
        let second = cloud.hostile("mei", device: "second").container
        let first = try await fetch(second, Cloud.zoneID, scope: .private)
        #expect(first.came == ["bread"])
        #expect(Set(first.failed.keys) == ["list", "milk", "note"])
        #expect(Set(first.failed.values) == [.accountTemporarilyUnavailable])
        let device = SyncDevice()
        device.encrypts.value = true
        device.start(second.privateCloudDatabase)
        try await device.engine.fetchChanges()
        #expect(Set(device.texts.keys) == ["bread"])
        let code = try #require(try await second.deviceCode())
        try await owner.approveDevice(code: code)
        let after = try await fetch(second, Cloud.zoneID, since: first, scope: .private)
        #expect(Set(after.came) == ["list=Groceries", "milk=Milk", "note=Mine"])
        let again = SyncDevice(device.stop())
        again.encrypts.value = true
        again.start(second.privateCloudDatabase)
        try await again.engine.fetchChanges()
        #expect(again.texts == ["bread": "", "list": "Groceries", "milk": "Milk", "note": "Mine"])
    }

    @Test func `no token skips a batch whose keys could not be requested`() async throws {
        let cloud = try Cloud()
        let owner = cloud.container("mei")
        let guest = cloud.container("ana")
        let zone = try await share(owner, guest, sealed: (0..<100).map { "sealed-\($0)" })
        _ = try await guest.session.keyRing.device()
        await cloud.cloud.settle()
        try await sync(owner)
        cloud.cloud.fail(.keys, account: "ana", with: .networkFailure)
        let first = try await fetch(guest, zone, limit: 20)
        #expect(first.zones == [zone: .networkFailure] && first.tokens.isEmpty)
        let second = try await fetch(guest, zone, limit: 20)
        #expect(second.came.count == 101)
    }

    // MARK: Engines

    private func device(_ database: CKDatabase, _ disk: SyncDevice.Disk = .init()) -> SyncDevice {
        let device = SyncDevice(disk)
        device.encrypts.value = true
        device.start(database)
        return device
    }

    @Test func `an engine gets the other records of each zone, and waiting ones after a restart`() async throws {
        let cloud = try Cloud()
        let (mei, bob, guest) = (cloud.container("mei"), cloud.container("bob"), cloud.container("ana"))
        let meis = try await share(mei, guest, sealed: ["milk", "eggs"], plain: ["bread"])
        let bobs = try await share(bob, guest, sealed: ["tea"], plain: ["salt"])
        let first = device(guest.sharedCloudDatabase)
        let errors = Box<[CKRecordZone.ID: CKError]>([:])
        first.onEvent.value = { event in
            if case .didFetchRecordZoneChanges(let end) = event { errors.value[end.zoneID] = end.error }
        }
        try await first.engine.fetchChanges()
        func names(_ device: SyncDevice, in zone: CKRecordZone.ID) -> Set<String> {
            Set(device.notes.filter { $0.key.zoneID == zone && !($0.value.record is CKShare) }.keys.map(\.recordName))
        }
        #expect(names(first, in: meis) == ["list", "bread"] && names(first, in: bobs) == ["list", "salt"])
        #expect(errors.value[meis]?.code == .partialFailure && errors.value[bobs]?.code == .partialFailure)
        let missing = errors.value[meis]?.partialErrorsByItemID?.mapValues { ($0 as? CKError)?.code }
        #expect(missing == [id("milk", meis): .zoneBusy, id("eggs", meis): .zoneBusy])
        try await sync(bob)
        let second = device(cloud.container("ana").sharedCloudDatabase, first.stop())
        try await second.engine.fetchChanges()
        #expect(names(second, in: meis) == ["list", "bread"] && names(second, in: bobs) == ["list", "salt", "tea"])
        _ = try await mei.privateCloudDatabase.deleteRecord(withID: id("eggs"))
        try await sync(mei)
        let third = device(cloud.container("ana").sharedCloudDatabase, second.stop())
        try await third.engine.fetchChanges()
        #expect(names(third, in: meis) == ["list", "bread", "milk"])
        #expect(third.notes[id("milk", meis)]?.text == "milk" && third.notes[id("tea", bobs)]?.text == "tea")
        for device in [first, second, third] { #expect(device.takeProblems().isEmpty, "no version comes twice") }
        third.clearLog()
        try await third.engine.fetchChanges()
        #expect(!third.log.contains { $0.contains("zone") }, "there is nothing left to ask for")
    }

    @Test func `an engine gets more waiting records than a token names`() async throws {
        let cloud = try Cloud()
        let (owner, guest) = (cloud.container("mei"), cloud.container("ana"))
        let sealed = (0..<450).map { "sealed-\($0)" }
        let zone = try await share(owner, guest, sealed: sealed, plain: ["bread"])
        let first = device(guest.sharedCloudDatabase)
        try await first.engine.fetchChanges()
        #expect(Set(first.texts.keys).isSuperset(of: ["list", "bread"]) && first.texts.count == 3)
        try await sync(owner)
        let second = device(cloud.container("ana").sharedCloudDatabase, first.stop())
        try await second.engine.fetchChanges()
        #expect(
            second.texts.filter { $0.key.hasPrefix("sealed") }
                == Dictionary(uniqueKeysWithValues: sealed.map { ($0, $0) }))
        #expect(second.takeProblems().isEmpty && second.notes.keys.allSatisfy { $0.zoneID == zone })
    }

    // MARK: Tokens

    @Test func `a token without waiting records is the service's, and an older version's token is read`() {
        let text = "AAECAwQ"
        let plain = CKServerChangeToken(syncToken: text)
        #expect(plain.servicesToken == text && plain.waitingRecords.isEmpty)
        #expect(CKServerChangeToken(syncToken: text, waiting: WaitingRecords()) == plain)
        var waiting = WaitingRecords()
        waiting.note([.waiting(id("milk"), CKError(.zoneBusy))], from: nil, to: text)
        let token = CKServerChangeToken(syncToken: text, waiting: waiting)
        #expect(token != plain && token.servicesToken == text && token.waitingRecords == waiting)
    }
}
