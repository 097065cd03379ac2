import CloudKit
import CloudKitTesting
import Foundation
import Testing

@Suite(.cloud) struct HoldTests {
    private func note(_ name: String) -> CKRecord {
        CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name))
    }

    private func database(_ device: String = "phone") throws -> CKDatabase {
        try LocalCloud.current.device(device).container.privateCloudDatabase
    }

    private func has(_ name: String) async throws -> Bool {
        do {
            _ = try await database("tablet").record(for: note(name).recordID)
            return true
        } catch CKError.unknownItem {
            return false
        }
    }

    private func saving(_ name: String) throws -> Task<Void, any Error> {
        let (database, note) = (try database(), note(name))
        return Task { try await database.save(note) }
    }

    private func code(_ body: () async throws -> Void) async -> CKError.Code? {
        await #expect(throws: CKError.self) { try await body() }?.code
    }

    @Test(arguments: [(Fault.Stage.beforeArrival, false), (.afterCommit, true), (.amidAnswer, true)])
    func `a save is held before it arrives, or its answer is`(stage: Fault.Stage, isSaved: Bool) async throws {
        let held = try LocalCloud.current.hold(.save, type: "Note", device: "phone", at: stage)
        let saving = try saving("a")
        try await held.arrived()
        #expect(try await has("a") == isSaved && held.count == 1)
        // Those of other devices and later ones pass.
        try await database("tablet").save(note("b"))
        try await database().save(note("c"))
        held.release()
        try await saving.value
        #expect(try await has("a") && held.count == 1)
        try await held.arrived()
    }

    @Test(.cloud(limits: .tight)) func `a request that is held amid its answer has the limits of others`() async throws
    {
        let large = note("large")
        large["text"] = String(repeating: "x", count: 5000)
        let held = try LocalCloud.current.hold(.save, at: .amidAnswer)
        let database = try database()
        let saving = Task { try await database.save(large) }
        try await held.arrived()
        held.release()
        #expect(await code { _ = try await saving.value } == .limitExceeded)
        #expect(try await !has("large"))
    }

    @Test(.cloud(limits: .tight)) func `a request that is held amid its answer has no expired token`() async throws {
        let (cloud, database) = (try LocalCloud.current, try database())
        let zoneID = CKRecordZone.ID(zoneName: "Z")
        try await database.save(CKRecordZone(zoneID: zoneID))
        let token = try await database.recordZoneChanges(inZoneWith: zoneID, since: nil).changeToken
        cloud.clock.advance(by: .seconds(61))
        let held = cloud.hold(.changes, at: .amidAnswer)
        let fetching = Task { try await database.recordZoneChanges(inZoneWith: zoneID, since: token).moreComing }
        try await held.arrived()
        held.release()
        #expect(await code { _ = try await fetching.value } == .changeTokenExpired)
    }

    @Test func `a clock may be centuries ahead`() async throws {
        try LocalCloud.current.clock.advance(by: .seconds(10_000_000_000))
        try await database().save(note("late"))
        #expect(try await has("late"))
    }

    @Test func `a save that is cancelled while the device enrols is not sent, and another one is`() async throws {
        let (cloud, database) = (try LocalCloud.current, try database())
        let (held, sent) = (cloud.hold(.keys, device: "phone"), cloud.requests(.save, device: "phone"))
        let saves = ["a", "b"].map { name in
            let note = note(name)
            note.encryptedValues["secret"] = name
            return Task { try await database.save(note) }
        }
        try await held.arrived()
        saves[0].cancel()
        held.release()
        #expect(await code { _ = try await saves[0].value } == .operationCancelled)
        _ = try await saves[1].value
        #expect(try await has("b"))
        #expect(try await !has("a"))
        #expect(sent.count == 1)
    }

    @Test func `another device's save meets one that is held`() async throws {
        try await database().save(note("a"))
        let (mine, theirs) = (
            try await database().record(for: note("a").recordID),
            try await database("tablet").record(for: note("a").recordID)
        )
        let held = try LocalCloud.current.hold(.save, record: "a", device: "phone")
        let database = try database()
        let saving = Task { try await database.save(mine) }
        try await held.arrived()
        try await self.database("tablet").save(theirs)
        held.release()
        #expect(await code { _ = try await saving.value } == .serverRecordChanged)
    }

    @Test func `amid an answer the rest of it is held`() async throws {
        for name in ["a", "b", "c", "d"] { try await database().save(note(name)) }
        let cloud = try LocalCloud.current
        let held = cloud.hold(.query, at: .amidAnswer)
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
        let database = try database()
        let (found, cursor) = try await database.records(matching: query)
        #expect(found.count == 2 && held.count == 0)
        let next = try #require(cursor)
        let rest = Task { try await database.records(continuingMatchFrom: next).matchResults.count }
        try await held.arrived()
        #expect(try await self.database("tablet").records(matching: query).matchResults.count == 4)
        held.release()
        #expect(try await rest.value == 2)
    }

    @Test func `several requests are held, and several holds of one request one after the other`() async throws {
        let cloud = try LocalCloud.current
        let (first, all) = (cloud.hold(.save, .first(2)), cloud.hold(.save, .all, at: .afterCommit))
        let third = cloud.hold(.save, .nth(3))
        let tasks = [try saving("a"), try saving("b"), try saving("c")]
        try await first.arrived()
        try await third.arrived()
        #expect(!(try await has("a")) && all.count == 0)
        first.release()
        third.release()
        try await all.arrived()
        all.release()
        for task in tasks { try await task.value }
        #expect(first.count == 2 && third.count == 1 && all.count > 0)
        try await database().save(note("d"))
    }

    @Test(arguments: [(Fault.Stage.beforeArrival, false), (.afterCommit, true)])
    func `a held request that is cancelled fails`(stage: Fault.Stage, isSaved: Bool) async throws {
        let held = try LocalCloud.current.hold(.save, at: stage)
        let operation = CKModifyRecordsOperation(recordsToSave: [note("a")], recordIDsToDelete: nil)
        let (results, end) = AsyncStream<CKError.Code?>.makeStream()
        operation.modifyRecordsResultBlock = { result in
            if case .failure(let error as CKError) = result { end.yield(error.code) }
            end.finish()
        }
        try database().add(operation)
        try await held.arrived()
        operation.cancel()
        var codes: [CKError.Code?] = []
        for await code in results { codes.append(code) }
        #expect(codes == [.operationCancelled])
        held.release()
        #expect(try await has("a") == isSaved)
    }

    @Test func `a held request of a device that goes offline does not arrive`() async throws {
        let cloud = try LocalCloud.current
        let held = cloud.hold(.save)
        let saving = try saving("a")
        try await held.arrived()
        cloud.device("phone").isOffline = true
        held.release()
        #expect(await code { try await saving.value } == .networkUnavailable)
        cloud.device("phone").isOffline = false
        #expect(try await !has("a"))
    }

    @Test func `a fault meets a request that is held, and its error is held too`() async throws {
        let cloud = try LocalCloud.current
        let (held, answer) = (cloud.hold(.save), cloud.hold(.save, at: .afterCommit))
        let saving = try saving("a")
        try await held.arrived()
        cloud.fail(.save, with: .serviceUnavailable)
        held.release()
        try await answer.arrived()
        answer.release()
        #expect(await code { try await saving.value } == .serviceUnavailable)
    }

    @Test func `the transfer of a file is held`() async throws {
        let cloud = try LocalCloud.current
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("hold-\(UUID().uuidString)")
        try Data("Milk".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let (held, record) = (cloud.hold(.assets, .nth(2), at: .amidAnswer), note("a"))
        record["file"] = CKAsset(fileURL: file)
        let database = try database()
        let saving = Task { try await database.save(record) }
        try await held.arrived()
        #expect(try await !has("a"))
        held.release()
        _ = try await saving.value
    }

    @Test func `a hold that holds nothing fails its test`() async throws {
        let failure = await #expect(throws: CloudFailure.self) {
            try await withCloud { cloud in
                let early = cloud.hold(.save, record: "a")
                early.release()
                _ = cloud.hold(.save, zone: "My notes", .nth(2), at: .afterCommit)
                _ = cloud.hold(.fetch, type: "Note")
                _ = cloud.hold(.save, .nth(0))
                _ = cloud.hold(.save, .nth(3))
                let rest = cloud.hold(.query, at: .amidAnswer)
                try await database().save(note("a"))
                _ = cloud.hold(.save, .probability(1e-9))
                try await database().save(note("b"))
                let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
                let next = try #require(try await database().records(matching: query).queryCursor)
                rest.release()
                #expect(try await database().records(continuingMatchFrom: next).matchResults.count == 1)
            }
        }
        #expect(
            failure?.problems == [
                "`save record=a` held no request: no request matched it.",
                #"`save zone="My notes" nth=2 when=after` held no request: no request matched it."#,
                "`fetch type=Note` held no request: fetch names no record type: name the record instead.",
                "`save nth=0` held no request: count from 1.",
                "`save nth=3` held no request: 2 matched, and it stopped none of them.",
                "`query when=amid` held no request: 1 matched, and it stopped none of them.",
            ])
    }

    @Test func `a client that asks for no rest of its answer is named`() async throws {
        for name in ["a", "b"] { try await database().save(note(name)) }
        let held = try LocalCloud.current.hold(.query, at: .amidAnswer)
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
        let database = try database()
        let next = try #require(try await database.records(matching: query).queryCursor)
        let failure = await #expect(throws: CloudFailure.self) { try await held.arrived(within: .zero) }
        #expect(failure?.description.hasSuffix("has the first half of an answer, and asked for no more.") == true)
        let fetching = Task { try await database.records(continuingMatchFrom: next).matchResults.count }
        try await held.arrived()
        held.release()
        #expect(try await fetching.value == 1)
    }

    @Test func `a request that does not come in time is reported`() async throws {
        let held = try LocalCloud.current.hold(.save, zone: "Notes")
        let failure = await #expect(throws: CloudFailure.self) { try await held.arrived(within: .zero) }
        #expect(failure?.description.contains("`save zone=Notes` held no request within") == true)
        let waiting = Task { try await held.arrived() }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }

        try await database().save(CKRecordZone(zoneName: "Notes"))
        let saving = Task { [database = try database()] in
            try await database.save(
                CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "a", zoneID: .init(zoneName: "Notes"))))
        }
        try await held.arrived()
        held.release()
        _ = try await saving.value
    }

    @Test(arguments: [true, false])
    func `what is held at the end of a test is released`(leavesNothing: Bool) async throws {
        let task = Box<Task<Void, any Error>?>(nil)
        do {
            try await withCloud(leavesNothing: leavesNothing) { cloud in
                let held = cloud.hold(.save)
                task.value = try saving("a")
                try await held.arrived()
            }
            #expect(!leavesNothing)
        } catch let failure as CloudFailure {
            #expect(leavesNothing && failure.description.contains("1 requests have no answer yet"))
        }
        _ = await task.value?.result
    }
}

