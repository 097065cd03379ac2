import CloudKit
import NephosWire
import Testing

/// The conveniences of `CKDatabase`, in both forms.
@Suite struct DatabaseTests {
    private let service = ScriptedService(
        ScriptedService.Script(
            modify: { operation, _ in operation.record.recordName == "Bad" ? .failure(.scripted(.accessDenied)) : nil },
            lookup: { item, _ in item.recordName == "Bad" ? .failure(.scripted(.notFound)) : nil },
            zones: [
                .zone(
                    ZoneDictionary(
                        zoneID: ZoneIDDictionary(
                            zoneName: "_defaultZone", ownerRecordName: ScriptedService.userRecordName), atomic: false)),
                .zone(
                    ZoneDictionary(
                        zoneID: ZoneIDDictionary(zoneName: "Gallery", ownerRecordName: ScriptedService.userRecordName),
                        atomic: true)),
            ],
            zone: { zoneID in zoneID.zoneName == "Bad" ? .failure(.scripted(.zoneNotFound)) : nil }))
    private var database: CKDatabase { service.database }
    private static let good = CKRecord.ID(recordName: "Good")
    private static let bad = CKRecord.ID(recordName: "Bad")
    private static let goodZone = CKRecordZone.ID(zoneName: "Good")
    private static let badZone = CKRecordZone.ID(zoneName: "Bad")

    /// Waits for a handler that takes a value or an error.
    private func handled<Value: Sendable>(
        _ start: (@escaping @Sendable (Value?, (any Error)?) -> Void) -> Void
    ) async -> (value: Value?, code: CKError.Code?) {
        let (value, error) = await withCheckedContinuation { continuation in
            start { value, error in continuation.resume(returning: (value, error)) }
        }
        #expect((value == nil) != (error == nil), "exactly one of the two is nil")
        return (value, (error as? CKError)?.code)
    }

