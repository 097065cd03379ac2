import CloudKit
import CloudKitExtras
import CloudKitTesting
import Foundation
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

    @Test func `another account has a status of its own`() async throws {
        let (phone, one) = (cloud.device("phone", account: "mei"), SyncDevice())
        one.start(phone.container.privateCloudDatabase)
        try await one.engine.fetchChanges()
        one.edit(id("a"), "1")
        await expectFailure(.partialFailure) { try await one.engine.sendChanges() }
        let before = one.engine.syncStatus
        #expect(before.lastFetch != nil && before.lastError != nil && before.lag > 0)

        phone.signIn("tom")
        let during = Box<[SyncStatus]>([])
        one.onEvent.value = { event in
            if case .accountChange = event { during.value.append(one.engine.syncStatus) }
        }
        try await one.engine.fetchChanges()
        let first = try #require(during.value.first)
        #expect(first.lastFetch == nil && first.lastError == nil && first.lag == 0 && first.pendingChanges == 0)
        let after = one.engine.syncStatus
        #expect(after.lastFetch != nil && after.lastSend == nil && after.lastError == nil && after.lag == 0)
    }

    @Test func `the lag ends with the last change that is removed`() throws {
        let now = Box(Date(timeIntervalSince1970: 1000))
        let one = SyncDevice()
        var environment = SyncEngineEnvironment(sleep: { _ in })
        environment.now = { now.value }
        one.start(cloud.container().privateCloudDatabase, environment: environment)
        one.edit(id("a"), "1")
        now.value += 10
        one.edit(id("b"), "2")
        now.value += 10
        #expect(one.engine.syncStatus.lag == 20)
        one.engine.state.remove(pendingRecordZoneChanges: [.saveRecord(id("a"))])
        #expect(one.engine.syncStatus.lag == 20)
        one.engine.state.remove(pendingRecordZoneChanges: [.saveRecord(id("b"))])
        #expect(one.engine.syncStatus.lag == 0)
        now.value += 10
        one.edit(id("c"), "3")
        now.value += 1
        #expect(one.engine.syncStatus.lag == 1)
    }

    @Test func `times are those of the engine's clock`() async throws {
        let now = Box(Date(timeIntervalSince1970: 1000))
        let one = SyncDevice()
        var environment = SyncEngineEnvironment(sleep: { _ in })
        environment.now = { now.value }
        one.start(cloud.container().privateCloudDatabase, environment: environment)
        try await one.engine.fetchChanges()
        #expect(one.engine.syncStatus.lastFetch == Date(timeIntervalSince1970: 1000))
        now.value += 5
        one.engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zoneID))])
        try await one.engine.sendChanges()
        #expect(one.engine.syncStatus.lastSend == Date(timeIntervalSince1970: 1005))
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