@Suite(.cloud) struct RequestCountTests {
    private let zoneID = CKRecordZone.ID(zoneName: "Notes")

    private func note(_ name: String, in zoneID: CKRecordZone.ID = .default) -> CKRecord {
        CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
    }

    private func database(_ device: String = "phone") throws -> CKDatabase {
        try LocalCloud.current.device(device).container.privateCloudDatabase
    }

    @Test func `requests are counted from the call on, by what they concern`() async throws {
        let cloud = try LocalCloud.current
        let before = cloud.requests(.zones)
        try await database().save(CKRecordZone(zoneID: zoneID))
        let (saves, ofZone, ofTablet) = (
            cloud.requests(.save), cloud.requests(.save, zone: "Notes"), cloud.requests(device: "tablet")
        )
        let (after, records) = (cloud.requests(.zones), cloud.requests(.save, type: "Note", record: "7"))
        _ = try await database().modifyRecords(saving: (0..<100).map { note("\($0)", in: zoneID) }, deleting: [])
        try await database("tablet").save(note("a"))
        _ = try await database("tablet").record(for: note("a").recordID)
        #expect(before.count == 1 && after.count == 0)
        #expect(saves.count == 2 && ofZone.count == 1 && ofTablet.count == 2 && records.count == 1)
        #expect("\(ofZone)" == "save zone=Notes: 1")
    }

