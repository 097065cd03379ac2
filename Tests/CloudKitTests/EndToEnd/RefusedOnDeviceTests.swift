import CloudKit
import CloudKitLocal
import Foundation
import Testing

/// A refusal of the library before the request counts in a batch as one of the service: the item fails alone if the zone is
/// not atomic.
@Suite struct RefusedOnDeviceTests {
    enum Fault: CaseIterable {
        case notANumber, missingFile

        var code: CKError.Code { self == .notANumber ? .invalidArguments : .assetFileNotFound }

        func spoil(_ record: CKRecord) {
            switch self {
            case .notANumber: record["value"] = Double.nan
            case .missingFile: record["file"] = CKAsset(fileURL: URL(fileURLWithPath: "/nowhere/file"))
            }
        }
    }

    private func batch(_ zoneID: CKRecordZone.ID, _ fault: Fault) -> [CKRecord] {
        let records = ["good", "bad", "better"].map { note($0, in: zoneID) }
        fault.spoil(records[1])
        return records
    }

    @Test(arguments: Transport.allCases, Fault.allCases)
    func `an unsendable record fails the rest of the default zone, and fails alone without isAtomic`(
        transport: Transport, fault: Fault
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let container = cloud.container("me")
            for database in [container.privateCloudDatabase, container.publicCloudDatabase] {
                let old = note("old")
                try await database.save(old)
                let records = batch(.default, fault)
                let atomic = await ModifyOutcome(saving: records, deleting: [old.recordID], in: database)
                #expect(
                    atomic.codes == [
                        "bad": fault.code, "good": .batchRequestFailed, "better": .batchRequestFailed,
                        "old": .batchRequestFailed,
                    ])
                #expect(atomic.saved.isEmpty && atomic.deleted.isEmpty)
                #expect(try await database.existing(records + [old]) == ["old"])
                let outcome = await ModifyOutcome(
                    saving: records, deleting: [old.recordID], isAtomic: false, in: database)
                #expect(outcome.codes == ["bad": fault.code])
                #expect(outcome.saved == ["good", "better"] && outcome.deleted == ["old"])
                #expect(
                    outcome.events.prefix(4) == ["good", "bad", "better", "old"])
                for case let failure as CKError in [outcome.failure, outcome.older] {
                    #expect(failure.code == .partialFailure)
                    #expect(
                        failure.partialErrorsByItemID?.mapValues { ($0 as? CKError)?.code } == [
                            records[1].recordID: fault.code
                        ])
                }
                #expect(outcome.failure != nil && outcome.older != nil)
                #expect(try await database.existing(records + [old]) == ["good", "better"])
            }
        }
    }

    @Test(arguments: Transport.allCases, Fault.allCases)
    func `an unsendable record fails its zone in a custom zone, and fails alone without isAtomic`(
        transport: Transport, fault: Fault
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.database()
            let zone = try await database.zone("Z")
            for isAtomic in [true, false] {
                let records = batch(zone, fault)
                let other = note("other", in: try await database.zone(isAtomic ? "Other" : "Another"))
                let results = try await database.modifyRecords(
                    saving: records + [other], deleting: [], atomically: isAtomic
                ).saveResults
                let codes = results.compactMapValues { result -> CKError.Code? in
                    if case .failure(let error) = result { (error as? CKError)?.code } else { nil }
                }
                var expected = [records[1].recordID: fault.code]
                if isAtomic {
                    for index in [0, 2] { expected[records[index].recordID] = .batchRequestFailed }
                }
                #expect(codes == expected)
                #expect(
                    try await database.existing(records + [other])
                        == (isAtomic ? ["other"] : ["good", "better", "other"]))
            }
        }
    }

    @Test(arguments: ["root", "share"])
    func `neither a share nor its root is saved if the other cannot be sent`(bad: String) async throws {
        let database = try LocalCloud().container().privateCloudDatabase
        let zone = try await database.zone("Z")
        let (root, beside) = (note("root", in: zone), note("beside", in: zone))
        let share = CKShare(rootRecord: root)
        (bad == "root" ? root : share)["value"] = Double.nan
        let results = try await database.modifyRecords(
            saving: [root, share, beside], deleting: [], atomically: false
        ).saveResults
        let (refused, dependent) = bad == "root" ? (root, share) : (share, root)
        await expectFailure(.invalidArguments) { _ = try results[refused.recordID]?.get() }
        await expectFailure(.batchRequestFailed) { _ = try results[dependent.recordID]?.get() }
        #expect(try await database.existing([root, beside]) == ["beside"])
    }

    @Test(arguments: [true, false], Fault.allCases)
    func `an engine sends the others of a batch, and reports the unsendable record to the app`(
        isDefaultZone: Bool, fault: Fault
    ) async throws {
        let database = try LocalCloud().container().privateCloudDatabase
        let zone = isDefaultZone ? .default : try await database.zone("Z")
        let app = BatchApp(batch(zone, fault))
        var configuration = CKSyncEngine.Configuration(database: database, stateSerialization: nil, delegate: app)
        configuration.automaticallySync = false
        let engine = CKSyncEngine(configuration)
        engine.state.add(pendingRecordZoneChanges: app.records.map { .saveRecord($0.recordID) })
        let failure = await expectFailure(.partialFailure) { try await engine.sendChanges() }
        #expect(failure?.partialErrorsByItemID?.count == 1)
        #expect(app.saved.value == ["good", "better"])
        #expect(app.failed.value == ["bad": fault.code])
        #expect(engine.state.pendingRecordZoneChanges.isEmpty, "only the app can mend it")
        #expect(try await database.existing(app.records) == ["good", "better"])
    }
}

/// An app that gives its engine one batch.
private final class BatchApp: CKSyncEngineDelegate {
    let records: [CKRecord]
    let saved = Box<[String]>([])
    let failed = Box<[String: CKError.Code]>([:])

    init(_ records: [CKRecord]) { self.records = records }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        guard case .sentRecordZoneChanges(let sent) = event else { return }
        saved.value += sent.savedRecords.map(\.recordID.recordName)
        for failure in sent.failedRecordSaves { failed.value[failure.record.recordID.recordName] = failure.error.code }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        let pending = syncEngine.state.pendingRecordZoneChanges
        if pending.isEmpty { return nil }
        return CKSyncEngine.RecordZoneChangeBatch(
            recordsToSave: records.filter { pending.contains(.saveRecord($0.recordID)) })
    }
}
