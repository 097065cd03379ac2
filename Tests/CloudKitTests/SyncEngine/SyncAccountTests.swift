import CloudKitLocal
import NephosWire
import Testing

@testable import CloudKit

/// A sync engine whose account cannot be identified, and what then stays pending.
@Suite struct SyncAccountTests {
    private let cloud: LocalCloud
    private let id = CKRecord.ID("a", "Z")

    init() throws { cloud = try LocalCloud() }

    /// A device that knows its account, with an unsent edit.
    private func device(on service: FaultyService) async throws -> SyncDevice {
        let device = SyncDevice()
        device.start(service.container.privateCloudDatabase)
        device.engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: id.zoneID))])
        try await device.engine.sendChanges()
        device.edit(id, "unsent")
        device.clearLog()
        return device
    }

    @Test(arguments: [ServerErrorCode.authenticationRequired, .authenticationFailed])
    func `refused credentials are no sign-out, and nothing is discarded`(_ code: ServerErrorCode) async throws {
        let service = FaultyService(cloud.container())
        let one = try await device(on: service)
        service.fate.value = { _ in .fails(.refused(.scripted(code))) }
        NotificationCenter.default.post(name: .CKAccountChanged, object: nil)
        await expectFailure(.notAuthenticated) { try await one.engine.fetchChanges() }
        await expectFailure(.notAuthenticated) { try await one.engine.sendChanges() }
        #expect(one.log == [])
        #expect(try await service.container.accountStatus() == .temporarilyUnavailable)
        service.fate.value = { _ in .passes }
        try await one.engine.sendChanges()
        #expect(one.log == ["will send manual", "sent [\"a\"] failed []", "did send"])
    }

    @Test(arguments: [ServerErrorCode.internalError, .authenticationRequired, .badRequest])
    func `an automatic engine identifies the account again after any error`(_ code: ServerErrorCode) async throws {
        let service = FaultyService(cloud.container())
        let disk = try await device(on: service).stop()
        let failures = Box(0)
        service.fate.value = { path in
            guard path == "users/current", failures.value < 3 else { return .passes }
            failures.value += 1
            return .fails(.refused(.scripted(code)))
        }
        let two = SyncDevice(disk)
        two.start(service.container.privateCloudDatabase, automatically: true)
        await two.wait { $0.contains("did fetch") }
        #expect(failures.value == 3)
        #expect(!two.log.contains("account out"))
    }

    @Test func `an engine without its delegate sends and fetches nothing more`() async throws {
        let service = FaultyService(cloud.container())
        let paths = Box<[String]>([])
        service.fate.value = { path in
            paths.value.append(path)
            return .passes
        }
        var one: SyncDevice? = try await device(on: service)
        let engine = try #require(one?.engine)
        one = nil
        engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneName: "Y"))])
        paths.value = []
        await expectFailure(.operationCancelled) { try await engine.sendChanges() }
        await expectFailure(.operationCancelled) { try await engine.fetchChanges() }
        // Other tests' accounts change, too, and then the engine asks for its own.
        #expect(paths.value.filter { $0 != "users/current" } == [])
    }

    @Test func `the default zone is never reported as deleted`() async throws {
        let one = try await device(on: FaultyService(cloud.container()))
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
        let service = FaultyService(cloud.container())
        let disk = try await device(on: service).stop()
        let two = SyncDevice(disk)
        two.start(service.container.privateCloudDatabase, automatically: true)
        await two.wait { $0.contains("did fetch") }
        let refusals = Box(0)
        service.fate.value = { path in
            guard ["records/modify", "users/current"].contains(path), refusals.value < 4 else { return .passes }
            refusals.value += 1
            return .fails(.refused(.scripted(.authenticationRequired)))
        }
        two.edit(id, "kept")
        await two.wait { $0.contains("sent [\"a\"] failed []") }
        #expect(refusals.value == 4 && !two.log.contains("account out"))
    }
}
