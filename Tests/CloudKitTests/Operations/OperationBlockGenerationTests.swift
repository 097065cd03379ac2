import CloudKit
import NephosWire
import Testing

/// Both generations of completion blocks.
@Suite struct OperationBlockGenerationTests {
    private static let good = CKRecord.ID(recordName: "Good")
    private static let bad = CKRecord.ID(recordName: "Bad")

    private static func refuses(_ name: String?) -> RecordResult? {
        name == "Bad" ? .failure(.scripted(.accessDenied)) : nil
    }

    private let service = ScriptedService(
        ScriptedService.Script(
            modify: { operation, _ in refuses(operation.record.recordName) },
            lookup: { item, _ in refuses(item.recordName) },
            zone: { zoneID in zoneID.zoneName == "Bad" ? .failure(.scripted(.zoneNotFound)) : nil }))

    private func describe(_ error: (any Error)?) -> String {
        guard let error = error as? CKError else { return error == nil ? "none" : "not a CKError" }
        guard error.code == .partialFailure else { return "\(error.code)" }
        let items = (error.partialErrorsByItemID ?? [:]).map { item, error in
            let name =
                (item.base as? CKRecord.ID)?.recordName ?? (item.base as? CKRecordZone.ID)?.zoneName ?? "\(item)"
            return "\(name): \((error as? CKError).map { "\($0.code)" } ?? "not a CKError")"
        }
        return "partialFailure of \(items.sorted())"
    }

    private func describe(_ result: Result<Void, any Error>) -> String { describe(result.failure) }

