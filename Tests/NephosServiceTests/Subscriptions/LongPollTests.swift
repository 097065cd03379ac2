import NephosPostgresTesting
import NephosSQLite
import NephosTesting
import NephosWire
import Testing

@testable import NephosService

/// Push tokens and long polls.
struct LongPollTests {
    /// A cloud with a query subscription to Note in zone Z.
    private func prepared(_ cloud: TestCloud) async throws -> TestDatabase {
        let zone = try await TestDatabase(cloud).making(zone: "Z")
        _ = try await zone.modify([.create("first")])
        _ = try await zone.save(.query("S", [.create], zone: "Z"))
        return zone
    }

    private func payload(_ polled: PolledNotification?) throws -> NotificationPayload {
        let polled = try #require(polled)
        return try NotificationPayload(decoding: polled.payload)
    }

    @Test func `a poll waits for the notification of a save`() async throws {
        let cloud = TestCloud(ServiceConfiguration())
        let zone = try await prepared(cloud)
        let device = try await TestDevice(cloud)
        async let polled = device.poll()
        await cloud.waitForPolls(1)
        _ = try await zone.modify([.create("a")])
        let told = try payload(try await polled)
        #expect(told.summary == "S: recordCreated a in Z")
        #expect(cloud.service.waitingPolls == 0)
    }

    @Test func `a poll that times out ends without a notification`() async throws {
        let cloud = TestCloud(ServiceConfiguration())
        _ = try await prepared(cloud)
        let device = try await TestDevice(cloud)
        async let polled = device.poll()
        await cloud.waitForPolls(1)
        // The poll's own clock may start a moment later.
        await eventually {
            cloud.advance(milliseconds: 45_000)
            return cloud.service.waitingPolls == 0
        }
        #expect(try await polled == nil)
    }

    @Test func `a poll gives no waiting notification of a record that the account may no longer read`() async throws {
        let cloud = TestCloud.impatient()
        let curators = try await Curators(cloud)
        let (tom, cora) = (try await TestDevice(cloud, "tom"), try await TestDevice(cloud, "cora"))
        _ = try await curators.author.modify([.create("a"), .create("b")])
        _ = try await curators.author.modify([.delete("b")])
        await cloud.service.tellSubscribers()
        try await curators.revoke("tom")
        #expect(try await tom.all() == [])
        let told = ["S: recordCreated a in _defaultZone", "S: recordCreated b in _defaultZone"]
        #expect(try await cora.all() == told + ["S: recordDeleted b in _defaultZone"])
        // What tom creates is tom's to read.
        _ = try await TestDatabase(cloud, "tom", .public).modify([.create("c")])
        #expect(try await tom.all() == ["S: recordCreated c in _defaultZone"])
        #expect(try await cora.all() == ["S: recordCreated c in _defaultZone"])
    }

    @Test func `each of several polls times out by itself`() async throws {
        let cloud = TestCloud(ServiceConfiguration())
        _ = try await prepared(cloud)
        let (first, second) = (
            try await TestDevice(cloud, client: "first"), try await TestDevice(cloud, client: "second")
        )
        async let early = first.poll()
        await cloud.waitForPolls(1)
        cloud.advance(milliseconds: 30_000)
        async let late = second.poll()
        await cloud.waitForPolls(2)
        cloud.advance(milliseconds: 15_000)
        #expect(try await early == nil)
        #expect(cloud.service.waitingPolls == 1)
        cloud.advance(milliseconds: 30_000)
        #expect(try await late == nil)
    }

    @Test func `a poll ends when another uses its token, when its task is cancelled, and when polls end`() async throws
    {
        let cloud = TestCloud(ServiceConfiguration())
        let zone = try await prepared(cloud)
        let device = try await TestDevice(cloud)
        async let first = device.poll()
        await cloud.waitForPolls(1)
        let second = Task { [cloud, token = device.token.apnsToken, context = cloud.context()] in
            try await cloud.service.nextNotification(token: token, receipt: .implied, context)
        }
        #expect(try await first == nil)
        await cloud.waitForPolls(1)
        second.cancel()
        #expect(try await second.value == nil)
        #expect(cloud.service.waitingPolls == 0)

        async let third = device.poll()
        await cloud.waitForPolls(1)
        cloud.service.endPolls()
        #expect(try await third == nil)
        #expect(try await device.poll() == nil)
        _ = try await zone.modify([.create("a")])
    }