    @Test func `a request counts that fails, or that an offline device sends`() async throws {
        let cloud = try LocalCloud.current
        let (saves, all) = (cloud.requests(.save), cloud.requests(device: "phone"))
        cloud.fail(.save, with: .networkFailure)
        await #expect(throws: CKError.self) { try await database().save(note("a")) }
        cloud.device("phone").isOffline = true
        #expect(all.count == 1)
        await #expect(throws: CKError.self) { try await database().save(note("a")) }
        #expect(saves.count == 2 && all.count == 2)
    }

    @Test func `what can count nothing fails its test`() async throws {
        let failure = await #expect(throws: CloudFailure.self) {
            try await withCloud { cloud in _ = cloud.requests(.delete, type: "Note") }
        }
        #expect(
            failure?.problems == [
                "`delete type=Note` counts no request: delete names no record type: name the record instead."
            ])
    }
}

/// Faults of the requests about keys, and of the look-ups of sync engines.
@Suite(.cloud) struct KeyFaultTests {
    private func sealed(_ name: String) -> CKRecord {
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name))
        record.encryptedValues["text"] = "Milk"
        return record
    }

    private func database(_ device: String = "phone") throws -> CKDatabase {
        try LocalCloud.current.device(device).container.privateCloudDatabase
    }

    @Test(arguments: [Fault.Stage.beforeArrival, .afterCommit, .amidAnswer])
    func `a device that cannot enrol saves no encrypted value, and does so later`(stage: Fault.Stage) async throws {
        let cloud = try LocalCloud.current
        // Enrolment has two requests, and then come the keys of the zone.
        for number in 1...3 {
            func database(_ device: String) -> CKDatabase {
                cloud.device("\(device) \(number)", account: "mei \(number)").container.privateCloudDatabase
            }
            let fault = cloud.fail(.keys, .nth(number), at: stage, with: .networkFailure)
            let error = await #expect(throws: CKError.self) { try await database("phone").save(sealed("a")) }
            #expect(error?.code == .networkFailure && fault.count == 1, "\(number)")
            try await database("phone").save(sealed("a"))
            let read = try await database("tablet").record(for: sealed("a").recordID)
            #expect(read.encryptedValues["text"] == "Milk")
        }
    }

    @Test func `any request is none about keys, and records without encrypted values have none`() async throws {
        let cloud = try LocalCloud.current
        let keys = cloud.requests(.keys)
        try await database().save(CKRecord(recordType: "Note"))
        #expect(keys.count == 0)
        let (all, saves) = (cloud.requests(), cloud.requests(.save))
        try await database().save(sealed("a"))
        #expect(keys.count > 0 && all.count == saves.count)
        let zone = cloud.requests(.keys, zone: "Other")
        try await database("tablet").save(sealed("b"))
        #expect(zone.count == 0)
    }

    @Test(arguments: [CKError.Code.serviceUnavailable, .zoneBusy, .internalError, .accountTemporarilyUnavailable])
    func `the error of a read is that of the request for its keys`(code: CKError.Code) async throws {
        try await database().save(sealed("a"))
        let database = try database("tablet")
        try LocalCloud.current.fail(.keys, with: code)
        let error = await #expect(throws: CKError.self) { try await database.record(for: sealed("a").recordID) }
        #expect(error?.code == code)
        let read = try await database.record(for: sealed("a").recordID)
        #expect(read.encryptedValues["text"] == "Milk")
    }
}