    @Test func `modifying records reports item failures to both generations of completion blocks`() async {
        let events = Events()
        let operation = CKModifyRecordsOperation(
            recordsToSave: [Self.good, Self.bad].map { CKRecord(recordType: "Artwork", recordID: $0) },
            recordIDsToDelete: [CKRecord.ID(recordName: "Gone")])
        olderAPI.setItemBlock(operation) { [self] in events.note("item \($0.recordID.recordName) \(describe($1))") }
        operation.modifyRecordsResultBlock = { [self] in events.note("result \(describe($0))") }
        olderAPI.setCompletion(operation) { [self] saved, deleted, error in
            events.note(
                "completion \(saved?.map(\.recordID.recordName) ?? []) \(deleted?.map(\.recordName) ?? []) "
                    + describe(error))
        }
        await operation.finish { service.database.add(operation) }
        #expect(
            events.all == [
                "item Good none", "item Bad permissionFailure",
                "result partialFailure of [\"Bad: permissionFailure\"]",
                "completion [\"Good\"] [\"Gone\"] partialFailure of [\"Bad: permissionFailure\"]",
            ])
    }

    @Test func `the new block for items replaces the old one`() async {
        let events = Events()
        let modify = CKModifyRecordsOperation(
            recordsToSave: [CKRecord(recordType: "Artwork", recordID: Self.good)], recordIDsToDelete: nil)
        modify.perRecordSaveBlock = { recordID, _ in events.note("new \(recordID.recordName)") }
        olderAPI.setItemBlock(modify) { _, _ in events.note("old") }
        await modify.finish { service.database.add(modify) }
        let fetch = CKFetchRecordsOperation(recordIDs: [Self.good])
        fetch.perRecordResultBlock = { recordID, _ in events.note("new \(recordID.recordName)") }
        olderAPI.setItemBlock(fetch) { _, _, _ in events.note("old") }
        await fetch.finish { service.database.add(fetch) }
        #expect(events.all == ["new Good", "new Good"])
    }

    @Test func `fetching records reports item failures to both generations of completion blocks`() async {
        let events = Events()
        let operation = CKFetchRecordsOperation(recordIDs: [Self.good, Self.bad])
        operation.perRecordProgressBlock = { events.note("progress \($0.recordName) \($1)") }
        olderAPI.setItemBlock(operation) { [self] record, recordID, error in
            events.note("item \(record?.recordType ?? "none") \(recordID?.recordName ?? "none") \(describe(error))")
        }
        operation.fetchRecordsResultBlock = { [self] in events.note("result \(describe($0))") }
        olderAPI.setCompletion(operation) { [self] records, error in
            events.note("completion \(records?.keys.map(\.recordName) ?? []) \(describe(error))")
        }
        await operation.finish { service.database.add(operation) }
        #expect(
            events.all == [
                "progress Good 1.0", "item Artwork Good none", "progress Bad 1.0", "item none Bad permissionFailure",
                "result partialFailure of [\"Bad: permissionFailure\"]",
                "completion [\"Good\"] partialFailure of [\"Bad: permissionFailure\"]",
            ])
    }

    @Test func `modifying zones reports item failures to both generations of completion blocks`() async {
        let events = Events()
        let operation = CKModifyRecordZonesOperation(
            recordZonesToSave: [CKRecordZone(zoneName: "Good")],
            recordZoneIDsToDelete: [CKRecordZone.ID(zoneName: "Bad"), CKRecordZone.ID(zoneName: "Gone")])
        operation.perRecordZoneSaveBlock = { zoneID, result in
            events.note("save \(zoneID.zoneName) \((try? result.get())?.capabilities.contains(.atomic) ?? false)")
        }
        operation.perRecordZoneDeleteBlock = { [self] in events.note("delete \($0.zoneName) \(describe($1))") }
        operation.modifyRecordZonesResultBlock = { [self] in events.note("result \(describe($0))") }
        olderAPI.setCompletion(operation) { [self] saved, deleted, error in
            events.note(
                "completion \(saved?.map(\.zoneID.zoneName) ?? []) \(deleted?.map(\.zoneName) ?? []) "
                    + describe(error))
        }
        await operation.finish { service.database.add(operation) }
        #expect(
            events.all == [
                "save Good true", "delete Bad zoneNotFound", "delete Gone none",
                "result partialFailure of [\"Bad: zoneNotFound\"]",
                "completion [\"Good\"] [\"Gone\"] partialFailure of [\"Bad: zoneNotFound\"]",
            ])
    }

    @Test func `fetching zones reports item failures to both generations of completion blocks`() async {
        let events = Events()
        let operation = CKFetchRecordZonesOperation(
            recordZoneIDs: [CKRecordZone.ID(zoneName: "Good"), CKRecordZone.ID(zoneName: "Bad")])
        operation.perRecordZoneResultBlock = { zoneID, result in
            events.note("item \(zoneID.zoneName) \(result.isSuccess)")
        }
        operation.fetchRecordZonesResultBlock = { [self] in events.note("result \(describe($0))") }
        olderAPI.setCompletion(operation) { [self] zones, error in
            events.note("completion \(zones?.keys.map(\.zoneName) ?? []) \(describe(error))")
        }
        await operation.finish { service.database.add(operation) }
        #expect(
            events.all == [
                "item Good true", "item Bad false", "result partialFailure of [\"Bad: zoneNotFound\"]",
                "completion [\"Good\"] partialFailure of [\"Bad: zoneNotFound\"]",
            ])
    }

    @Test func `async forms report each item's failure if all fail`() async throws {
        let database = service.database
        let fetched = try await database.records(for: [Self.bad])
        #expect(fetched[Self.bad]?.isSuccess == false)
        let record = CKRecord(recordType: "Artwork", recordID: Self.bad)
        let modified = try await database.modifyRecords(saving: [record], deleting: [])
        #expect(modified.saveResults[Self.bad]?.isSuccess == false)
        let zone = CKRecordZone(zoneName: "Bad")
        #expect(try await database.recordZones(for: [zone.zoneID])[zone.zoneID]?.isSuccess == false)
        let zones = try await database.modifyRecordZones(saving: [zone], deleting: [])
        #expect(zones.saveResults[zone.zoneID]?.isSuccess == false)
        // The forms for one item throw its error.
        let fetching = await #expect(throws: CKError.self) { try await database.record(for: Self.bad) }
        let saving = await #expect(throws: CKError.self) { try await database.save(zone) }
        #expect(fetching?.code == .permissionFailure && saving?.code == .zoneNotFound)
    }

    @Test func `a failure of the whole operation is reported once, without items`() async {
        let service = ScriptedService(ScriptedService.Script(failure: .transport(.networkFailure, "no answer")))
        let events = Events()
        let operation = CKModifyRecordsOperation(
            recordsToSave: [CKRecord(recordType: "Artwork", recordID: Self.good)], recordIDsToDelete: [Self.bad])
        operation.perRecordSaveBlock = { _, _ in events.note("item") }
        operation.perRecordDeleteBlock = { _, _ in events.note("item") }
        operation.modifyRecordsResultBlock = { [self] in events.note("result \(describe($0))") }
        olderAPI.setCompletion(operation) { [self] saved, deleted, error in
            events.note("completion \(saved == nil) \(deleted == nil) \(describe(error))")
        }
        await operation.finish { service.database.add(operation) }
        #expect(events.all == ["result networkFailure", "completion true true networkFailure"])
    }

    @Test func `partial errors are found in the ways of older code`() async throws {
        let error = await withCheckedContinuation { continuation in
            let operation = CKFetchRecordsOperation(recordIDs: [Self.good, Self.bad])
            olderAPI.setCompletion(operation) { continuation.resume(returning: $1) }
            service.database.add(operation)
        }
        let userInfo = try #require(error as NSError?).userInfo
        #expect((userInfo[CKPartialErrorsByItemIDKey] as? [CKRecord.ID: any Error])?[Self.bad] is CKError)
        #expect(
            (userInfo[CKPartialErrorsByItemIDKey] as? [AnyHashable: CKError])?[Self.bad]?.code == .permissionFailure)
        #expect((userInfo[CKPartialErrorsByItemIDKey] as? NSDictionary)?[Self.bad] is CKError)
        #expect((error as NSError?)?.domain == CKErrorDomain)
        #expect((error as NSError?)?.code == CKError.partialFailure.rawValue)
    }
}
