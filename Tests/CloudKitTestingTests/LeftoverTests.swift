import CloudKit
import CloudKitTesting
import Testing

@Suite struct LeftoverTests {
    private static let delegate = NothingToSend()
    private let zoneID = CKRecordZone.ID(zoneName: "Notes")

    private func engine(on device: CloudDevice) -> CKSyncEngine {
        var configuration = CKSyncEngine.Configuration(
            database: device.container.privateCloudDatabase, stateSerialization: nil, delegate: Self.delegate)
        configuration.automaticallySync = false
        return CKSyncEngine(configuration)
    }

    @Test func `what an engine has not sent fails the test, and what one has sent does not`() async throws {
        let failure = await #expect(throws: CloudFailure.self) {
            try await withCloud(leavesNothing: true) { cloud in
                let (phone, tablet) = (engine(on: cloud.device("phone")), engine(on: cloud.device("tablet")))
                phone.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zoneID))])
                tablet.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zoneID))])
                try await phone.sendChanges()
            }
        }
        #expect(
            failure?.problems == ["At the end of the test a sync engine on 'tablet' has not sent saveZone(Notes)."])
    }

    @Test func `what an ended app had pending is its next launch's`() async throws {
        try await withCloud(leavesNothing: true) { cloud in
            let phone = cloud.device("phone")
            engine(on: phone).state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zoneID))])
            phone.terminate()
        }
    }

    @Test(.cloud(leavesNothing: true)) func `a test that awaits what it starts leaves nothing`() async throws {
        try await CKContainer.default().privateCloudDatabase.save(CKRecord(recordType: "Note"))
    }
}

private final class NothingToSend: CKSyncEngineDelegate {
    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {}

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? { nil }
}
