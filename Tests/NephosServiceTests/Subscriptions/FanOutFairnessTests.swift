import NephosStorage
import NephosWire
import Synchronization
import Testing

@testable import NephosService

/// An account with many subscriptions and devices delays nobody else's notifications.
@Suite struct FanOutFairnessTests {
    private final class Log: Sendable {
        private let sent = Mutex<[String]>([])
        var subscriptions: [String] { sent.withLock(\.self) }

        init(_ cloud: TestCloud) {
            cloud.service.sentNotifications.set { [self] notifications in
                sent.withLock { $0 += notifications.map(\.subscriptionID) }
            }
        }

        func clear() { sent.withLock { $0 = [] } }
    }

    /// Subscribes an account with the most devices to the public database, with one record there.
    private func subscribe(_ account: String, _ count: Int, on cloud: TestCloud) async throws -> TestDatabase {
        let database = TestDatabase(cloud, account, .public)
        _ = try await database.modify([.create("first", ["n": .int64(1)])])
        _ = try await database.modify([.create("second", ["n": .int64(1)])])
        for number in 0..<count {
            let filter = Filter(.field("n"), .greaterThan, .int64(-Int64(number)))
            #expect(try await database.save(.query("query-\(number)", where: [filter])).error == nil)
        }
        for number in 0..<Limits.pushTokensPerAccount { _ = try await TestDevice(cloud, account, client: "c\(number)") }
        return database
    }

