import NephosStorage
import NephosTesting
import NephosWire
import Synchronization
import Testing

@testable import NephosService

/// Readiness: a load balancer asks whether writes succeed.
struct ReadinessTests {
    private let stores = FullStores()
    private let cloud: TestCloud

    init() async throws {
        cloud = TestCloud(ServiceConfiguration(), stores: stores)
        _ = try await TestDatabase(cloud).modify([.create("a")])
        await cloud.service.settle()
    }

    private func problem() async -> String? { await cloud.service.problemOfWriting() }

    private var writes: Int { stores.writes.load(ordering: .relaxed) }

    @Test func `a service is ready after a write, which it does at most once a second`() async throws {
        let before = writes
        await withTaskGroup(of: String?.self) { group in
            for _ in 0..<50 { group.addTask { await problem() } }
            for await problem in group { #expect(problem == nil) }
        }
        #expect(writes == before + 1)
        cloud.advance(milliseconds: 999)
        #expect(await problem() == nil)
        #expect(writes == before + 1)
        cloud.advance(milliseconds: 1)
        #expect(await problem() == nil)
        #expect(writes == before + 2)
    }

    @Test func `a service with a full disk is not ready until space is free, and logs the error`() async throws {
        stores.isFull.store(true, ordering: .relaxed)
        let said = try #require(await problem())
        #expect(said.contains("iCloud.test") && !said.contains("/data"))
        cloud.advance(milliseconds: 1000)
        #expect(await problem() == said)
        #expect(cloud.log.all.filter { $0.contains("/data is full") }.count == 1)
        stores.isFull.store(false, ordering: .relaxed)
        #expect(await problem() == said)
        cloud.advance(milliseconds: 1000)
        #expect(await problem() == nil)
    }

    @Test
    func `a service is not ready for ten seconds after a save found the disk full, though a test write goes through`()
        async throws
    {
        stores.isFull.store(true, ordering: .relaxed)
        await #expect(throws: ServiceError.self) { try await TestDatabase(cloud).modify([.create("b")]) }
        stores.isFull.store(false, ordering: .relaxed)
        #expect(await problem()?.contains("lack of disk space") == true)
        cloud.advance(milliseconds: 9_999)
        #expect(await problem()?.contains("lack of disk space") == true)
        cloud.advance(milliseconds: 1)
        #expect(await problem() == nil)
    }

    @Test func `the reason names the one store that cannot be written, but none if there are several`() async throws {
        stores.isFull.store(true, ordering: .relaxed)
        #expect(await problem()?.hasPrefix("the development store of iCloud.test cannot be written;") == true)
        stores.isFull.store(false, ordering: .relaxed)
        _ = try await cloud.service.modifyRecords(
            ModifyRecordsRequest(operations: [.create("a")]), cloud.context("me", container: "iCloud.other"))
        await cloud.service.settle()
        stores.isFull.store(true, ordering: .relaxed)
        cloud.advance(milliseconds: 1000)
        #expect(await problem()?.hasPrefix("no store can be written;") == true)
    }

    @Test func `a service is not ready while the store of the accounts cannot be written`() async throws {
        let accounts = FullStores()
        let test = try await TestInstallation(accounts)
        var configuration = ServiceConfiguration()
        configuration.testWritingAccounts = test.installation.testWriting
        let cloud = TestCloud(configuration)
        #expect(await cloud.service.problemOfWriting() == nil)
        accounts.isFull.store(true, ordering: .relaxed)
        cloud.advance(milliseconds: 1000)
        let problem = await cloud.service.problemOfWriting()
        #expect(problem == "the store of the accounts cannot be written; the log has the details")
        #expect(cloud.log.all.contains { $0.contains("/data is full") })
        accounts.isFull.store(false, ordering: .relaxed)
        cloud.advance(milliseconds: 1000)
        #expect(await cloud.service.problemOfWriting() == nil)
        let left = try await test.installation.engine.read {
            try $0.installationEntries(.usedChallenge, after: "", limit: 1)
        }
        #expect(left.isEmpty)
    }

    @Test func `a write that hangs is reported in time, and no other starts before it ends`() async throws {
        stores.isHanging.store(true, ordering: .relaxed)
        let said = Mutex<String?>(nil)
        let first = Task {
            let problem = await problem()
            said.withLock { $0 = problem }
        }
        await eventually { stores.hangingCount != 0 }
        await eventually {
            cloud.advance(milliseconds: Limits.readinessPatience)
            return said.withLock { $0 != nil }
        }
        await first.value
        #expect(said.withLock { $0 }?.contains("hangs") == true)
        for _ in 0..<3 { #expect(await problem() == said.withLock { $0 }) }
        #expect(stores.hangingCount == 1)
        stores.goOn()
        await eventually {
            cloud.advance(milliseconds: 1000)
            return await problem() == nil
        }
    }

    @Test func `without an open store readiness is tested on an existing one`() async throws {
        let directory = TemporaryStores()
        defer { directory.remove() }
        let before = TestCloud(ServiceConfiguration(), stores: try directory.open())
        #expect(await before.service.problemOfWriting() == nil)
        _ = try await TestDatabase(before).modify([.create("a")])
        await before.service.close()
        let cloud = TestCloud(ServiceConfiguration(), stores: try directory.open())
        #expect(cloud.service.openStores.isEmpty)
        #expect(await cloud.service.problemOfWriting() == nil)
        #expect(cloud.service.openStores.count == 1)
        await cloud.service.close()
    }
}