    @Test func `one record is saved, fetched and deleted with handlers`() async {
        let fetched = await handled { database.fetch(withRecordID: Self.good, completionHandler: $0) }
        #expect(fetched.value?.recordID == Self.good)
        #expect(await handled { database.fetch(withRecordID: Self.bad, completionHandler: $0) }.code == .unknownItem)
        let record = CKRecord(recordType: "Artwork", recordID: Self.good)
        #expect(await handled { database.save(record, completionHandler: $0) }.value === record)
        let refused = CKRecord(recordType: "Artwork", recordID: Self.bad)
        #expect(await handled { database.save(refused, completionHandler: $0) }.code == .permissionFailure)
        #expect(await handled { database.delete(withRecordID: Self.good, completionHandler: $0) }.value == Self.good)
        #expect(
            await handled { database.delete(withRecordID: Self.bad, completionHandler: $0) }.code == .permissionFailure)
    }

    @Test func `one record is saved, fetched and deleted with async functions`() async throws {
        #expect(try await database.record(for: Self.good).recordID == Self.good)
        await expectFailure(.unknownItem) { _ = try await database.record(for: Self.bad) }
        let record = CKRecord(recordType: "Artwork", recordID: Self.good)
        #expect(try await database.save(record) === record)
        await expectFailure(.permissionFailure) {
            try await database.save(CKRecord(recordType: "Artwork", recordID: Self.bad))
        }
        #expect(try await database.deleteRecord(withID: Self.good) == Self.good)
        await expectFailure(.permissionFailure) { try await database.deleteRecord(withID: Self.bad) }
    }

    @Test func `several records are saved and fetched with handlers`() async throws {
        let fetched = try await withCheckedContinuation { continuation in
            database.fetch(withRecordIDs: [Self.good, Self.bad]) { continuation.resume(returning: $0) }
        }.get()
        #expect(fetched[Self.good]?.isSuccess == true)
        #expect((fetched[Self.bad]?.failure as? CKError)?.code == .unknownItem)
        let records = [Self.good, Self.bad].map { CKRecord(recordType: "Artwork", recordID: $0) }
        let gone = CKRecord.ID(recordName: "Gone")
        let modified = try await withCheckedContinuation { continuation in
            database.modifyRecords(saving: records, deleting: [gone]) { continuation.resume(returning: $0) }
        }.get()
        #expect(modified.saveResults[Self.good]?.isSuccess == true)
        #expect((modified.saveResults[Self.bad]?.failure as? CKError)?.code == .permissionFailure)
        #expect(modified.deleteResults[gone]?.isSuccess == true)
    }

    @Test func `modifyRecords does not throw errors of single records`() async throws {
        let records = [Self.good, Self.bad].map { CKRecord(recordType: "Artwork", recordID: $0) }
        let (saveResults, deleteResults) = try await database.modifyRecords(saving: records, deleting: [])
        #expect(saveResults.count == 2)
        #expect(deleteResults.isEmpty)
        #expect(saveResults[Self.good]?.isSuccess == true)
        #expect((saveResults[Self.bad]?.failure as? CKError)?.code == .permissionFailure)
    }

    @Test func `an error of the whole request is thrown`() async {
        let service = ScriptedService(ScriptedService.Script(failure: .transport(.networkUnavailable, "no network")))
        let database = service.database
        await expectFailure(.networkUnavailable) { _ = try await database.records(for: [Self.good]) }
        await expectFailure(.networkUnavailable) { _ = try await database.record(for: Self.good) }
        await expectFailure(.networkUnavailable) {
            _ = try await database.modifyRecords(saving: [], deleting: [Self.bad])
        }
        await expectFailure(.networkUnavailable) { _ = try await database.recordZones(for: [Self.goodZone]) }
        await expectFailure(.networkUnavailable) { try await database.deleteRecordZone(withID: Self.goodZone) }
        let handled: (value: CKRecord.ID?, code: CKError.Code?) = await handled {
            database.delete(withRecordID: Self.good, completionHandler: $0)
        }
        #expect(handled.code == .networkUnavailable)
    }

    @Test func `zones are saved and fetched with handlers`() async throws {
        let all = await handled { database.fetchAllRecordZones(completionHandler: $0) }
        #expect(all.value?.map(\.zoneID) == [.default, CKRecordZone.ID(zoneName: "Gallery")])
        let fetched = await handled { database.fetch(withRecordZoneID: Self.goodZone, completionHandler: $0) }
        #expect(fetched.value?.zoneID == Self.goodZone)
        #expect(
            await handled { database.fetch(withRecordZoneID: Self.badZone, completionHandler: $0) }.code
                == .zoneNotFound)
        let zone = CKRecordZone(zoneID: Self.goodZone)
        #expect(await handled { database.save(zone, completionHandler: $0) }.value?.zoneID == Self.goodZone)
        #expect(
            await handled { database.delete(withRecordZoneID: Self.goodZone, completionHandler: $0) }.value
                == Self.goodZone)
        #expect(
            await handled { database.delete(withRecordZoneID: Self.badZone, completionHandler: $0) }.code
                == .zoneNotFound)
        let several = try await withCheckedContinuation { continuation in
            database.fetch(withRecordZoneIDs: [Self.goodZone, Self.badZone]) { continuation.resume(returning: $0) }
        }.get()
        #expect(several[Self.goodZone]?.isSuccess == true)
        #expect(several[Self.badZone]?.isSuccess == false)
        let modified = try await withCheckedContinuation { continuation in
            database.modifyRecordZones(saving: [zone], deleting: [Self.badZone]) { continuation.resume(returning: $0) }
        }.get()
        #expect(modified.saveResults[Self.goodZone]?.isSuccess == true)
        #expect(modified.deleteResults[Self.badZone]?.isSuccess == false)
    }

    @Test func `zones are saved and fetched with async functions`() async throws {
        #expect(try await database.allRecordZones().map(\.zoneID) == [.default, CKRecordZone.ID(zoneName: "Gallery")])
        #expect(try await database.recordZone(for: Self.goodZone).capabilities.contains(.fetchChanges))
        await expectFailure(.zoneNotFound) { _ = try await database.recordZone(for: Self.badZone) }
        #expect(try await database.save(CKRecordZone(zoneID: Self.goodZone)).zoneID == Self.goodZone)
        #expect(try await database.deleteRecordZone(withID: Self.goodZone) == Self.goodZone)
        await expectFailure(.zoneNotFound) { try await database.deleteRecordZone(withID: Self.badZone) }
        let results = try await database.modifyRecordZones(
            saving: [CKRecordZone(zoneID: Self.goodZone)], deleting: [Self.badZone])
        #expect(results.saveResults[Self.goodZone]?.isSuccess == true)
        #expect((results.deleteResults[Self.badZone]?.failure as? CKError)?.code == .zoneNotFound)
        await expectFailure(.invalidArguments) {
            try await database.modifyRecordZones(
                saving: [CKRecordZone(zoneID: Self.goodZone)], deleting: [Self.goodZone])
        }
    }

    @Test func `handlers are called off the main thread`() async {
        let isMain = await withCheckedContinuation { continuation in
            database.fetch(withRecordID: Self.good) { _, _ in continuation.resume(returning: Thread.isMainThread) }
        }
        #expect(!isMain)
    }
}
