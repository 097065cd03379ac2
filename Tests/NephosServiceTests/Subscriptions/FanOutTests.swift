import NephosPostgresTesting
import NephosStorage
import NephosWire
import Testing

@testable import NephosService

/// Fan-out in the background: every change is notified once to all earlier subscriptions.
@Suite struct FanOutTests {
    private let cloud = TestCloud.impatient()

    private func publicDatabase(_ account: String) -> TestDatabase { TestDatabase(cloud, account, .public) }

    private func events(_ cloud: TestCloud) async throws -> [ChangeEventRow] {
        let store = try #require(cloud.service.openStores.first)
        return try await store.engine.read { try $0.changeEvents(after: 0, limit: 1000) }
    }

    /// Keeps the background from telling, so that what a commit leaves can be seen.
    private func stopTelling(_ cloud: TestCloud) async throws {
        await (try #require(cloud.service.openStores.first)).fanOut.close()
    }

    @Test func `events are evicted by their number, and not by the gaps between their IDs`() async throws {
        _ = try await publicDatabase("me").modify([.create("first")])
        _ = try await publicDatabase("friend").save(.query("S"))
        try await stopTelling(cloud)
        for number in 0..<8 { _ = try await publicDatabase("me").modify([.create("n\(number)")]) }
        let events = try await events(cloud).map(\.id)
        #expect(events.count == 8)
        let store = try #require(cloud.service.openStores.first)
        // Those of other accounts that had their turn, or of other stores.
        try await store.engine.write { transaction in
            for id in events[2..<6] { try transaction.removeChangeEvent(id: id) }
        }
        func excess(_ limit: Int) async throws -> [Int64] {
            try await store.engine.read { try NotificationFanOut.excess(beyond: limit, $0) }
        }
        #expect(try await excess(5) == [])
        #expect(try await excess(4) == [])
        #expect(try await excess(3) == [events[0]])
        #expect(try await excess(1) == [events[0], events[1], events[6]])
    }

    @Test func `another container's events evict none`() async throws {
        let containers = ["iCloud.quiet", "iCloud.busy"]
        func save(_ name: String, in container: String) async throws {
            let request = ModifyRecordsRequest(operations: [.create(name)])
            _ = try await cloud.service.modifyRecords(
                request, cloud.context("me", .public, container: container))
        }
        for container in containers {
            try await save("first", in: container)
            let subscription = ModifySubscriptionsRequest(operations: [.create(.query("S"))])
            _ = try await cloud.service.modifySubscriptions(
                subscription, cloud.context("friend", .public, container: container))
        }
        for store in cloud.service.openStores { await store.fanOut.close() }
        try await save("a", in: "iCloud.quiet")
        for number in 0..<8 { try await save("n\(number)", in: "iCloud.busy") }
        try await save("b", in: "iCloud.quiet")
        for (container, count, limit) in [("iCloud.quiet", 2, 2), ("iCloud.busy", 8, 8)] {
            let store = try #require(cloud.service.openStores.first { $0.id.container == container })
            let (events, excess, one) = try await store.engine.read { reader in
                (
                    try reader.changeEvents(after: 0, limit: 100).map(\.id),
                    try NotificationFanOut.excess(beyond: limit, reader),
                    try NotificationFanOut.excess(beyond: limit - 1, reader)
                )
            }
            #expect(events.count == count && excess == [] && one == [events[0]])
        }
    }

    @Test func `a commit leaves one row for its changes, however many subscribe`() async throws {
        _ = try await publicDatabase("me").modify([.create("first")])
        for number in 0..<30 { _ = try await publicDatabase("a\(number)").save(.query("S")) }
        _ = try await TestDevice(cloud, "a1")
        try await stopTelling(cloud)
        _ = try await publicDatabase("me").modify((0..<20).map { .create("n\($0)") })
        #expect(try await events(cloud).count == 1)
        _ = try await publicDatabase("me").modify([.create("n20"), .create("other", type: "Other")])
        #expect(try await events(cloud).count == 2)
        // A change without a subscription leaves no event.
        _ = try await publicDatabase("me").modify([.create("other2", type: "Other")])
        #expect(try await events(cloud).count == 2)
    }

    @Test func `many accounts are notified, each once, over several pages`() async throws {
        _ = try await publicDatabase("me").modify([.create("first")])
        let count = Limits.subscriptionsPerFanOut + 30
        var devices: [TestDevice] = []
        for number in 0..<count {
            _ = try await publicDatabase("a\(number)").save(.query("S", [.create]))
            devices.append(try await TestDevice(cloud, "a\(number)"))
        }
        _ = try await publicDatabase("me").modify([.create("a"), .create("b")])
        for device in devices {
            #expect(
                try await device.all() == [
                    "S: recordCreated a in _defaultZone", "S: recordCreated b in _defaultZone",
                ])
        }
        #expect(try await events(cloud) == [])
    }

