import CloudKitTesting
import Testing

@testable import CloudKit

/// A sync engine whose account cannot be identified, and what then stays pending.
@Suite struct SyncAccountTests {
    private let cloud: LocalCloud
    private let id = CKRecord.ID("a", "Z")

    init() throws { cloud = try LocalCloud() }

    /// A device that knows its account, with an unsent edit.
    private func device() async throws -> SyncDevice {
        let device = SyncDevice()
        device.start(cloud.container().privateCloudDatabase)
        device.engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: id.zoneID))])
        try await device.engine.sendChanges()
        device.edit(id, "unsent")
        device.clearLog()
        return device
    }

    @Test func `refused credentials are no sign-out, and nothing is discarded`() async throws {
        let one = try await device()
        let faults = [Fault.Operation.any, .account].map { cloud.fail($0, .all, with: .notAuthenticated) }
        NotificationCenter.default.post(name: .CKAccountChanged, object: nil)
        await expectFailure(.notAuthenticated) { try await one.engine.fetchChanges() }
        await expectFailure(.notAuthenticated) { try await one.engine.sendChanges() }
        #expect(one.log == [])
        #expect(try await cloud.container().accountStatus() == .temporarilyUnavailable)
        for fault in faults { fault.cancel() }
        try await one.engine.sendChanges()
        #expect(one.log == ["will send manual", "sent [\"a\"] failed []", "did send"])
    }

    @Test(arguments: [CKError.Code.internalError, .notAuthenticated, .invalidArguments])
    func `an automatic engine identifies the account again after any error`(_ code: CKError.Code) async throws {
        let disk = try await device().stop()
        let fault = cloud.fail(.account, .first(3), level: .request, with: code)
        let two = SyncDevice(disk)
        two.start(cloud.container().privateCloudDatabase, automatically: true)
        await two.wait { $0.contains("did fetch") }
        #expect(fault.count == 3)
        #expect(!two.log.contains("account out"))
    }

    @Test func `an engine without its delegate sends and fetches nothing more`() async throws {
        var one: SyncDevice? = try await device()
        let engine = try #require(one?.engine)
        one = nil
        engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneName: "Y"))])
        let requests = cloud.fail(.any, .all, with: .networkFailure)
        await expectFailure(.operationCancelled) { try await engine.sendChanges() }
        await expectFailure(.operationCancelled) { try await engine.fetchChanges() }
        #expect(requests.count == 0)
    }

    @Test func `the default zone is never reported as deleted`() async throws {
        let one = try await device()
        let inDefaultZone = CKRecord.ID(recordName: "d")
        one.edit(inDefaultZone, "here")
        try await one.engine.sendChanges()
        one.clearLog()
        try await one.engine.fetchChanges()
        #expect(one.log.contains("zones [\"Z\"]") && !one.log.contains { $0.contains("-_defaultZone") })
        #expect(one.notes[inDefaultZone]?.text == "here")
    }

    @Test(.timeLimit(.minutes(10)))
    func `an automatic engine that knows its account retries until the user has signed in again`() async throws {
        let two = SyncDevice(try await device().stop())
        two.start(cloud.container().privateCloudDatabase, automatically: true)
        await two.wait { $0.contains("did fetch") }
        let refusals = [Fault.Operation.save, .account].map { cloud.fail($0, .first(2), with: .notAuthenticated) }
        two.edit(id, "kept")
        await two.wait { $0.contains("sent [\"a\"] failed []") }
        #expect(refusals.map(\.count) == [2, 2] && !two.log.contains("account out"))
    }
}
