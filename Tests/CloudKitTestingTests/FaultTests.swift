import CloudKit
import CloudKitTesting
import Foundation
import Testing

@Suite(.cloud) struct FaultTests {
    let zoneID = CKRecordZone.ID(zoneName: "Notes")

    func note(_ name: String, in zoneID: CKRecordZone.ID = .default) -> CKRecord {
        CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
    }

    func database(device: String = LocalCloud.defaultDevice) throws -> CKDatabase {
        try LocalCloud.current.device(device).container.privateCloudDatabase
    }

    /// The results of saving records, and the error of the operation.
    func save(
        _ records: [CKRecord], atomically: Bool = true
    ) async throws -> (items: [CKRecord.ID: CKError.Code], operation: CKError?) {
        let operation = CKModifyRecordsOperation(recordsToSave: records, recordIDsToDelete: nil)
        operation.isAtomic = atomically
        let items = Box<[CKRecord.ID: CKError.Code]>([:])
        operation.perRecordSaveBlock = { recordID, result in
            if case .failure(let error as CKError) = result { items.value[recordID] = error.code }
        }
        let database = try database()
        let failure = await withCheckedContinuation { continuation in
            operation.modifyRecordsResultBlock = { result in
                if case .failure(let error) = result {
                    continuation.resume(returning: error as? CKError)
                } else {
                    continuation.resume(returning: nil)
                }
            }
            database.add(operation)
        }
        return (items.value, failure)
    }

    @Test func `a fault that another one hides waits for the next request`() async throws {
        let cloud = try LocalCloud.current
        let faults = [
            cloud.fail(.save, with: .networkFailure), cloud.fail(.save, level: .item, with: .quotaExceeded),
            cloud.fail(.save, level: .item, with: .permissionFailure),
        ]
        var codes: [CKError.Code?] = []
        var happened: [Int] = []
        for _ in 0..<3 {
            codes.append(await #expect(throws: CKError.self) { try await database().save(note("a")) }?.code)
            happened.append(faults.map(\.count).reduce(0, +))
        }
        #expect(codes == [.networkFailure, .quotaExceeded, .permissionFailure] && happened == [1, 2, 3])
        try await database().save(note("a"))
    }

    @Test(arguments: [
        (CKError.Code.quotaExceeded, ["a"]), (.zoneBusy, ["a"]), (.internalError, ["a", "b"]),
        (.serviceUnavailable, ["a", "b"]),
    ])
    func `a refused upload fails its records, and is not repeated`(code: CKError.Code, failed: [String]) async throws {
        let cloud = try LocalCloud.current
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try Data([1]).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let records = ["a", "b", "c"].map { note($0) }
        for record in records.prefix(2) { record["file"] = CKAsset(fileURL: file) }
        let (fault, requests) = (cloud.fail(.assets, with: code), cloud.requests(.assets))
        let (items, _) = try await save(records, atomically: false)
        #expect(fault.count == 1)
        #expect(items == Dictionary(uniqueKeysWithValues: failed.map { (note($0).recordID, code) }))
        // A refused request, or the tokens and the bytes of the other record's file.
        #expect(requests.count == (failed.count == 2 ? 1 : 2))
    }

    @Test func `the rest of an atomic batch fails with the item`() async throws {
        try await database().save(CKRecordZone(zoneID: zoneID))
        try LocalCloud.current.fail(.save, record: "b", zone: "Notes", with: .quotaExceeded)
        let records = ["a", "b", "c"].map { note($0, in: zoneID) }
        let (items, failure) = try await save(records)
        #expect(failure?.code == .partialFailure)
        #expect(items[records[0].recordID] == .batchRequestFailed)
        #expect(items[records[1].recordID] == .quotaExceeded)
        #expect(items[records[2].recordID] == .batchRequestFailed)
        await #expect(throws: CKError.self) { try await database().record(for: records[0].recordID) }

        try LocalCloud.current.fail(.save, record: "b", zone: "Notes", with: .quotaExceeded)
        let (alone, _) = try await save(records, atomically: false)
        #expect(alone == [records[1].recordID: .quotaExceeded])
        _ = try await database().record(for: records[0].recordID)
    }

    @Test func `a conflict is another device's save and has its three records`() async throws {
        let record = note("a")
        record["text"] = "Milk"
        try await database().save(record)
        record["text"] = "Bread"
        try LocalCloud.current.fail(.save, with: .serverRecordChanged)
        let error = await #expect(throws: CKError.self) { try await database().save(record) }
        #expect(error?.code == .serverRecordChanged)
        #expect(error?.ancestorRecord?["text"] == "Milk")
        #expect(error?.clientRecord?["text"] == "Bread")
        let server = try #require(error?.serverRecord)
        #expect(server["text"] == "Milk")
        #expect(server.recordChangeTag != record.recordChangeTag)
        server["text"] = "Bread"
        try await database().save(server)
    }

    @Test func `a save that overwrites has no conflict, so such a fault waits for another`() async throws {
        let record = note("a")
        try await database().save(record)
        let fault = try LocalCloud.current.fail(.save, with: .serverRecordChanged)
        _ = try await database().modifyRecords(saving: [record], deleting: [], savePolicy: .allKeys)
        #expect(fault.count == 0)
        await #expect(throws: CKError.self) { try await database().save(record) }
        #expect(fault.count == 1)
    }

    @Test func `a lost answer leaves what was saved`() async throws {
        try LocalCloud.current.fail(.save, at: .afterCommit, with: .networkFailure)
        let error = await #expect(throws: CKError.self) { try await database().save(note("a")) }
        #expect(error?.code == .networkFailure)
        _ = try await database().record(for: note("a").recordID)
    }

    @Test func `a throttled request asks for a tenth of a second, or what the test says`() async throws {
        let cloud = try LocalCloud.current
        cloud.fail(.fetch, with: .serviceUnavailable)
        cloud.fail(.query, with: .serviceUnavailable, retryAfter: 0.5)
        let first = await #expect(throws: CKError.self) { try await database().record(for: note("a").recordID) }
        #expect(first?.retryAfterSeconds == 0.1)
        let second = await #expect(throws: CKError.self) {
            try await database().records(matching: CKQuery(recordType: "Note", predicate: NSPredicate(value: true)))
        }
        #expect(second?.retryAfterSeconds == 0.5)
    }