    @Test func `a notification is repeated until its receipt`() async throws {
        let cloud = TestCloud.impatient()
        let zone = try await prepared(cloud)
        let device = try await TestDevice(cloud)
        _ = try await zone.modify([.create("a"), .create("b")])
        func id(_ polled: PolledNotification?) throws -> String {
            try #require(try payload(polled).notificationID)
        }
        let a = try id(try await device.poll(.exact(notificationID: nil)))
        #expect(try id(try await device.poll(.exact(notificationID: nil))) == a)
        #expect(try id(try await device.poll(.exact(notificationID: "another"))) == a)
        let b = try id(try await device.poll(.exact(notificationID: a)))
        #expect(b != a)
        // A receipt that comes late changes nothing.
        #expect(try id(try await device.poll(.exact(notificationID: a))) == b)
        #expect(try await device.poll(.exact(notificationID: b)) == nil)
    }

    @Test func `without receipts the next poll acknowledges, unless the answer was not sent`() async throws {
        let cloud = TestCloud.impatient()
        let zone = try await prepared(cloud)
        let device = try await TestDevice(cloud)
        _ = try await zone.modify([.create("a"), .create("b")])
        let lost = try #require(try await device.poll())
        lost.wasSent(false)
        let first = try #require(try await device.poll())
        #expect(first.payload == lost.payload)
        first.wasSent(true)
        let second = try #require(try await device.poll())
        #expect(second.payload != first.payload)
        second.wasSent(true)
        #expect(try await device.poll() == nil)
    }

    @Test func `a change during the read of the last notification is notified again`() async throws {
        let cloud = TestCloud.impatient()
        let zone = try await prepared(cloud)
        let device = try await TestDevice(cloud)
        _ = try await zone.save(.database("all"))
        _ = try await zone.modify([.delete("first")])
        #expect(try await device.next()?.summary == "all: database")
        _ = try await zone.modify([.force("first", type: "Other")])
        #expect(try await device.all() == ["all: database"])
    }

    @Test func `the queue of notifications is bounded and evicts the oldest`() async throws {
        let cloud = TestCloud.impatient()
        let zone = try await prepared(cloud)
        let device = try await TestDevice(cloud)
        for batch in 0..<3 { _ = try await zone.modify((0..<400).map { .create("\(batch)-\($0)") }) }
        let all = try await device.all()
        #expect(all.count == Limits.waitingNotifications)
        #expect(all.last == "S: recordCreated 2-399 in Z" && all.first == "S: recordCreated 0-200 in Z")
    }

    @Test func `a restart loses no notification, and accepts receipts from before it`() async throws {
        let directory = TemporaryStores()
        defer { directory.remove() }
        var configuration = ServiceConfiguration()
        configuration.pollDuration = .zero
        let clock = TestCloud.Clock()
        func open() throws -> TestCloud { TestCloud(configuration, stores: try directory.open(), clock: clock) }

        let before = try open()
        let zone = try await prepared(before)
        let token = try await TestDevice(before).token.apnsToken
        _ = try await zone.modify([.create("a"), .create("b")])
        await before.service.tellSubscribers()
        let given = try #require(
            try await before.service.nextNotification(token: token, receipt: .implied, before.context()))
        let id = try NotificationPayload(decoding: given.payload).notificationID
        await before.service.close()