    @Test func `other accounts' events go before the next of one whose changes caused many notifications`()
        async throws
    {
        let stores = TemporaryStores()
        defer { stores.remove() }
        do {
            let cloud = TestCloud(ServiceConfiguration(), stores: try stores.open())
            let heavy = try await subscribe("heavy", 30, on: cloud)
            var zones: [TestDatabase] = []
            for account in ["ada", "bob"] {
                let zone = try await TestDatabase(cloud, account).making(zone: "Z")
                _ = try await zone.save(.zone("zone-\(account)", "Z"))
                _ = try await TestDevice(cloud, account)
                zones.append(zone)
            }
            await (try #require(cloud.service.openStores.first)).fanOut.close()
            for number in 0..<3 { _ = try await heavy.modify([.create("n\(number)", ["n": .int64(1)])]) }
            for zone in zones { _ = try await zone.modify([.create("a")]) }
            await cloud.service.close()
        }
        let cloud = TestCloud(ServiceConfiguration(), stores: try stores.open())
        let log = Log(cloud)
        await cloud.service.resume()
        await cloud.service.tellSubscribers()
        let order = log.subscriptions
        // A page of the first event is told before the fan-out knows what it costs.
        let page = Limits.outboxRowsPerPage / Limits.pushTokensPerAccount
        #expect(order.dropFirst(page).prefix(2) == ["zone-ada", "zone-bob"])
        #expect(order.count { $0.hasPrefix("query") } == 90)
        for number in 0..<30 { #expect(order.count { $0 == "query-\(number)" } == 3) }
        await cloud.service.close()
    }

    @Test func `an account whose changes are compared with many subscriptions waits for others, too`() {
        let row = ChangeEventRow(
            id: 1, zone: ZoneKey(owner: .everyone, id: 1), zoneName: "Z", sequence: 1, originAccount: 7,
            originClient: "", body: [])
        func origin(_ account: Int64, _ owner: OwnerID = .everyone) -> ChangeEventOrigin {
            ChangeEventOrigin(account: account, database: owner)
        }
        for (examined, compared) in [(16 * Limits.outboxRowsPerPage, 0), (0, 128 * 1024 * Limits.outboxRowsPerPage)] {
            var attempts = FanOutAttempts()
            var page = FanOutPage(event: row, covered: [], items: [])
            attempts.advanced(page, at: 0)
            #expect(!attempts.isBehind(origin(7), at: 0))
            (page.examined, page.compared) = (examined, compared)
            attempts.advanced(page, at: 0)
            #expect(attempts.isBehind(origin(7), at: 0) && !attempts.isBehind(origin(8), at: 0))
            let own = OwnerID(rawValue: 7)
            for origins in [
                [origin(7), origin(8), origin(7), origin(9)], [origin(7), origin(7, own), origin(8)],
            ] {
                let turn = attempts.turn(except: [], at: 0) {
                    origins.enumerated().map { (id: Int64($0 + 1), origin: $1) }
                }
                #expect(turn == 2)
                attempts.forgetTurns()
            }
            #expect(!attempts.isBehind(origin(7), at: 60_000))
        }
    }

    @Test func `on a slow server, too, an account that causes much work waits for others`() {
        let row = ChangeEventRow(
            id: 1, zone: ZoneKey(owner: .everyone, id: 1), zoneName: "Z", sequence: 1, originAccount: 7,
            originClient: "", body: [])
        let origins = [7, 8].map { ChangeEventOrigin(account: $0, database: .everyone) }
        var attempts = FanOutAttempts()
        var page = FanOutPage(event: row, covered: [], items: [])
        // Less than the rate by which bursts fall.
        page.examined = 16 * Int(Limits.outboxRowsPerSecond) / 5
        for second in 1...10 { attempts.advanced(page, at: Int64(second * 1000)) }
        #expect(attempts.isBehind(origins[0], at: 10_000) && !attempts.isBehind(origins[1], at: 10_000))
        let waiting = [0, 0, 1].enumerated().map { (id: Int64($0 + 1), origin: origins[$1]) }
        #expect(attempts.turn(except: [], at: 10_000) { waiting } == 3)
    }

    @Test(arguments: [FanOutLoad<Int>.Decay.linear, .exponential])
    func `loads are bounded, and those with the most work stay`(decay: FanOutLoad<Int>.Decay) {
        var load = FanOutLoad<Int>(decay)
        load.add(1_000_000, to: -1, at: 0)
        for key in 0..<3 * FanOutLoad<Int>.capacity {
            load.add(1000, to: key, at: 0)
            guard load.count <= FanOutLoad<Int>.capacity else { return #expect(Bool(false), "\(load.count) keys") }
        }
        #expect(load.rows(-1, at: 0) == 1_000_000)
    }

    @Test func `many pages take their turns from one read of the events`() {
        let origins = [7, 8].map { ChangeEventOrigin(account: $0, database: .everyone) }
        var turns = FanOutTurns((1...20_000).map { (id: Int64($0), origin: origins[$0 % 2]) })
        var order: [Int64] = []
        while order.count < 6, let turn = turns.next(except: [3], load: { _ in 0 }) {
            order.append(turn)
            turns.end([turn])
        }
        #expect(order == [1, 2, 4, 5, 6, 7])
        turns.end([9, 11])
        var load = [origins[0]: 5.0]
        func next() -> Int64? { turns.next(except: []) { load[$0] ?? 0 } }
        #expect(next() == 3)
        load[origins[1]] = 9
        #expect(next() == 8)
        turns.end([8, 10])
        #expect(next() == 12)
        turns.end(Array(13...20_000))
        #expect(next() == 12)
        turns.end([12])
        #expect(next() == 3)
    }

    @Test func `query notifications beyond a burst are dropped, those of other accounts and of zones are not`()
        async throws
    {
        let clock = TestCloud.Clock()
        let cloud = TestCloud(ServiceConfiguration(), clock: clock)
        let database = try await subscribe("heavy", 250, on: cloud)
        let zone = try await TestDatabase(cloud, "heavy").making(zone: "Z")
        _ = try await zone.save(.zone("zone", "Z"))
        let other = TestDatabase(cloud, "other", .public)
        _ = try await other.save(.query("other"))
        _ = try await TestDevice(cloud, "other")
        await cloud.service.tellSubscribers()
        let log = Log(cloud)
        var counts: [Int] = []
        func save(_ name: String) async throws {
            log.clear()
            _ = try await database.modify([.create(name, ["n": .int64(1)])])
            _ = try await zone.modify([.create(name)])
            await cloud.service.tellSubscribers()
            counts.append(log.subscriptions.count { $0.hasPrefix("query") })
            #expect(Set(["other", "zone"]).isSubset(of: log.subscriptions))
        }
        for name in ["a", "b", "c", "d", "e"] { try await save(name) }
        // A burst is 1,000 notifications to each of 100 devices.
        #expect(counts == [250, 250, 250, 250, 0])
        log.clear()
        _ = try await other.modify([.create("o", ["n": .int64(1)])])
        await cloud.service.tellSubscribers()
        #expect(log.subscriptions.count { $0.hasPrefix("query") } == 250)
        clock.advance(milliseconds: Int64(Limits.outboxRowsPerAccount) * 1000 / Int64(Limits.outboxRowsPerSecond))
        try await save("f")
        #expect(counts.last == 250)
    }

    @Test func `an observer is told after a million of transactions`() {
        let observer = NotificationObserver()
        let told = Mutex(0)
        observer.set { notifications in told.withLock { $0 += notifications.count } }
        for _ in 0..<1_000_000 { observer.tell { [] } }
        let sent = SentNotification(
            notificationID: "", container: "", environment: "", account: nil, database: "", zoneName: "",
            subscriptionID: "", destinations: 1)
        observer.tell { [sent] }
        #expect(told.withLock(\.self) == 1)
    }
}
