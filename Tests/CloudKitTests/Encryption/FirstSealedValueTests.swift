import CloudKitTesting
import Foundation
import NephosWire
import Testing

@testable import CloudKit

/// Shares from before the first encrypted value, and their later keys.
@Suite struct FirstSealedValueTests: SharedValuesChecks {
    private typealias Cloud = SharedValuesTests.Cloud

    private func plain(_ name: String, parent: String? = nil) -> CKRecord {
        let record = CKRecord(recordType: "Item", recordID: id(name))
        record["title"] = name
        if let parent { record.parent = CKRecord.Reference(recordID: id(parent), action: .none) }
        return record
    }

    /// Shares a list of which nothing is encrypted, with everybody who has the URL.
    private func sharePlainList(_ owner: CKContainer) async throws -> CKShare {
        let database = owner.privateCloudDatabase
        _ = try await database.save(CKRecordZone(zoneID: Cloud.zoneID))
        let root = plain("list")
        let share = CKShare(rootRecord: root)
        share.publicPermission = .readWrite
        try await database.saveAll([root, plain("milk", parent: "list"), plain("eggs", parent: "list"), share])
        return share
    }

    /// What an owner's device does at its next sync.
    private func sync(_ owner: CKContainer) async throws {
        _ = try await owner.privateCloudDatabase.recordZoneChanges(inZoneWith: Cloud.zoneID, since: nil)
    }

    @Test(arguments: [true, false])
    func `a participant from before a share's first encrypted value gets the key at the owner's next sync`(
        escrows: Bool
    ) async throws {
        let cloud = try Cloud(escrows: escrows)
        defer { cloud.removeKeys() }
        let (owner, guest) = (cloud.container("mei"), cloud.container("ana"))
        let share = try await sharePlainList(owner)
        try await guest.join(share.url)
        let zone = try await sharedZone(guest)
        let milk = try await owner.privateCloudDatabase.record(for: id("milk"))
        milk.encryptedValues["text"] = "Milk"
        _ = try await owner.privateCloudDatabase.save(milk)
        // Settled already, as the guest has no devices with keys yet.
        try await sync(owner)
        await #expect(codeOf { _ = try await text(guest.sharedCloudDatabase, "milk", in: zone) } == .zoneBusy)
        try await sync(owner)
        #expect(try await text(guest.sharedCloudDatabase, "milk", in: zone) == "Milk")
        let changes = try await guest.sharedCloudDatabase.recordZoneChanges(inZoneWith: zone, since: nil)
        #expect(changes.modificationResultsByID.count == 4)
    }

    @Test(arguments: [true, false])
    func `a participant who gets keys after a share was settled is handled again`(escrows: Bool) async throws {
        let cloud = try Cloud(escrows: escrows)
        defer { cloud.removeKeys() }
        let (owner, guest) = (cloud.container("mei"), cloud.container("ana"))
        let share = try await sharePlainList(owner)
        try await guest.join(share.url)
        let zone = try await sharedZone(guest)
        let milk = try await owner.privateCloudDatabase.record(for: id("milk"))
        milk.encryptedValues["text"] = "Milk"
        _ = try await owner.privateCloudDatabase.save(milk)
        try await sync(owner)
        // The guest's first device looks nothing up.
        _ = try await guest.session.keyRing.device()
        await cloud.cloud.settle()
        try await sync(owner)
        #expect(try await text(guest.sharedCloudDatabase, "milk", in: zone) == "Milk")
    }

    enum Beginning: CaseIterable { case save, schema }

