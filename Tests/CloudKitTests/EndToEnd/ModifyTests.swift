import CloudKit
import Testing

/// Saving and deleting against the whole service, as an app sees it, through both transports.
@Suite struct ModifyEndToEndTests {
    @Test(arguments: Transport.allCases)
    func `changedKeys sends changed keys, allKeys all of them, and both keep the server's other keys`(
        transport: Transport
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let record = note("n")
            record["a"] = "a1"
            record["b"] = "b1"
            try await database.save(record)
            let mine = try await database.record(for: record.recordID)
            record["a"] = "a2"
            record["c"] = "c2"
            try await database.save(record)

            mine["b"] = "b3"
            try await database.saveAll([mine], .changedKeys)
            var fetched = try await database.record(for: record.recordID)
            #expect(fetched["a"] == "a2" && fetched["b"] == "b3" && fetched["c"] == "c2")

            mine["b"] = "b4"
            try await database.saveAll([mine], .allKeys)
            fetched = try await database.record(for: record.recordID)
            #expect(fetched["a"] == "a1" && fetched["b"] == "b4" && fetched["c"] == "c2")
            #expect(fetched.recordChangeTag == mine.recordChangeTag)
        }
    }

    @Test(arguments: Transport.allCases)
    func `a deleted record with a tag is an unknown item, and one without is made again`(
        transport: Transport
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let record = try await database.save(note("n"))
            try await database.deleteRecord(withID: record.recordID)
            record["a"] = 1
            await expectFailure(.unknownItem) { try await database.save(record) }
            try await database.save(note("n"))
        }
    }

    @Test(arguments: Transport.allCases)
    func `in a custom zone a batch is all or nothing, and the innocent items fail with batchRequestFailed`(
        transport: Transport
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let zone = try await database.zone("Z")
            let other = try await database.zone("Other")
            try await database.saveAll([note("taken", in: zone), note("doomed", in: zone)])
            let batch = [note("new", in: zone), note("taken", in: zone), note("elsewhere", in: other)]
            let doomed = note("doomed", in: zone).recordID
            let outcome = await ModifyOutcome(saving: batch, deleting: [doomed], in: database)
            #expect(outcome.codes["new"] == .batchRequestFailed && outcome.codes["taken"] == .serverRecordChanged)
            #expect(outcome.codes["doomed"] == .batchRequestFailed && outcome.codes["elsewhere"] == nil)
            #expect(outcome.events == ["new", "taken", "elsewhere", "doomed", "result", "older", "completion"])
            let partial = try #require(outcome.older as? CKError)
            #expect(outcome.failure as? CKError == partial)
            #expect(partial.code == .partialFailure && partial.partialErrorsByItemID?.count == 3)
            #expect((partial.partialErrorsByItemID?[doomed] as? CKError)?.code == .batchRequestFailed)
            #expect(outcome.saved == ["elsewhere"] && outcome.deleted == [])
            #expect(
                try await database.existing(batch + [note("doomed", in: zone)]) == ["taken", "elsewhere", "doomed"])
        }
    }

    @Test(arguments: Transport.allCases, [true, false])
    func `in the default zone, and if isAtomic is false, each item is independent`(
        transport: Transport, inCustomZone: Bool
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let zone = inCustomZone ? try await database.zone("Z") : .default
            try await database.saveAll([note("taken", in: zone), note("doomed", in: zone)])
            let outcome = await ModifyOutcome(
                saving: [note("new", in: zone), note("taken", in: zone)],
                deleting: [note("doomed", in: zone).recordID, note("missing", in: zone).recordID],
                isAtomic: !inCustomZone, in: database)
            #expect(outcome.codes == ["taken": .serverRecordChanged])
            #expect(outcome.saved == ["new"] && Set(outcome.deleted) == ["doomed", "missing"])
            #expect(try await database.existing([note("new", in: zone), note("doomed", in: zone)]) == ["new"])
        }
    }

    @Test(arguments: Transport.allCases)
    func `400 records are a batch, 401 are over the limit and change nothing`(transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let records = (0...400).map { note("n\($0)") }
            await expectFailure(.limitExceeded) {
                _ = try await database.modifyRecords(saving: records, deleting: [])
            }
            var existing = try await database.existing(records.suffix(10))
            #expect(existing == [])
            try await database.saveAll(records.dropLast())
            existing = try await database.existing(records.dropLast())
            #expect(existing == records.dropLast().map(\.recordID.recordName))
        }
    }

    @Test(arguments: Transport.allCases)
    func `the same record twice in one operation is an invalid argument`(transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            await expectFailure(.invalidArguments) {
                _ = try await cloud.database().modifyRecords(saving: [note("n"), note("n")], deleting: [])
            }
            await expectFailure(.invalidArguments) {
                _ = try await cloud.database().modifyRecords(saving: [note("n")], deleting: [note("n").recordID])
            }
        }
    }

    /// As in sync code that makes each record again from its own model.
    @Test(arguments: Transport.allCases)
    func `a new record's nil field is cleared if it overwrites another record`(transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let zone = try await database.save(CKRecordZone(zoneName: "Z")).zoneID
            func make() -> CKRecord { CKRecord(recordType: "Note", recordID: .init(recordName: "n", zoneID: zone)) }
            let first = make()
            first["folder"] = "inbox"
            first["title"] = "t"
            first.encryptedValues["pin"] = "1"
            try await database.saveAll([first], .changedKeys)
            let second = make()
            second["folder"] = nil
            second["never"] = nil
            second.encryptedValues["pin"] = nil
            try await database.saveAll([second], .changedKeys)
            let fetched = try await database.record(for: first.recordID)
            #expect(fetched.allKeys() == ["title"])
            #expect(second.changedKeys() == [])
        }
    }

    @Test(arguments: Transport.allCases)
    func `desiredKeys limits the returned fields, and a save of the result keeps the others`(transport: Transport)
        async throws
    {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let record = note("n")
            for key in ["a", "b", "c"] { record[key] = key }
            try await database.save(record)
            let partial = try #require(
                try await database.records(for: [record.recordID], desiredKeys: ["a", "z"])[record.recordID]
            ).get()
            #expect(partial.allKeys() == ["a"] && partial.changedKeys() == [])
            #expect(partial.recordChangeTag == record.recordChangeTag)
            partial["a"] = "new"
            try await database.save(partial)
            let fetched = try await database.record(for: record.recordID)
            #expect(fetched["a"] == "new" && fetched["b"] == "b" && fetched["c"] == "c")
            let none = try await database.records(for: [record.recordID], desiredKeys: [])[record.recordID]?.get()
            #expect(none?.allKeys() == [])
        }
    }

    @Test(arguments: Transport.allCases)
    func `an operation sees its dependency's changes, and a cancelled one does nothing`(
        transport: Transport
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let save = CKModifyRecordsOperation(recordsToSave: [note("n")])
            let fetch = CKFetchRecordsOperation(recordIDs: [note("n").recordID])
            fetch.addDependency(save)
            let found: CKRecord? = await withCheckedContinuation { continuation in
                var found: CKRecord?
                fetch.perRecordResultBlock = { _, result in found = try? result.get() }
                fetch.fetchRecordsResultBlock = { _ in continuation.resume(returning: found) }
                database.add(fetch)
                database.add(save)
            }
            #expect(found?.recordID.recordName == "n")

            let cancelled = CKModifyRecordsOperation(recordsToSave: [note("never")])
            cancelled.cancel()
            let result: Result<Void, any Error> = await withCheckedContinuation { continuation in
                cancelled.modifyRecordsResultBlock = { continuation.resume(returning: $0) }
                database.add(cancelled)
            }
            await expectFailure(.operationCancelled) { try result.get() }
            let never = try await database.existing([note("never")])
            #expect(never == [])
        }
    }
}