    @Test func `every destination of an account gets everything once, in the order of the changes`() async throws {
        let database = publicDatabase("me")
        _ = try await database.modify([.create("first")])
        _ = try await database.modify([.create("second", ["n": .int64(1)])])
        let isCounted = Filter(.field("n"), .greaterThan, .int64(-1))
        #expect(try await database.save(.query("S", [.create])).error == nil)
        #expect(try await database.save(.query("T", [.create], where: [isCounted])).error == nil)
        var devices: [TestDevice] = []
        for number in 0..<40 { devices.append(try await TestDevice(cloud, client: "c\(number)")) }
        _ = try await database.modify((0..<15).map { .create("n\($0)", ["n": .int64(1)]) })
        for device in devices {
            let told = try await device.all()
            for id in ["S", "T"] {
                #expect(
                    told.filter { $0.hasPrefix(id) } == (0..<15).map { "\(id): recordCreated n\($0) in _defaultZone" })
            }
        }
    }

    @Test func `an interrupted fan-out resumes, for subscriptions that existed before the change`() async throws {
        let stores = TemporaryStores()
        defer { stores.remove() }
        var configuration = ServiceConfiguration()
        configuration.pollDuration = .zero
        var token = ""
        do {
            let cloud = TestCloud(configuration, stores: try stores.open())
            let zone = try await TestDatabase(cloud).making(zone: "Z")
            _ = try await zone.modify([.create("first")])
            for subscription in [SubscriptionDictionary.query("S", zone: "Z"), .database("all"), .zone("zone", "Z")] {
                _ = try await zone.save(subscription)
            }
            token = try await TestDevice(cloud).token.apnsToken
            try await stopTelling(cloud)
            for number in 0..<5 { _ = try await zone.modify([.create("n\(number)")]) }
            _ = try await zone.modify([.delete("n1")])
            // Too late.
            _ = try await zone.save(.query("late", [.create], zone: "Z"))
            _ = try await zone.deleteZone("Z")
            await cloud.service.close()
        }
        let cloud = TestCloud(configuration, stores: try stores.open())
        await cloud.service.resume()
        await cloud.service.tellSubscribers()
        #expect(try await events(cloud) == [])
        let account = try await cloud.service.currentUser(cloud.context()).userRecordName
        let store = try #require(cloud.service.openStores.first)
        let waiting = try await store.engine.read { [token] reader in
            let id = try reader.account(userRecordName: account)?.id ?? 0
            return try reader.outbox(
                account: id, destination: OutboxDestination.courier(token: token).text, limit: 100)
        }
        let told = try waiting.map { try NotificationPayload(decoding: $0.payload).summary }
        // The subscriptions to the zone's records went with it; of those to the zone and the database the last says it all.
        #expect(Set(told) == ["all: database", "zone: zone Z"] && told.count == 2)
        await cloud.service.close()
    }

    @Test func `equal events are coalesced`() async throws {
        let stores = TemporaryStores()
        defer { stores.remove() }
        do {
            let cloud = TestCloud(ServiceConfiguration(), stores: try stores.open())
            let zone = try await TestDatabase(cloud).making(zone: "Z")
            _ = try await zone.save(.database("all"))
            _ = try await TestDevice(cloud)
            try await stopTelling(cloud)
            for number in 0..<40 { _ = try await zone.modify([.create("n\(number)")]) }
            #expect(try await events(cloud).count == 40)
            await cloud.service.close()
        }
        let cloud = TestCloud(ServiceConfiguration(), stores: try stores.open())
        await cloud.service.resume()
        await cloud.service.tellSubscribers()
        #expect(try await events(cloud) == [])
        await cloud.service.close()
    }

    @Test func `an event round-trips, and other bytes do not decode`() {
        let zone = ZoneKey(owner: .everyone, id: 3)
        let row = RecordRow(
            zone: zone, name: "é", type: "Note", sequence: 9, createdAt: -1, createdBy: 4, modifiedAt: 5, modifiedBy: 6,
            parent: "p", fields: Array("{}".utf8))
        let former = SubscriptionRow(owner: .everyone, account: 2, id: "S", recordType: "", zone: 3, body: [1, 2])
        let events: [ChangeEvent] = [
            .records([]), .records([RecordChange(.create, row), RecordChange(.delete, row)]), .zone(former: []),
            .zone(former: [former]),
        ]
        for event in events {
            let body = event.body
            #expect(ChangeEvent(body, in: zone) == event)
            for count in 0..<body.count {
                let part = ChangeEvent(Array(body.prefix(count)), in: zone)
                // A part may end between two changes.
                #expect(part == nil || part != event)
            }
        }
        let many = Array(repeating: RecordChange(.update, row), count: 250)
        let bodies = ChangeEvent.bodies(of: many)
        #expect(bodies.count == 3)
        #expect(ChangeEvent.bodies(of: many, size: 1).count == 250)
    }

    // MARK: - Limits

    @Test func `an account's subscriptions in a database are limited, and making them does not slow down`() async throws
    {
        let database = publicDatabase("me")
        _ = try await database.modify([.create("first", ["n": .int64(1)])])
        var refused = 0
        for batch in 0..<3 {
            let results = try await database.modify(
                (0..<400).map { number in
                    .update(
                        .query(
                            "S\(batch)-\(number)",
                            where: [
                                Filter(.field("n"), .equals, .int64(Int64(batch * 400 + number)))
                            ]))
                })
            refused += results.count { $0.error?.clientErrorCode == ServiceError.ClientCode.limitExceeded.rawValue }
        }
        #expect(refused == 1200 - Limits.subscriptionsPerDatabase)
        #expect(try await database.subscriptionIDs().count == Limits.subscriptionsPerDatabase)
        // Those there are can be changed and deleted, and then there is room.
        #expect(try await database.save(.query("S0-0", [.delete])).error == nil)
        #expect(try await database.modify([SubscriptionOperation.delete(subscriptionID: "S0-1")])[0].error == nil)
        #expect(try await database.save(.query("new", [.create])).error == nil)
        #expect(try await publicDatabase("you").save(.query("mine")).error == nil)
    }

    @Test func `an account's push tokens are limited, and the least recently used one is evicted`() async throws {
        var tokens: [String] = []
        for number in 0..<(Limits.pushTokensPerAccount + 20) {
            cloud.advance(milliseconds: 1)
            tokens.append(try await TestDevice(cloud, client: "c\(number)").token.apnsToken)
        }
        let store = try #require(cloud.service.openStores.first)
        let left = try await store.engine.read { [tokens] reader in
            try tokens.filter { try reader.pushToken($0) != nil }
        }
        #expect(left == Array(tokens.suffix(Limits.pushTokensPerAccount)))
    }

    @Test func `all notifications of an event arrive, although they exceed one snapshot`() async throws {
        let database = publicDatabase("me")
        _ = try await database.modify([.create("first", ["n": .int64(1)])])
        for number in 0..<5 {
            // None repeats another's condition.
            let above = Filter(.field("n"), .greaterThan, .int64(Int64(-number)))
            #expect(try await database.save(.query("S\(number)", [.create], where: [above])).error == nil)
        }
        let device = try await TestDevice(cloud)
        _ = try await database.modify((0..<100).map { .create("n\($0)", ["n": .int64(1)]) })
        let told = try await device.all()
        #expect(told.count == 500 && Set(told).count == 500 && told.count > Limits.notificationsPerFanOut)
        #expect(try await events(cloud) == [])
    }

    @Test func `conditions that cost too much end an event for their account alone`() async throws {
        let words = FieldValue.list(of: .string, ["a", "b"].map { .string(String(repeating: $0, count: 8000)) })
        _ = try await publicDatabase("me").modify([.create("first", ["w": words])])
        for account in ["greedy", "me"] {
            for id in ["A0", "A1"] {
                let lacks = (0..<98).map { Filter(.field("w"), .notListContains, .string("\(id)\($0)")) }
                let never = Filter(.field("w"), .listContains, .string("never"))
                let saved = try await publicDatabase(account).save(.query(id, [.create], where: lacks + [never]))
                #expect(saved.error == nil)
            }
            #expect(try await publicDatabase(account).save(.query("B", [.create])).error == nil)
        }
        let devices = [try await TestDevice(cloud, "greedy"), try await TestDevice(cloud, "me")]
        // One event, with which the conditions of each account may not be compared to the end.
        _ = try await publicDatabase("x").modify((0..<15).map { .create("n\($0)", ["w": words]) })
        for device in devices { #expect(try await device.all() == []) }
        _ = try await publicDatabase("x").modify([.create("last", ["w": words])])
        for device in devices { #expect(try await device.all() == ["B: recordCreated last in _defaultZone"]) }
        #expect(try await publicDatabase("other").save(.query("C", [.create])).error == nil)
        let other = try await TestDevice(cloud, "other")
        _ = try await publicDatabase("x").modify((0..<15).map { .create("m\($0)", ["w": words]) })
        for device in devices { #expect(try await device.all() == []) }
        #expect(try await other.all().count == 15)
        #expect(try await events(cloud) == [])
    }

    @Test func `a failed event is retried with backoff, and later events are not delayed`() async throws {
        _ = try await publicDatabase("me").modify([.create("first")])
        _ = try await publicDatabase("me").save(.query("S", [.create]))
        try await stopTelling(cloud)
        for name in ["a", "b"] { _ = try await publicDatabase("me").modify([.create(name)]) }
        let ids = try await events(cloud).map(\.id)
        #expect(ids.count == 2)
        let store = try #require(cloud.service.openStores.first)
        var attempts = FanOutAttempts()
        func next(_ now: Int64) async throws -> Int64? {
            let known = attempts
            return try await store.engine.read {
                var known = known
                return try FanOutReader.next(&known, now, $0)?.event.id
            }
        }
        #expect(try await next(0) == ids[0])
        #expect(attempts.failed(ids[0], now: 0) == Limits.firstJobPause)
        #expect(try await next(0) == ids[1])
        #expect(try await next(Limits.firstJobPause) == ids[0])
        #expect(attempts.failed(ids[0], now: 0) == 2 * Limits.firstJobPause)
        #expect(attempts.failed(ids[1], now: 0) == Limits.firstJobPause)
        #expect(try await next(0) == nil && attempts.nextDue == Limits.firstJobPause)
        let end = SubscriptionPosition(recordType: "", account: 7, id: "S", count: 1)
        let first = try #require(try await events(cloud).first)
        attempts.advanced(FanOutPage(event: first, covered: [], items: [], end: end, counts: [7: 3]), at: 0)
        #expect(try await next(0) == ids[0] && attempts.counts(ids[0]) == [7: 3])
        for id in 100..<300 as Range<Int64> { _ = attempts.failed(id, now: id) }
        #expect(attempts.waiting(at: 0).count <= Limits.failedChangeEvents)
    }
}
