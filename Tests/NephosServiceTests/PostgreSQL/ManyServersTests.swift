import NephosPostgres
import NephosPostgresTesting
import NephosStorage
import NephosTesting
import NephosWire
import Synchronization
import Testing

@testable import NephosService

/// Two servers over one database: each sees the other's changes in its next transaction, or is notified.
@Suite("Many servers over PostgreSQL", .overPostgreSQL, .oneAtATime) struct ManyServersTests {
    /// Two services with the same stores, as two processes would have them.
    private func servers() throws -> (one: TestCloud, other: TestCloud) {
        var options = TestCluster.options(connections: 4)
        options.lookMilliseconds = 200
        let address = try TestCluster.address.get()
        // Identifiers are not given twice, whichever server makes them.
        let clock = TestCloud.Clock()
        func cloud() throws -> TestCloud {
            TestCloud(ServiceConfiguration(), stores: try PostgresStores(address, options: options), clock: clock)
        }
        return (try cloud(), try cloud())
    }

    @Test(arguments: [-61, 61, 59] as [Int64])
    func `a production server whose clock is a minute off the database's does not open`(seconds: Int64) async throws {
        var options = TestCluster.options(connections: 2)
        let clock = options.clock
        options.clock = { clock() + seconds * 1000 }
        let stores = try PostgresStores(try TestCluster.address.get(), options: options)
        defer { stores.close() }
        if abs(seconds) < 60 { return await (try await Installation.open(stores)).close() }
        let error = await #expect(throws: StorageError.self) { _ = try await Installation.open(stores) }
        #expect(error?.message.contains("this machine's clock is ") == true)
    }

