import Dispatch
import NephosPostgres
import NephosPostgresTesting
import NephosStorage
import NephosTesting
import NephosWire
import Testing

@testable import NephosService

/// A client that fetches on notification finds the change on any server, and never fetches again for it.
@Suite(.overPostgreSQL, .oneAtATime) struct NotificationOrderTests {
    @Test func `a notification is sent, and feeds show its change, although an earlier write is open`()
        async throws
    {
        let options = TestCluster.options(connections: 4)
        let address = try TestCluster.address.get()
        let clock = TestCloud.Clock()
        var configuration = ServiceConfiguration()
        configuration.pollDuration = .zero
        func cloud() throws -> TestCloud {
            TestCloud(configuration, stores: try PostgresStores(address, options: options), clock: clock)
        }
        let (one, other) = (try cloud(), try cloud())
        let database = try await TestDatabase(one, client: "phone").making(zone: "Z")
        _ = try await database.save(.zone("all", "Z"))
        let device = try await TestDevice(one, client: "phone")
        _ = try await TestDatabase(other, zone: "Z", client: "pad").modify([.force("a")])
        // Its notification is not the one that is looked for.
        try await eventually { try await device.next() != nil }
        let engine = try #require(one.service.openStores.first).engine

        let (begun, begin) = AsyncStream<Void>.makeStream()
        let mayEnd = DispatchSemaphore(value: 0)
        async let slow: Void = engine.write { transaction in
            _ = try transaction.nextSequence()
            begin.yield()
            mayEnd.wait()
        }
        for await _ in begun { break }
        while try await device.next() != nil {}
        let token = try await database.changes().syncToken
        _ = try await TestDatabase(other, zone: "Z", client: "pad").modify([.force("b")])
        await other.service.tellSubscribers()
        try await eventually { try await device.next() != nil }
        for cloud in [one, other] {
            let changes = try await TestDatabase(cloud, zone: "Z").changes(since: token)
            #expect(changes.summary == ["b"])
        }
        mayEnd.signal()
        try await slow
        for cloud in [one, other] { await cloud.service.close() }
    }
}