    @Test(arguments: Beginning.allCases)
    func `shares without a key get one when the schema gets its first sealed fields`(
        beginning: Beginning
    ) async throws {
        let cloud = try Cloud()
        let (owner, guest, other) = (cloud.container("mei"), cloud.container("ana"), cloud.container("bob"))
        let share = try await sharePlainList(owner)
        try await guest.join(share.url)
        func wantsKeys() async throws -> Bool {
            let saved = try #require(
                try await guest.session.service.send(
                    .lookupRecords,
                    LookupRecordsRequest(
                        records: [.init(recordName: share.recordID.recordName)],
                        zoneID: ZoneIDDictionary(
                            zoneName: "Lists", ownerRecordName: try await owner.userRecordID().recordName)),
                    ServiceCall(scope: .shared)
                ).records.first)
            guard case .record(let record) = saved else { return false }
            return record.shareDetails?.hasKeys == true
        }
        #expect(try await wantsKeys() == false)
        try await sync(owner)
        #expect(try await wantsKeys() == false, "where nothing is sealed no key is made")
        switch beginning {
        case .save:
            let record = CKRecord(recordType: "Diary")
            record.encryptedValues["text"] = "Mine"
            _ = try await other.privateCloudDatabase.save(record)
        case .schema:
            _ = try await cloud.cloud.importSchema(
                try await cloud.cloud.exportSchema() + "\nRECORD TYPE Photo ( file ASSET );")
        }
        await cloud.cloud.settle()
        try await sync(owner)
        #expect(try await wantsKeys())
    }

    @Test(arguments: [true, false])
    func `a participant encrypts a share's first value once the owner's devices know of it`(
        escrows: Bool
    ) async throws {
        let cloud = try Cloud(escrows: escrows)
        defer { cloud.removeKeys() }
        let (owner, guest) = (cloud.container("mei"), cloud.container("ana"))
        let share = try await sharePlainList(owner)
        try await guest.join(share.url)
        let zone = try await sharedZone(guest)
        let milk = try await guest.sharedCloudDatabase.record(for: id("milk", zone))
        milk.encryptedValues["text"] = "Oat milk"
        await #expect(codeOf { _ = try await guest.sharedCloudDatabase.save(milk) } == .zoneBusy)
        try await sync(owner)
        _ = try await guest.sharedCloudDatabase.save(milk)
        #expect(try await text(owner.privateCloudDatabase, "milk", in: Cloud.zoneID) == "Oat milk")
    }

    @Test func `a failed key lookup is noted once until the owner's devices settle it`() async throws {
        let cloud = try Cloud()
        let (owner, guest) = (cloud.container("mei"), cloud.container("ana"))
        let share = try await sharePlainList(owner)
        try await guest.join(share.url)
        let zone = try await sharedZone(guest)
        func tag() async throws -> String? {
            try await owner.privateCloudDatabase.record(for: share.recordID).recordChangeTag
        }
        func lookUp() async throws {
            _ = try await guest.session.service.send(
                .lookupKeys,
                LookupKeysRequest(
                    zoneID: ZoneIDDictionary(zoneName: zone.zoneName, ownerRecordName: zone.ownerName),
                    group: share.recordID.recordName, wantsGroup: true), ServiceCall(scope: .shared))
        }
        let before = try await guest.sharedCloudDatabase.record(for: id(share.recordID.recordName, zone))
            .recordChangeTag
        // Who has no devices with keys cannot be handed one.
        try await lookUp()
        #expect(
            try await guest.sharedCloudDatabase.record(for: id(share.recordID.recordName, zone)).recordChangeTag
                == before)
        _ = try await guest.session.keyRing.device()
        try await lookUp()
        let noted = try await guest.sharedCloudDatabase.record(for: id(share.recordID.recordName, zone))
            .recordChangeTag
        #expect(noted != before)
        try await lookUp()
        #expect(
            try await guest.sharedCloudDatabase.record(for: id(share.recordID.recordName, zone)).recordChangeTag
                == noted)
        try await sync(owner)
        // The key is there: no lookup is in vain any more.
        let settled = try await tag()
        try await lookUp()
        #expect(try await tag() == settled)
    }

    // MARK: Everybody, however they joined

    enum Encrypting: CaseIterable, Sendable { case owner, participant, administrator }
    enum Joining: CaseIterable, Sendable { case invitation, publicLink, oneTime, web }

    struct Case: Sendable {
        var encrypting: Encrypting
        var joining: Joining
        /// Whether the other account joins after the first encrypted value.
        var joinsAfter: Bool

        static let all: [Case] = {
            var all: [Case] = []
            for encrypting in Encrypting.allCases {
                for joining in Joining.allCases {
                    // Administrators are invited by name.
                    if encrypting == .administrator, joining == .publicLink || joining == .oneTime { continue }
                    all.append(Case(encrypting: encrypting, joining: joining, joinsAfter: false))
                    // Who encrypts first has joined.
                    if encrypting == .owner {
                        all.append(Case(encrypting: encrypting, joining: joining, joinsAfter: true))
                    }
                }
            }
            return all
        }()
    }

    @Test(arguments: Case.all)
    func `owner and participant both read after the owner's next sync, whoever encrypts first`(
        _ test: Case
    ) async throws {
        let cloud = try Cloud(escrows: false)
        defer { cloud.removeKeys() }
        let (owner, guest) = (cloud.container("mei"), cloud.container("ana"))
        let database = owner.privateCloudDatabase
        _ = try await database.save(CKRecordZone(zoneID: Cloud.zoneID))
        let root = plain("list")
        let share = CKShare(rootRecord: root)
        switch (test.encrypting, test.joining) {
        case (_, .invitation), (.administrator, .web):
            let participant = try await owner.shareParticipant(forEmailAddress: "ana@localhost")
            participant.permission = .readWrite
            if test.encrypting == .administrator { participant.role = .administrator }
            share.addParticipant(participant)
        case (_, .oneTime):
            let participant = CKShare.Participant.oneTimeURLParticipant()
            participant.permission = .readWrite
            share.addParticipant(participant)
        case (_, .publicLink), (.owner, .web), (.participant, .web): share.publicPermission = .readWrite
        }
        try await database.saveAll([root, plain("milk", parent: "list"), share])
        func encrypt(_ database: CKDatabase, in zone: CKRecordZone.ID) async throws {
            let milk = try await database.record(for: id("milk", zone))
            milk.encryptedValues["text"] = "Milk"
            _ = try await database.save(milk)
        }
        func join() async throws {
            let saved = try #require(try await database.record(for: share.recordID) as? CKShare)
            let once = saved.participants.compactMap { saved.oneTimeURL(for: $0.participantID) }
            #expect(once.count == (test.joining == .oneTime ? 1 : 0))
            let url = try #require(once.first ?? saved.url)
            guard test.joining == .web else {
                try await guest.join(url)
                return
            }
            // The page at the URL gets no fragment and has no keys.
            let accepted = try await guest.session.service.send(
                .acceptShares, ShortGUIDsRequest(shortGUIDs: [.init(value: url.lastPathComponent)]),
                ServiceCall(scope: .private))
            #expect(accepted.results.count == 1)
        }
        if test.joinsAfter { try await encrypt(database, in: Cloud.zoneID) }
        try await join()
        let zone = try await sharedZone(guest)
        let shared = guest.sharedCloudDatabase
        if test.encrypting == .owner {
            if !test.joinsAfter { try await encrypt(database, in: Cloud.zoneID) }
            _ = await codeOf { _ = try await text(shared, "milk", in: zone) }
            try await sync(owner)
        } else {
            await #expect(codeOf { try await encrypt(shared, in: zone) } == .zoneBusy)
            try await sync(owner)
            try await encrypt(shared, in: zone)
        }
        #expect(try await text(database, "milk", in: Cloud.zoneID) == "Milk")
        #expect(try await text(shared, "milk", in: zone) == "Milk")
        let device = SyncDevice()
        device.encrypts.value = true
        device.start(shared)
        try await device.engine.fetchChanges()
        #expect(device.texts["milk"] == "Milk")
        let changes = try await shared.recordZoneChanges(inZoneWith: zone, since: nil)
        #expect(throws: Never.self) { _ = try changes.modificationResultsByID[id("milk", zone)]?.get() }
        #expect(changes.modificationResultsByID.count == 3)
    }

    // MARK: What the errors say

    /// What the error of a save or fetch says.
    private func reason(_ body: () async throws -> Void) async -> String {
        do {
            try await body()
            return "nothing was thrown"
        } catch {
            return error.localizedDescription
        }
    }

    @Test(arguments: [true, false])
    func `errors say so, and the remedy, if no device of the owner has keys`(hasDevice: Bool) async throws {
        let cloud = try Cloud(escrows: false)
        defer { cloud.removeKeys() }
        let (owner, guest) = (cloud.container("mei"), cloud.container("ana"))
        let share = try await sharePlainList(owner)
        try await guest.join(share.url)
        let zone = try await sharedZone(guest)
        if hasDevice { _ = try await owner.session.keyRing.device() }
        let milk = try await guest.sharedCloudDatabase.record(for: id("milk", zone))
        milk.encryptedValues["text"] = "Oat milk"
        let saving = await reason { _ = try await guest.sharedCloudDatabase.save(milk) }
        #expect(saving.contains("no device with keys") != hasDevice, "\(saving)")
        #expect(saving.contains("a device of its owner's hands it over") == hasDevice, "\(saving)")
    }

    @Test func `a record's error says that a device of the owner will hand its key over`() async throws {
        let cloud = try Cloud()
        let (_, guest, zone) = try await cloud.guestWithoutKey()
        let reading = await reason { _ = try await guest.sharedCloudDatabase.record(for: id("milk", zone)) }
        #expect(reading.contains("record 'milk' has not arrived: a device of its owner's hands it over"), "\(reading)")
    }

    // MARK: Without keys

    @Test(arguments: [true, false])
    func `a device without keys can share, and an approved one hands the keys over once it saves the share`(
        isZoneWide: Bool
    ) async throws {
        let cloud = try Cloud(escrows: false)
        defer { cloud.removeKeys() }
        let (owner, guest) = (cloud.container("mei"), cloud.container("ana"))
        _ = try await cloud.makeList(owner)
        try await owner.privateCloudDatabase.saveAll([plain("shelf"), plain("books", parent: "shelf")])
        let second = cloud.hostile("mei", device: "second").container
        let database = second.privateCloudDatabase
        let share: CKShare
        if isZoneWide {
            share = CKShare(recordZoneID: Cloud.zoneID)
        } else {
            share = CKShare(rootRecord: try await database.record(for: id("shelf")))
        }
        share.publicPermission = .readWrite
        let root = isZoneWide ? [] : [try await database.record(for: id("shelf"))]
        try await database.saveAll(root + [share])
        try await guest.join(share.url)
        let zone = try await sharedZone(guest)
        #expect(try await guest.sharedCloudDatabase.record(for: id("books", zone))["title"] as? String == "books")
        _ = try await guest.session.keyRing.device()
        try await sync(owner)
        let books = try await guest.sharedCloudDatabase.record(for: id("books", zone))
        books.encryptedValues["text"] = "Read"
        // Nobody has signed who takes part.
        await #expect(codeOf { _ = try await guest.sharedCloudDatabase.save(books) } == .zoneBusy)
        _ = try await owner.privateCloudDatabase.save(
            try await owner.privateCloudDatabase.record(for: share.recordID))
        _ = try await guest.sharedCloudDatabase.save(books)
        #expect(try await text(owner.privateCloudDatabase, "books", in: Cloud.zoneID) == "Read")
    }

    @Test func `a Web client shares sealed fields, and the owner's device hands the key over`() async throws {
        let cloud = try Cloud()
        let (owner, guest) = (cloud.container("mei"), cloud.container("ana"))
        _ = try await cloud.makeList(owner)
        let shelf = try await owner.privateCloudDatabase.save(plain("shelf"))
        // Without our additions: a client that knows nothing of keys.
        var record = RecordToModify(
            recordName: "theShare", recordType: "cloudkit.share", fields: RecordFields())
        record.share = ShareToModify(
            forRecord: .init(recordName: "shelf", recordChangeTag: shelf.recordChangeTag), publicPermission: .readWrite)
        let answer = try await owner.session.service.send(
            .modifyRecords,
            ModifyRecordsRequest(
                operations: [RecordOperation(operationType: .create, record: record)],
                zoneID: ZoneIDDictionary(zoneName: "Lists")), ServiceCall(scope: .private))
        guard case .record? = answer.records.first else {
            Issue.record("\(answer.records)")
            return
        }
        try await sync(owner)
        let share = try #require(try await owner.privateCloudDatabase.record(for: id("theShare")) as? CKShare)
        #expect(ShareLink(fragment: share.url?.fragment) != nil)
        try await guest.join(share.url)
        #expect(
            try await guest.sharedCloudDatabase.record(for: id("shelf", try await sharedZone(guest)))["title"] != nil)
    }

    @Test func `fetches and queries return plain records to a device without keys`() async throws {
        let cloud = try Cloud(escrows: false)
        defer { cloud.removeKeys() }
        let owner = cloud.container("mei")
        _ = try await cloud.makeList(owner)
        _ = try await owner.privateCloudDatabase.save(plain("shelf"))
        let second = cloud.hostile("mei", device: "second").container
        let database = second.privateCloudDatabase
        let found = try await database.records(for: [id("milk"), id("shelf")])
        #expect(throws: Never.self) { _ = try found[id("shelf")]?.get() }
        let query = CKQuery(recordType: "Item", predicate: NSPredicate(value: true))
        let matches = try await database.records(matching: query, inZoneWith: Cloud.zoneID).matchResults
        for (recordID, result) in Array(found) + matches.map({ ($0.0, $0.1) }) where recordID != id("shelf") {
            await #expect(codeOf { _ = try result.get() } == .accountTemporarilyUnavailable)
        }
        #expect(matches.count == 4)
        #expect(matches.contains { (try? $0.1.get())?.recordID == id("shelf") })
    }

    @Test(arguments: [true, false])
    func `without keys the plain records of a non-atomic batch are saved, the sealed ones fail`(
        isAtomic: Bool
    ) async throws {
        let cloud = try Cloud(escrows: false)
        defer { cloud.removeKeys() }
        let owner = cloud.container("mei")
        _ = try await cloud.makeList(owner)
        let second = cloud.hostile("mei", device: "second").container
        let secret = plain("secret")
        secret.encryptedValues["text"] = "sealed"
        let inDefaultZone = ["a", "b"].map { CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: $0)) }
        inDefaultZone[0].encryptedValues["text"] = "sealed"
        inDefaultZone[1]["title"] = "plain"
        let records = [secret, plain("shelf")] + inDefaultZone
        let results = try await second.privateCloudDatabase.modifyRecords(
            saving: records, deleting: [], atomically: isAtomic
        ).saveResults
        let codes = records.map { record -> CKError.Code? in
            if case .failure(let error)? = results[record.recordID] { (error as? CKError)?.code } else { nil }
        }
        #expect(
            codes == [
                .accountTemporarilyUnavailable, isAtomic ? .batchRequestFailed : nil, .accountTemporarilyUnavailable,
                isAtomic ? .batchRequestFailed : nil,
            ])
        let found = try await owner.privateCloudDatabase.records(for: records.map(\.recordID))
        #expect(records.map { (try? found[$0.recordID]?.get()) != nil } == [false, !isAtomic, false, !isAtomic])
    }

    @Test func `a participant whose key has not arrived saves plain records`() async throws {
        let cloud = try Cloud()
        let (owner, guest) = (cloud.container("mei"), cloud.container("ana"))
        try await guest.join(try await sharePlainList(owner).url)
        let zone = try await sharedZone(guest)
        let database = guest.sharedCloudDatabase
        let (milk, eggs) = (
            try await database.record(for: id("milk", zone)), try await database.record(for: id("eggs", zone))
        )
        milk.encryptedValues["text"] = "Oat milk"
        for _ in 1...2 {
            eggs["title"] = UUID().uuidString
            let results = try await database.modifyRecords(
                saving: [milk, eggs], deleting: [], atomically: false
            ).saveResults
            await #expect(codeOf { _ = try results[milk.recordID]?.get() } == .zoneBusy)
            #expect(throws: Never.self) { _ = try results[eggs.recordID]?.get() }
            let stored = try await owner.privateCloudDatabase.record(for: id("eggs"))
            #expect(stored["title"] as? String == eggs["title"] as? String)
        }
    }

    @Test func `an app that seals nothing requests no keys`() async throws {
        let cloud = try Cloud()
        let (owner, guest) = (cloud.container("mei"), cloud.container("ana"))
        let asked = cloud.cloud.requests(.keys)
        let share = try await sharePlainList(owner)
        try await guest.join(share.url)
        let zone = try await sharedZone(guest)
        let milk = try await guest.sharedCloudDatabase.record(for: id("milk", zone))
        milk["title"] = "Oat milk"
        _ = try await guest.sharedCloudDatabase.save(milk)
        _ = try await guest.sharedCloudDatabase.recordZoneChanges(inZoneWith: zone, since: nil)
        await cloud.cloud.settle()
        try await sync(owner)
        #expect(asked.count == 0)
    }

    @Test func `a participant of a former share saves its records in a remade one`() async throws {
        let cloud = try Cloud()
        let (owner, guest) = (cloud.container("mei"), cloud.container("ana"))
        let root = try await cloud.makeList(owner)
        let eggs = Cloud.record("eggs", "Eggs", parent: "list")
        _ = try await owner.privateCloudDatabase.save(eggs)
        let share = try await cloud.share(root, of: owner)
        try await guest.join(share.url)
        let zone = try await sharedZone(guest)
        func write(_ name: String, _ text: String) async throws {
            let record = try await guest.sharedCloudDatabase.record(for: id(name, zone))
            record.encryptedValues["text"] = text
            _ = try await guest.sharedCloudDatabase.save(record)
        }
        try await write("milk", "Oat milk")
        try await write("eggs", "Two eggs")
        _ = try await owner.privateCloudDatabase.deleteRecord(withID: share.recordID)
        let again = try await cloud.share(
            try await owner.privateCloudDatabase.record(for: root.recordID), of: owner)
        #expect(again.recordID != share.recordID)
        try await guest.join(again.url)
        try await write("milk", "Soy milk")
        try await write("eggs", "Three eggs")
        #expect(try await text(owner.privateCloudDatabase, "eggs", in: Cloud.zoneID) == "Three eggs")
    }
}
