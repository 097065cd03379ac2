import CloudKit
import CloudKitExtras
import CloudKitLocal
import Testing

/// `CKSyncEngine.syncStatus`: what waits, how the last runs ended, since when the sides differ.
@Suite struct SyncStatusTests {
    private let cloud: LocalCloud
    private let zoneID = CKRecordZone.ID(zoneName: "Z")

    init() throws { cloud = try LocalCloud() }

    private func id(_ name: String) -> CKRecord.ID { CKRecord.ID(name, "Z") }

    private func device(_ disk: SyncDevice.Disk = .init(), automatically: Bool = false) -> SyncDevice {
        let device = SyncDevice(disk)
        device.start(cloud.container().privateCloudDatabase, automatically: automatically)
        return device
    }

    @Test func `changes wait until they are sent`() async throws {
        let one = device()
        var status = one.engine.syncStatus
        #expect(status.pendingChanges == 0 && status.lag == 0 && status.lastSend == nil && status.lastFetch == nil)
        one.engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zoneID))])
        one.edit(id("a"), "1")
        one.edit(id("b"), "2")
        status = one.engine.syncStatus
        #expect(status.pendingChanges == 3 && status.lag > 0)
        try await one.engine.sendChanges()
        status = one.engine.syncStatus
        #expect(status.pendingChanges == 0 && status.lag == 0 && status.lastSend != nil && status.lastFetch == nil)
        try await one.engine.fetchChanges()
        #expect(one.engine.syncStatus.lastFetch != nil)
        // Another device of the account has a status of its own.
        #expect(device().engine.syncStatus.lastSend == nil)
    }

    @Test func `a failure stays until a run of the same kind succeeds`() async throws {
        let one = device()
        one.edit(id("a"), "1")
        await expectFailure(.partialFailure) { try await one.engine.sendChanges() }
        #expect(one.engine.syncStatus.lastError?.code == .partialFailure)
        try await one.engine.fetchChanges()
        let status = one.engine.syncStatus
        #expect(status.lastError?.code == .partialFailure && status.lastSend == nil && status.lastFetch != nil)
        // The device saves the zone again after the failure.
        try await one.engine.sendChanges()
        #expect(one.engine.syncStatus.lastError == nil && one.engine.syncStatus.lastSend != nil)
        #expect(one.engine.syncStatus.lag == 0)
    }

    @Test func `an engine begins behind if its state has changes to send`() async throws {
        let one = device()
        one.engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zoneID))])
        one.edit(id("a"), "1")
        await one.engine.handOutState()
        let two = device(one.stop())
        #expect(two.engine.syncStatus.pendingChanges == 2 && two.engine.syncStatus.lag > 0)
        try await two.engine.sendChanges()
        #expect(two.engine.syncStatus.lag == 0)
    }

    @Test func `a change that comes during a send counts as not sent`() async throws {
        let one = device()
        one.engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zoneID))])
        one.edit(id("a"), "1")
        one.onEvent.value = { event in
            if case .didSendChanges = event { one.edit(CKRecord.ID("late", "Z"), "2") }
        }
        try await one.engine.sendChanges()
        #expect(one.engine.syncStatus.pendingChanges == 1 && one.engine.syncStatus.lag > 0)
        one.onEvent.value = { _ in }
        try await one.engine.sendChanges()
        #expect(one.engine.syncStatus.pendingChanges == 0 && one.engine.syncStatus.lag == 0)
    }

    @Test(.timeLimit(.minutes(15))) func `a notified engine is behind until it has fetched`() async throws {
        let (one, two) = (device(automatically: true), device())
        await one.wait { $0.contains("did fetch") }
        let lag = Box(0.0)
        one.onEvent.value = { event in
            if case .fetchedRecordZoneChanges = event { lag.value = one.engine.syncStatus.lag }
        }
        two.engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zoneID))])
        two.edit(id("a"), "1")
        try await two.engine.sendChanges()
        await one.wait { $0.contains("fetched [\"a\"]") }
        #expect(lag.value > 0)
    }
}
