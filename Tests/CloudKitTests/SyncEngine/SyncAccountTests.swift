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

    // MARK: The scheduler

    @Test func `work that is scheduled while work is being cancelled is not cancelled`() async throws {
        let runs = AsyncStream<SyncScheduler.Work>.makeStream()
        let scheduler = SyncScheduler(SyncEngineEnvironment(sleep: { _ in }))
        let (began, goOn) = (AsyncStream<Void>.makeStream(), AsyncStream<Void>.makeStream())
        scheduler.start { work in
            if work == .fetch {
                began.continuation.finish()
                // Not in this task, whose cancellation would end the wait.
                await Task { for await _ in goOn.stream {} }.value
            }
            if !Task.isCancelled { runs.continuation.yield(work) }
            return .nothingLeft
        }
        scheduler.schedule(.fetch)
        for await _ in began.stream {}
        scheduler.giveUp()
        scheduler.schedule(.send)
        goOn.continuation.finish()
        var iterator = runs.stream.makeAsyncIterator()
        #expect(await iterator.next() == .send)
    }

    @Test func `work of another account does not wait for a retry`() async throws {
        let (asleep, runs) = (AsyncStream<Void>.makeStream(), AsyncStream<SyncScheduler.Work>.makeStream())
        let scheduler = SyncScheduler(
            SyncEngineEnvironment(sleep: { _ in
                asleep.continuation.finish()
                try await Task.sleep(for: .seconds(86_400))
            }))
        let isFirst = Box(true)
        scheduler.start { work in
            defer { isFirst.value = false }
            if isFirst.value { return .left(.send, after: 86_400) }
            runs.continuation.yield(work)
            return .nothingLeft
        }
        scheduler.schedule(.send)
        for await _ in asleep.stream {}
        scheduler.scheduleNow(.fetch)
        var iterator = runs.stream.makeAsyncIterator()
        #expect(await iterator.next() == [.fetch, .send])
    }
}