        let after = try open()
        let rest = try #require(
            try await after.service.nextNotification(
                token: token, receipt: .exact(notificationID: id), after.context()))
        #expect(try NotificationPayload(decoding: rest.payload).summary == "S: recordCreated b in Z")
        // The subscription is known without having been saved in this process.
        _ = try await TestDatabase(after, zone: "Z").modify([.create("c")])
        await after.service.tellSubscribers()
        rest.wasSent(true)
        await after.service.tellSubscribers()
        let last = try #require(
            try await after.service.nextNotification(token: token, receipt: .implied, after.context()))
        #expect(try NotificationPayload(decoding: last.payload).summary == "S: recordCreated c in Z")
        await after.service.close()
    }

    // MARK: - Tokens

    @Test func `a client gets its existing token again, and other or unnamed clients get their own`() async throws {
        let cloud = TestCloud.impatient()
        func token(_ account: String, _ client: String?, named: String? = nil) async throws -> String {
            let request = TokenRequest(apnsEnvironment: .development, clientID: named)
            return try await cloud.service.createToken(request, cloud.context(account, client: client)).apnsToken
        }
        let first = try await token("me", "c")
        #expect(try await token("me", "c") == first)
        #expect(try await token("me", nil, named: "c") == first)
        let others = [
            try await token("me", "d"), try await token("you", "c"), try await token("me", nil),
            try await token("me", nil),
        ]
        #expect(Set(others + [first]).count == 5)
    }

    @Test func `a token is base64 and its address a path of the container`() async throws {
        let cloud = TestCloud.impatient()
        let response = try await cloud.service.createToken(
            TokenRequest(apnsEnvironment: .production), cloud.context())
        #expect(response.apnsEnvironment == .production)
        #expect(PushTokens.bytes(of: response.apnsToken)?.count == 51)
        #expect(response.webcourierURL == "/courier/1/iCloud.test/development/\(response.apnsToken)")
    }

    @Test func `a poll with an unknown token is refused`() async throws {
        let cloud = TestCloud.impatient()
        await #expect(throws: ServiceError.unknownPushToken) {
            _ = try await cloud.service.nextNotification(token: "x", receipt: .implied, cloud.context())
        }
    }

    @Test func `a registered token is a device's, and polls once it has polled`() async throws {
        let cloud = TestCloud.impatient()
        let zone = try await prepared(cloud)
        let request = TokenRequest(apnsEnvironment: .development, apnsToken: "/+8=")
        let response = try await cloud.service.registerToken(request, cloud.context())
        #expect(response.apnsToken == "/+8=")
        #expect(response.webcourierURL == "/courier/1/iCloud.test/development/%2F%2B8%3D")
        _ = try await zone.modify([.create("a")])
        await cloud.service.tellSubscribers()
        func poll() async throws -> PolledNotification? {
            await cloud.service.tellSubscribers()
            return try await cloud.service.nextNotification(token: "/+8=", receipt: .implied, cloud.context())
        }
        #expect(try await poll() == nil)
        _ = try await zone.modify([.create("b")])
        await cloud.service.tellSubscribers()
        #expect(try await poll() != nil)
        // Registered again it is the same.
        _ = try await cloud.service.registerToken(request, cloud.context())
        _ = try await zone.modify([.create("c")])
        await cloud.service.tellSubscribers()
        #expect(try await poll() != nil)
    }

    @Test(arguments: [nil, "", "not base64!", "a", String(repeating: "A", count: 516)])
    func `a token that is not base64 is not registered`(token: String?) async throws {
        let cloud = TestCloud.impatient()
        await #expect {
            let request = TokenRequest(apnsEnvironment: .development, apnsToken: token)
            _ = try await cloud.service.registerToken(request, cloud.context())
        } throws: {
            ($0 as? ServiceError)?.clientCode == .invalidArguments
        }
    }

    @Test func `a device follows the account that signs in on it, and a polling token keeps its account`() async throws
    {
        let cloud = TestCloud.impatient()
        let device = TokenRequest(apnsEnvironment: .development, apnsToken: "QUJD")
        _ = try await cloud.service.registerToken(device, cloud.context("me"))
        _ = try await cloud.service.registerToken(device, cloud.context("you"))
        let polling = try await TestDevice(cloud).token
        let stolen = TokenRequest(apnsEnvironment: .development, apnsToken: polling.apnsToken)
        #expect(try await cloud.service.registerToken(stolen, cloud.context("me")).apnsToken == polling.apnsToken)
        await #expect {
            _ = try await cloud.service.registerToken(stolen, cloud.context("you"))
        } throws: {
            ($0 as? ServiceError)?.code == .accessDenied
        }
    }

    @Test func `a client that has not polled for a month expires when the account asks for another token`() async throws
    {
        let cloud = TestCloud.impatient()
        let old = try await TestDevice(cloud, client: "old")
        cloud.advance(milliseconds: Limits.pushTokenLifetime + 1)
        _ = try await TestDevice(cloud, client: "new")
        await #expect(throws: ServiceError.unknownPushToken) { _ = try await old.poll() }
    }
}

extension TestCloud {
    /// Returns once so many polls wait.
    func waitForPolls(_ count: Int) async {
        await eventually { service.waitingPolls >= count }
    }
}