    @Test(arguments: [CKError.Code.requestRateLimited, .serviceUnavailable])
    func `a request is not sent before the time of a throttled one is over`(code: CKError.Code) async throws {
        let cloud = try LocalCloud.current
        let first = cloud.fail(.save, device: LocalCloud.defaultDevice, with: code, retryAfter: 3600)
        let second = cloud.fail(.save, device: LocalCloud.defaultDevice, with: .networkFailure)
        for seconds in [0, 60] {
            cloud.clock.advance(by: .seconds(seconds))
            let error = await #expect(throws: CKError.self) { try await database().save(note("a")) }
            #expect(error?.code == code && (error?.retryAfterSeconds ?? 0) > 0)
        }
        #expect(first.count == 1 && second.count == 0)
        // Requests of other kinds, and those of other devices, go on.
        _ = try await database().allRecordZones()
        try await database(device: "tablet").save(note("b"))
        cloud.clock.advance(by: .seconds(3600))
        let error = await #expect(throws: CKError.self) { try await database().save(note("a")) }
        #expect(error?.code == .networkFailure && second.count == 1)
        try await database().save(note("a"))
    }

    @Test func `faults choose by zone, record, device, account and number`() async throws {
        let cloud = try LocalCloud.current
        try await database().save(CKRecordZone(zoneID: zoneID))
        cloud.fail(.save, zone: "Notes", with: .networkFailure)
        try await database().save(note("a"))
        await #expect(throws: CKError.self) { try await database().save(note("a", in: zoneID)) }

        cloud.fail(.save, device: "tablet", with: .networkFailure)
        try await database().save(note("b"))
        await #expect(throws: CKError.self) { try await database(device: "tablet").save(note("c")) }

        cloud.fail(.save, account: "tom", with: .networkFailure)
        try await database().save(note("d"))
        let tom = cloud.device("tom's", account: "tom").container.privateCloudDatabase
        await #expect(throws: CKError.self) { try await tom.save(note("e")) }

        cloud.fail(.save, .nth(2), with: .networkFailure)
        try await database().save(note("f"))
        await #expect(throws: CKError.self) { try await database().save(note("g")) }
        try await database().save(note("h"))

        cloud.fail(.save, database: .public, .all, with: .networkFailure)
        for name in ["i", "j"] {
            await #expect(throws: CKError.self) {
                try await cloud.device().container.publicCloudDatabase.save(note(name))
            }
        }
        try await database().save(note("k"))
    }

    @Test func `an expired token stays expired, and a fetch from the beginning succeeds`() async throws {
        try await database().save(CKRecordZone(zoneID: zoneID))
        try await database().save(note("a", in: zoneID))
        let token = try await database().recordZoneChanges(inZoneWith: zoneID, since: nil).changeToken
        try LocalCloud.current.fail(.changes, zone: "Notes", with: .changeTokenExpired)
        for _ in 0..<2 {
            let error = await #expect(throws: CKError.self) {
                try await database().recordZoneChanges(inZoneWith: zoneID, since: token)
            }
            #expect(error?.code == .changeTokenExpired)
        }
        let fresh = try await database().recordZoneChanges(inZoneWith: zoneID, since: nil)
        #expect(fresh.modificationResultsByID.count == 1)
        // The same token, as nothing changed meanwhile.
        let next = try await database().recordZoneChanges(inZoneWith: zoneID, since: fresh.changeToken)
        #expect(next.modificationResultsByID.isEmpty)
    }

    @Test func `a zone that its user deletes is gone`() async throws {
        try await database().save(CKRecordZone(zoneID: zoneID))
        try LocalCloud.current.fail(.save, zone: "Notes", with: .userDeletedZone)
        let error = await #expect(throws: CKError.self) { try await database().save(note("a", in: zoneID)) }
        #expect(error?.code == .userDeletedZone)
        let changes = try await database().databaseChanges(since: nil)
        #expect(changes.modifications.isEmpty)
    }

    /// A list of mei's, with an item or without, that tom takes part in without the right to write.
    private func sharedList(
        hasItem: Bool = true
    ) async throws -> (zone: CKRecordZone.ID, mei: CKDatabase, tom: CKDatabase) {
        let cloud = try LocalCloud.current
        let (mei, tom) = (cloud.container(account: "mei"), cloud.device("toms", account: "tom").container)
        let url = try #require(try await shareURLs(["root"]).first)
        let milk = note("milk", in: zoneID)
        milk.parent = CKRecord.Reference(recordID: note("root", in: zoneID).recordID, action: .none)
        if hasItem { try await mei.privateCloudDatabase.save(milk) }
        let share = try await tom.accept(try await tom.shareMetadata(for: url))
        return (share.recordID.zoneID, mei.privateCloudDatabase, tom.sharedCloudDatabase)
    }

    private func failure<Value>(_ body: () async throws -> Value) async -> CKError.Code? {
        do {
            _ = try await body()
            return nil
        } catch {
            return (error as? CKError)?.code
        }
    }

    @Test(arguments: [("root", false), ("root", true), ("milk", true)])
    func `a record of the shared database that its owner deletes is gone`(name: String, hasItem: Bool) async throws {
        let (zone, mei, tom) = try await sharedList(hasItem: hasItem)
        let recordID = note(name, in: zone).recordID
        try LocalCloud.current.fail(.fetch, record: name, device: "toms", with: .unknownItem)
        #expect(await failure { try await tom.record(for: recordID) } == .unknownItem)
        #expect(
            await failure { try await tom.record(for: recordID) } == (name == "root" ? .zoneNotFound : .unknownItem))
        let ofOwner = await failure { try await mei.record(for: note(name, in: zoneID).recordID) }
        #expect(ofOwner == (name == "root" && hasItem ? nil : .unknownItem), "only the share ends if it has an item")
    }

    @Test(arguments: [CKError.Code.zoneNotFound, .userDeletedZone])
    func `a zone of the shared database that its owner takes away is gone`(code: CKError.Code) async throws {
        let (zone, mei, tom) = try await sharedList()
        let token = try await tom.databaseChanges(since: nil).changeToken
        try LocalCloud.current.fail(.changes, zone: "Notes", device: "toms", with: code)
        #expect(await failure { try await tom.recordZoneChanges(inZoneWith: zone, since: nil) } == code)
        #expect(await failure { try await tom.recordZoneChanges(inZoneWith: zone, since: nil) } == .zoneNotFound)
        #expect(try await tom.databaseChanges(since: token).deletions.map(\.zoneID) == [zone])
        let isThere = try await mei.allRecordZones().contains { $0.zoneID == zoneID }
        #expect(isThere == (code == .zoneNotFound))
    }

    @Test func `an answer that is cut brings its first half`() async throws {
        for name in ["a", "b", "c", "d"] { try await database().save(note(name)) }
        try LocalCloud.current.fail(.query, at: .amidAnswer, with: .networkFailure)
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
        let (found, cursor) = try await database().records(matching: query)
        #expect(found.count == 2)
        let next = try #require(cursor)
        let error = await #expect(throws: CKError.self) { try await database().records(continuingMatchFrom: next) }
        #expect(error?.code == .networkFailure)
        #expect(try await database().records(continuingMatchFrom: next).matchResults.count == 2)
    }

    @Test func `a cut answer's rest fails for its client alone, until the fault is cancelled`() async throws {
        let cloud = try LocalCloud.current
        for name in ["a", "b", "c", "d"] { try await database().save(note(name)) }
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
        // Containers without a device have no client ID.
        let (one, other) = (cloud.container().privateCloudDatabase, cloud.container().privateCloudDatabase)
        for isCancelled in [false, true] {
            let fault = cloud.fail(.query, at: .amidAnswer, with: .networkFailure)
            let next = try #require(try await one.records(matching: query).queryCursor)
            #expect(try await other.records(matching: query).matchResults.count == 4)
            let rest = try #require(try await other.records(matching: query, resultsLimit: 1).queryCursor)
            #expect(try await other.records(continuingMatchFrom: rest).matchResults.count == 3)
            if isCancelled {
                fault.cancel()
            } else {
                await #expect(throws: CKError.self) { try await one.records(continuingMatchFrom: next) }
            }
            #expect(try await one.records(continuingMatchFrom: next).matchResults.count == 2)
        }
    }

    @Test func `the rest of a zone's changes fails if the answer was cut`() async throws {
        try await database().save(CKRecordZone(zoneID: zoneID))
        for name in ["a", "b", "c", "d"] { try await database().save(note(name, in: zoneID)) }
        try LocalCloud.current.fail(.changes, at: .amidAnswer, with: .networkFailure)
        let (one, other) = (try database(), try database(device: "tablet"))
        let half = try await one.recordZoneChanges(inZoneWith: zoneID, since: nil)
        #expect(half.moreComing && half.modificationResultsByID.count == 2)
        let whole = try await other.recordZoneChanges(inZoneWith: zoneID, since: nil)
        #expect(whole.modificationResultsByID.count == 4)
        for fails in [true, false] {
            do {
                let rest = try await one.recordZoneChanges(inZoneWith: zoneID, since: half.changeToken)
                #expect(!fails && rest.modificationResultsByID.count == 2)
            } catch CKError.networkFailure {
                #expect(fails)
            }
        }
    }

    @Test func `every conflict has the service's record`() async throws {
        let cloud = try LocalCloud.current
        try await database().save(CKRecordZone(zoneID: zoneID))
        // A new record that refers to another one of its batch.
        let (list, item) = (note("list", in: zoneID), note("item", in: zoneID))
        item["list"] = CKRecord.Reference(record: list, action: .deleteSelf)
        item.setParent(list)
        cloud.fail(.save, record: "item", with: .serverRecordChanged)
        let (_, failure) = try await save([list, item])
        let conflict = failure?.partialErrorsByItemID?[item.recordID] as? CKError
        #expect(conflict?.code == .serverRecordChanged && conflict?.serverRecord != nil)

        // A share that is saved again.
        let root = note("root", in: zoneID)
        let share = CKShare(rootRecord: root)
        _ = try await database().modifyRecords(saving: [root, share], deleting: [])
        cloud.fail(.save, type: CKRecord.SystemType.share, with: .serverRecordChanged)
        share[CKShare.SystemFieldKey.title] = "Notes"
        let ofShare = await #expect(throws: CKError.self) { try await database().save(share) }
        #expect(ofShare?.code == .serverRecordChanged && ofShare?.serverRecord is CKShare)
    }

    @Test func `a conflict without the service's record cannot be asked for`() async throws {
        let failure = await #expect(throws: CloudFailure.self) {
            try await withCloud { cloud in
                let record = note("a")
                cloud.fail(.delete, with: .serverRecordChanged)
                cloud.fail(.save, level: .request, with: .serverRecordChanged)
                cloud.fail(.save, at: .afterCommit, with: .serverRecordChanged)
                try await database().save(record)
                try await database().deleteRecord(withID: record.recordID)
            }
        }
        #expect(
            failure?.problems.map { $0.split(separator: "happened: ").last } == [
                "only a save has a conflict.", "a conflict is a record's, and not a request's.",
                "a conflict is found before a commit.",
            ])
    }

    @Test(arguments: [Fault.Stage.beforeArrival, .afterCommit, .amidAnswer])
    func `a partial failure of a request, which has no items, cannot be asked for`(stage: Fault.Stage) async throws {
        let failure = await #expect(throws: CloudFailure.self) {
            try await withCloud { cloud in
                cloud.fail(.save, at: stage, level: .request, with: .partialFailure)
                if stage == .amidAnswer { cloud.fail(.save, at: stage, with: .partialFailure) }
                try await database().save(note("a"))
            }
        }
        let problems = failure?.problems.map { $0.split(separator: "happened: ").last }
        let expected: Substring = "a partial failure is that of its items, and not a request's."
        #expect(problems?.allSatisfy { $0 == expected } == true && problems?.isEmpty == false, "\(problems ?? [])")
    }

    @Test func `a zone that a request is told does not exist has its name`() async throws {
        try await database().save(CKRecordZone(zoneID: zoneID))
        try LocalCloud.current.fail(.save, at: .amidAnswer, with: .zoneNotFound)
        let error = await #expect(throws: CKError.self) { try await database().save(note("a", in: zoneID)) }
        #expect(error?.code == .zoneNotFound && error?.localizedDescription.contains("'Notes'") == true)
        try LocalCloud.current.fail(.changes, with: .zoneNotFound)
        let ofDatabase = await #expect(throws: CKError.self) { _ = try await database().databaseChanges(since: nil) }
        #expect(ofDatabase?.code == .zoneNotFound && ofDatabase?.localizedDescription.contains("''") == false)
    }

    @Test func `an item whose answer is lost leaves the answers of its batch true`() async throws {
        try await database().save(CKRecordZone(zoneID: zoneID))
        try LocalCloud.current.fail(.save, record: "b", zone: "Notes", at: .afterCommit, with: .quotaExceeded)
        let records = ["a", "b", "c"].map { note($0, in: zoneID) }
        let (items, failure) = try await save(records)
        #expect(failure?.code == .partialFailure)
        #expect(items == [records[1].recordID: .quotaExceeded])
        #expect(records.map { $0.recordChangeTag != nil } == [true, false, true])
        for record in records { _ = try await database().record(for: record.recordID) }
    }

    @Test(arguments: [true, false])
    func `an item that was not committed has its batch's error, although its answer was to be lost`(
        isFault: Bool
    ) async throws {
        let cloud = try LocalCloud.current
        try await database().save(CKRecordZone(zoneID: zoneID))
        let records = ["a", "b"].map { note($0, in: zoneID) }
        if isFault {
            cloud.fail(.save, record: "a", with: .quotaExceeded)
        } else {
            // The service refuses it.
            records[0]["list"] = CKRecord.Reference(
                recordID: CKRecord.ID(recordName: "none", zoneID: zoneID), action: .deleteSelf)
        }
        cloud.fail(.save, record: "b", at: .afterCommit, level: .item, with: .zoneBusy)
        let (items, _) = try await save(records)
        #expect(
            items == [
                records[0].recordID: isFault ? .quotaExceeded : .referenceViolation,
                records[1].recordID: .batchRequestFailed,
            ])
        await #expect(throws: CKError.self) { try await database().record(for: records[1].recordID) }
    }

    @Test func `a probability follows the seed`() async throws {
        func outcomes(_ seed: UInt64) async throws -> [Bool] {
            try await withCloud(seed: seed) { cloud in
                let fault = cloud.fail(.save, .probability(0.5), with: .networkFailure)
                defer { fault.cancel() }
                var outcomes: [Bool] = []
                for number in 0..<20 {
                    do {
                        try await database().save(note("\(number)"))
                        outcomes.append(true)
                    } catch CKError.networkFailure {
                        outcomes.append(false)
                    }
                }
                return outcomes
            }
        }
        let first = try await outcomes(1)
        #expect(Set(first) == [true, false])
        #expect(try await outcomes(1) == first)
        #expect(try await outcomes(2) != first)
    }

    @Test func `a probability may spare every request, and fails a test of which none matches`() async throws {
        try await withCloud { cloud in
            cloud.fail(.save, .probability(1e-9), with: .networkFailure)
            try await database().save(note("a"))
        }
        let failure = await #expect(throws: CloudFailure.self) {
            try await withCloud { cloud in
                cloud.fail(.save, .probability(0.5), with: .networkFailure)
            }
        }
        #expect(
            failure?.problems == [
                "The fault `save probability=0.5 networkFailure` never happened: no request matched it."
            ])
    }

    @Test func `a fault that never happens fails its test`() async throws {
        let failure = await #expect(throws: CloudFailure.self) {
            try await withCloud { cloud in
                cloud.fail(.save, zone: "Nots", with: .networkFailure)
                cloud.fail(.fetch, type: "Note", with: .networkFailure)
                cloud.fail(.query, with: .networkFailure).cancel()
                try await database().save(note("a"))
            }
        }
        #expect(
            failure?.problems == [
                "The fault `save zone=Nots networkFailure` never happened: no request matched it.",
                "The fault `fetch type=Note networkFailure` never happened: fetch names no record type: name the record "
                    + "instead.",
            ])
    }

    @Test func `a fault that never happens is the issue of a test with the trait`() async throws {
        let line = #line + 3
        try await withKnownIssue {
            try await CloudTrait.cloud.provideScope(for: try #require(Test.current), testCase: Test.Case.current) {
                try LocalCloud.current.fail(.save, with: .networkFailure)
            }
        } matching: { issue in
            issue.comments.contains { $0.rawValue.contains("never happened") }
                && issue.sourceLocation?.line == line
        }
    }
}

/// A value that callbacks change.
final class Box<Value: Sendable>: @unchecked Sendable {
    // Unchecked: the lock guards the value.
    private let lock = NSLock()
    private var stored: Value

    init(_ value: Value) { stored = value }

    var value: Value {
        get { lock.withLock { stored } }
        set { lock.withLock { stored = newValue } }
    }
}