    @Test func `a schema imported on one server applies to the next save on the other`() async throws {
        let (one, other) = try servers()
        let database = TestDatabase(one)
        // Both know the schema as it was.
        for cloud in [one, other] { _ = try await TestDatabase(cloud).modify([.force("a", ["n": .int64(1)])]) }
        _ = try await one.service.importSchema(
            schemaText("Note (n NUMBER QUERYABLE, title STRING)"), database.context)
        let wrong = try await TestDatabase(other).modify([.force("b", ["title": .int64(1)])])
        #expect(wrong.map(\.summary) != ["saved"], "a field of another type")
        // What was dropped is not found in a cache.
        _ = try await TestDatabase(other).modify([.delete("a")])
        _ = try await one.service.importSchema(schemaText("Note (title STRING)"), database.context)
        let query = Query(recordType: "Note", filterBy: [Filter(.field("n"), .equals, .int64(1))])
        await #expect(throws: ServiceError.self) {
            _ = try await other.service.queryRecords(QueryRecordsRequest(query: query), TestDatabase(other).context)
        }
        for cloud in [one, other] { await cloud.service.close() }
    }

    @Test func `a server's pending jobs resume at another that never had the store open`() async throws {
        let (options, address) = (TestCluster.options(connections: 4), try TestCluster.address.get())
        let clock = TestCloud.Clock()
        func cloud(_ configuration: ServiceConfiguration) throws -> (TestCloud, PostgresStores) {
            let stores = try PostgresStores(address, options: options)
            return (TestCloud(configuration, stores: stores, clock: clock), stores)
        }
        let (leaving, _) = try cloud(ServiceConfiguration(worksInBackground: false))
        let (staying, stores) = try cloud(ServiceConfiguration())
        await staying.service.resume()
        let database = TestDatabase(leaving)
        _ = try await database.modify([.create("root"), .create("leaf", ["owner": .owner("root")])])
        let other = leaving.context(container: "iCloud.other")
        _ = try await leaving.service.modifyRecords(ModifyRecordsRequest(operations: [.create("a")]), other)
        #expect(try stores.storesWithWork() == [])
        try await leaving.leaveCascade(from: "root")
        await leaving.service.close()
        #expect(try stores.storesWithWork()?.map(\.container) == ["iCloud.test"])
        #expect(staying.service.openStores.isEmpty)
        await staying.service.stores.takeUpWork()
        #expect(staying.service.openStores.map(\.id.container) == ["iCloud.test"])
        await staying.service.settle()
        #expect(try stores.storesWithWork() == [])
        #expect(try await TestDatabase(staying).existing("root", "leaf") == ["root"])
        await staying.service.close()
    }

    @Test func `an index built on one server includes later saves on the other`() async throws {
        let (one, other) = try servers()
        func query(_ cloud: TestCloud) async throws -> [String] {
            let query = Query(recordType: "Note", filterBy: [Filter(.field("n"), .greaterThan, .int64(0))])
            return try await cloud.service.queryRecords(QueryRecordsRequest(query: query), TestDatabase(cloud).context)
                .records.compactMap { $0.record?.recordName }
        }
        _ = try await TestDatabase(other).modify([.force("a", ["n": .int64(1)])])
        #expect(try await query(one) == ["a"])
        _ = try await TestDatabase(other).modify([.force("b", ["n": .int64(2)])])
        #expect(try await query(one) == ["a", "b"])
        #expect(try await query(other) == ["a", "b"])
        for cloud in [one, other] { await cloud.service.close() }
    }

    @Test func `a save on one server wakes a poll on the other, and either accepts the receipt`() async throws {
        let (one, other) = try servers()
        let here = try await TestDatabase(one, client: "phone").making(zone: "Z")
        // Both servers know that there is no poll.
        _ = try await TestDatabase(other, zone: "Z").modify([.force("a")])
        _ = try await here.save(.zone("all", "Z"))
        let device = try await TestDevice(one, client: "phone")
        let token = device.token.apnsToken
        let poll = Task { try await device.poll() }
        await eventually { one.service.waitingPolls != 0 }
        _ = try await TestDatabase(other, zone: "Z", client: "pad").modify([.force("b")])
        let first = try #require(try await poll.value)
        #expect(try NotificationPayload(decoding: first.payload).summary == "all: zone Z")
        first.wasSent(true)

        // The next poll, to the other server, is the receipt: it gets the next notification and not the same.
        _ = try await TestDatabase(one, zone: "Z", client: "pad").modify([.force("c")])
        await one.service.tellSubscribers()
        let next = try #require(
            try await other.service.nextNotification(token: token, receipt: .implied, here.context))
        #expect(next.payload != first.payload)
        for cloud in [one, other] { await cloud.service.close() }
    }

    /// - Parameter someoneWrites: whether another account's save reads the schema after the deletion.
    @Test(arguments: [false, true])
    func `an account deleted on one server writes nothing through the other`(someoneWrites: Bool) async throws {
        let (one, other) = try servers()
        for cloud in [one, other] { _ = try await TestDatabase(cloud).modify([.force("a")]) }
        _ = try await one.service.deleteAccount(DeleteAccountRequest(account: "me"), TestDatabase(one).context)
        if someoneWrites { _ = try await TestDatabase(other, "someone").modify([.force("a")]) }
        // The other has the account cached.
        await #expect(throws: ServiceError.self) { _ = try await TestDatabase(other).modify([.force("b")]) }
        // The name is another account's from then on.
        #expect(try await TestDatabase(other).modify([.force("b")]).map(\.summary) == ["saved"])
        #expect(try await TestDatabase(other).existing("a", "b") == ["b"])
        for cloud in [one, other] { await cloud.service.close() }
    }

    @Test func `a save has its entry in an index that another server made, after a request that read the schema alone`()
        async throws
    {
        let (one, other) = try servers()
        let query = Query(recordType: "Note", filterBy: [Filter(.field("k"), .greaterThan, .int64(0))])
        func found(_ cloud: TestCloud) async throws -> Set<String> {
            let answer = try await cloud.service.queryRecords(
                QueryRecordsRequest(query: query), TestDatabase(cloud).context)
            return Set(answer.records.compactMap { $0.record?.recordName })
        }
        for cloud in [one, other] { _ = try await TestDatabase(cloud).modify([.force("a", ["k": .int64(-1)])]) }
        #expect(try await found(other) == [])
        await other.service.settle()
        let field = AssetField(recordName: "file", recordType: "Note", fieldName: "file")
        _ = try await one.service.assetUploads(
            AssetUploadRequest(tokens: [field]), TestDatabase(one, "me", .public).context)
        _ = try await TestDatabase(one).modify([.force("b", ["k": .int64(7)])])
        for cloud in [one, other] { #expect(try await found(cloud) == ["b"]) }
        for cloud in [one, other] { await cloud.service.close() }
    }

    @Test func `a field that one server deploys is dropped by no other meanwhile, and another container does not wait`()
        async throws
    {
        let (one, other) = try servers()
        _ = try await TestDatabase(one).modify([.force("a", ["n": .int64(1)])])
        let context = TestDatabase(one).context
        let lock = try #require(try await one.service.stores.lock("schema of \(context.container)"))
        let drop = Task {
            try await other.service.dropField(DropFieldRequest(recordType: "Note", field: "n"), context)
        }
        // A command of another container, and one that changes nothing.
        let elsewhere = other.context(container: "iCloud.other")
        _ = try await other.service.importSchema("DEFINE SCHEMA RECORD TYPE A (x STRING);", elsewhere)
        _ = try await one.service.previewDeployment(context)
        #expect(try await TestDatabase(one).existing("a") == ["a"])
        lock.release()
        #expect(try await drop.value.isAllowed)
        // A drop and a deployment at once, in either order: production never has what development lacks.
        for number in 0..<6 {
            let field = "f\(number)"
            _ = try await TestDatabase(one).modify((0..<40).map { .force("b\($0)", [field: .int64(1)]) })
            let request = DropFieldRequest(recordType: "Note", field: field)
            async let dropped = try? one.service.dropField(request, context)
            async let deployed = other.service.deploySchema(context)
            _ = (await dropped, try await deployed)
            #expect(try await one.service.previewDeployment(context).isAllowed, "\(number)")
            var production = context
            production.environment = .production
            let (development, deployedText) = (
                try await one.service.exportSchema(context), try await one.service.exportSchema(production)
            )
            #expect(!deployedText.contains(field) || development.contains(field), "\(number)")
        }
        for cloud in [one, other] { await cloud.service.close() }
    }

    @Test func `a claimed delivery is left until the claim expires, whatever the other server's clock`() async throws {
        let (stuck, hooks) = (HangingDelivery(), CountedDelivery())
        let hour: Int64 = 3_600_000
        var options = TestCluster.options(connections: 4)
        let address = try TestCluster.address.get()
        func cloud(_ delivery: any NotificationDelivery) throws -> TestCloud {
            let hook = WebHookDestination(url: "https://example.org/hook")
            let outlets = NotificationOutlets(webHooks: delivery, webHookDestinations: [hook])
            return TestCloud(
                ServiceConfiguration(notifications: outlets), stores: try PostgresStores(address, options: options))
        }
        let one = try cloud(stuck)
        // The other's clock is an hour ahead, which the database's tells it.
        options.clock = { [clock = options.clock] in clock() + hour }
        let other = try cloud(hooks)
        other.advance(milliseconds: hour)
        let zone = try await TestDatabase(one).making(zone: "Z")
        _ = try await zone.save(.zone("all", "Z"))
        _ = try await zone.modify([.force("a")])
        await stuck.hasBegun()
        // The store is open, and the outbox was read.
        _ = try await TestDatabase(other, zone: "Z").lookup("a")
        for _ in 0..<3 { await other.service.settle() }
        #expect(hooks.identifiers.isEmpty)
        other.advance(milliseconds: 2 * 60_000 + 2000)
        while hooks.identifiers.isEmpty { await other.service.settle() }
        #expect(hooks.identifiers == stuck.identifiers)
        stuck.goOn()
        for cloud in [one, other] { await cloud.service.close() }
    }

    @Test func `another server finishes an ended server's jobs`() async throws {
        let (one, other) = try servers()
        // The other has the store open, and nothing to do.
        for cloud in [one, other] { _ = try await TestDatabase(cloud).modify([.force("x")]) }
        let engine = try #require(one.service.openStores.first).engine
        // As it is committed by a server that ends before it wakes its own background.
        try await engine.write {
            try $0.insert(JobRow(kind: "of a version to come", zone: ZoneKey(owner: .everyone, id: 1), subject: ""))
        }
        try await eventually { try await engine.read { try $0.jobs(limit: 9).isEmpty } }
        for cloud in [one, other] { await cloud.service.close() }
    }
}

/// Delivers at once.
private final class CountedDelivery: NotificationDelivery {
    private let sent = Mutex<[String]>([])
    var identifiers: [String] { sent.withLock { $0 } }

    func deliver(_ notification: OutgoingNotification, to _: NotificationDestination) async -> DeliveryOutcome {
        sent.withLock { $0.append(notification.id) }
        return .delivered
    }
}

/// A delivery that starts and does not end before `goOn`.
private final class HangingDelivery: NotificationDelivery {
    private let sent = Mutex<[String]>([])
    private let begun = AsyncStream<Void>.makeStream()
    private let ended = AsyncStream<Void>.makeStream()
    var identifiers: [String] { sent.withLock { $0 } }

    func hasBegun() async { for await _ in begun.stream { return } }
    func goOn() { ended.continuation.finish() }

    func deliver(_ notification: OutgoingNotification, to _: NotificationDestination) async -> DeliveryOutcome {
        sent.withLock { $0.append(notification.id) }
        begun.continuation.yield()
        for await _ in ended.stream {}
        return .delivered
    }
}
