import NephosCrypto
import NephosPostgresTesting
import NephosWire
import Synchronization
import Testing

@testable import NephosService

/// Deliveries of due notifications to devices and web hooks.
struct OutboxTests {
    /// A delivery with scripted answers that records its notifications.
    private final class FakeDelivery: NotificationDelivery {
        private let state = Mutex(
            (outcomes: [DeliveryOutcome](), sent: [(OutgoingNotification, NotificationDestination)]()))

        /// - Parameter outcomes: of the first deliveries; all later ones succeed.
        init(_ outcomes: [DeliveryOutcome] = []) { answer(outcomes) }

        func answer(_ outcomes: [DeliveryOutcome]) { state.withLock { $0.outcomes = outcomes } }

        var sent: [OutgoingNotification] { state.withLock { $0.sent.map(\.0) } }
        var destinations: [NotificationDestination] { state.withLock { $0.sent.map(\.1) } }

        func deliver(
            _ notification: OutgoingNotification, to destination: NotificationDestination
        ) async -> DeliveryOutcome {
            state.withLock { state in
                state.sent.append((notification, destination))
                return state.outcomes.isEmpty ? .delivered : state.outcomes.removeFirst()
            }
        }
    }

    private static let hook = WebHookDestination(url: "https://example.org/hook")

    private func cloud(devices: FakeDelivery? = nil, hooks: FakeDelivery? = nil) -> TestCloud {
        TestCloud.impatient(
            NotificationOutlets(
                devices: devices, webHooks: hooks, webHookDestinations: hooks == nil ? [] : [Self.hook]))
    }

    private func zone(_ cloud: TestCloud) async throws -> TestDatabase {
        let zone = try await TestDatabase(cloud).making(zone: "Z")
        _ = try await zone.modify([.create("first")])
        _ = try await zone.save(.query("S", [.create], zone: "Z", info: .text("New")))
        return zone
    }

    private func register(_ cloud: TestCloud, _ token: String = "QUJD", client: String? = nil) async throws {
        let request = TokenRequest(apnsEnvironment: .production, apnsToken: token)
        _ = try await cloud.service.registerToken(request, cloud.context(client: client))
    }

    @Test func `a device gets each notification once`() async throws {
        let devices = FakeDelivery()
        let cloud = cloud(devices: devices)
        let zone = try await zone(cloud)
        try await register(cloud)
        _ = try await zone.modify([.create("a")])
        await cloud.service.settle()
        await cloud.service.settle()
        let sent = try #require(devices.sent.first)
        #expect(devices.sent.count == 1)
        #expect(
            devices.destinations == [.device(DeviceToken(bytes: Array("ABC".utf8), environment: .production))])
        let payload = try NotificationPayload(decoding: sent.payload)
        #expect(payload.summary == "S: recordCreated a in Z" && payload.notificationID == sent.id)
        #expect(sent.container == "iCloud.test" && sent.environment == "development" && sent.subscriptionID == "S")
        let user = try await cloud.service.currentUser(zone.context).userRecordName
        #expect(sent.account == user && !sent.isSilent && sent.attempt == 1 && sent.collapseID == nil)
    }

    @Test func `the device that made the change is not notified, a web hook is`() async throws {
        let (devices, hooks) = (FakeDelivery(), FakeDelivery())
        let cloud = cloud(devices: devices, hooks: hooks)
        _ = try await zone(cloud)
        try await register(cloud, client: "phone")
        _ = try await TestDatabase(cloud, zone: "Z", client: "phone").modify([.create("a")])
        await cloud.service.settle()
        #expect(devices.sent.isEmpty)
        #expect(hooks.destinations == [.webHook(Self.hook)])
    }

    @Test func `a failed delivery is retried when it is due, and not before`() async throws {
        let hooks = FakeDelivery([.retry(after: nil, reason: "down"), .retry(after: .seconds(100), reason: "down")])
        let cloud = cloud(hooks: hooks)
        let zone = try await zone(cloud)
        _ = try await zone.modify([.create("a")])
        await cloud.service.settle()
        await cloud.service.settle()
        #expect(hooks.sent.map(\.attempt) == [1])
        // The first wait is between one and two seconds.
        cloud.advance(milliseconds: 900)
        await cloud.service.settle()
        #expect(hooks.sent.count == 1)
        cloud.advance(milliseconds: 1_100)
        await cloud.service.settle()
        #expect(hooks.sent.map(\.attempt) == [1, 2])
        cloud.advance(milliseconds: 99_000)
        await cloud.service.settle()
        #expect(hooks.sent.count == 2)
        cloud.advance(milliseconds: 1_000)
        await cloud.service.settle()
        #expect(hooks.sent.map(\.attempt) == [1, 2, 3])
        #expect(Set(hooks.sent.map(\.id)).count == 1)
        cloud.advance(milliseconds: 10_000_000)
        await cloud.service.settle()
        #expect(hooks.sent.count == 3)
    }

    @Test func `a retry after the account's role was revoked sends nothing`() async throws {
        let hooks = FakeDelivery(Array(repeating: .retry(after: nil, reason: "down"), count: 2))
        let cloud = cloud(hooks: hooks)
        let curators = try await Curators(cloud)
        _ = try await curators.author.modify([.create("a")])
        await cloud.service.settle()
        #expect(hooks.sent.map(\.attempt) == [1, 1])
        try await curators.revoke("tom")
        cloud.advance(milliseconds: 100_000)
        await cloud.service.settle()
        #expect(hooks.sent.map(\.attempt) == [1, 1, 2])
        let cora = try await cloud.service.currentUser(cloud.context("cora", .public)).userRecordName
        #expect(hooks.sent.last?.account == cora)
    }

    @Test func `an expired notification is dropped, and the log says so`() async throws {
        let hooks = FakeDelivery(Array(repeating: .retry(after: nil, reason: "down"), count: 1_000))
        let cloud = cloud(hooks: hooks)
        let zone = try await zone(cloud)
        _ = try await zone.modify([.create("a")])
        await cloud.service.settle()
        cloud.advance(milliseconds: 3 * 24 * 3600 * 1000)
        await cloud.service.settle()
        #expect(hooks.sent.count == 2)
        #expect(cloud.log.all.contains { $0.contains("given up") && $0.contains("down") })
        cloud.advance(milliseconds: 3 * 24 * 3600 * 1000)
        await cloud.service.settle()
        #expect(hooks.sent.count == 2)
    }

    @Test func `a rejected device is removed with its queued notifications`() async throws {
        let devices = FakeDelivery([.rejected(reason: "unregistered")])
        let cloud = cloud(devices: devices)
        let zone = try await zone(cloud)
        try await register(cloud)
        _ = try await zone.modify([.create("a")])
        await cloud.service.settle()
        _ = try await zone.modify([.create("b")])
        await cloud.service.settle()
        #expect(devices.sent.count == 1)
    }

    @Test(arguments: [false, true])
    func `a device that registered again after a rejection keeps its queued notifications`(again: Bool) async throws {
        let devices = FakeDelivery()
        let cloud = cloud(devices: devices)
        let zone = try await zone(cloud)
        try await register(cloud)
        cloud.advance(milliseconds: 5_000)
        devices.answer([.rejected(reason: "unregistered", since: cloud.now)])
        if again {
            cloud.advance(milliseconds: 5_000)
            try await register(cloud)
        }
        _ = try await zone.modify([.create("a")])
        await cloud.service.settle()
        cloud.advance(milliseconds: 10_000_000)
        await cloud.service.settle()
        #expect(devices.sent.map(\.attempt) == (again ? [1, 2] : [1]))
    }

    @Test func `an undeliverable notification is dropped, and the next one is sent`() async throws {
        let devices = FakeDelivery([.undeliverable(reason: "bad topic")])
        let cloud = cloud(devices: devices)
        let zone = try await zone(cloud)
        try await register(cloud)
        _ = try await zone.modify([.create("a")])
        await cloud.service.settle()
        cloud.advance(milliseconds: 10_000_000)
        _ = try await zone.modify([.create("b")])
        await cloud.service.settle()
        #expect(devices.sent.count == 2 && Set(devices.sent.map(\.id)).count == 2)
    }

    @Test func `each of many notifications is sent once`() async throws {
        let devices = FakeDelivery()
        let cloud = cloud(devices: devices)
        let zone = try await zone(cloud)
        for token in ["QUJD", "REVG"] { try await register(cloud, token) }
        _ = try await zone.modify((0..<300).map { .create("r\($0)") })
        await cloud.service.settle()
        #expect(devices.sent.count == 600)
        #expect(Set(devices.sent.map(\.id)).count == 300)
    }

    @Test func `without a push service nothing is sent or queued for devices`() async throws {
        let hooks = FakeDelivery()
        let cloud = cloud(hooks: hooks)
        let zone = try await zone(cloud)
        try await register(cloud)
        _ = try await zone.modify([.create("a")])
        await cloud.service.settle()
        #expect(hooks.sent.count == 1)
    }

    @Test func `notifications that a stop left are sent after the start, by the service configured then`() async throws
    {
        let directory = TemporaryStores()
        defer { directory.remove() }
        let clock = TestCloud.Clock()
        func open(_ hooks: FakeDelivery) throws -> TestCloud {
            let outlets = NotificationOutlets(webHooks: hooks, webHookDestinations: [Self.hook])
            return TestCloud(
                ServiceConfiguration(notifications: outlets), stores: try directory.open(), clock: clock)
        }
        let down = FakeDelivery([.retry(after: nil, reason: "down")])
        let before = try open(down)
        let zone = try await zone(before)
        _ = try await zone.modify([.create("a")])
        await before.service.settle()
        await before.service.close()
        clock.advance(milliseconds: 2_000)
        let up = FakeDelivery()
        let after = try open(up)
        await after.service.resume()
        await after.service.settle()
        #expect(up.sent.map(\.id) == down.sent.map(\.id) && up.sent.map(\.attempt) == [2])
        await after.service.close()
    }

    @Test func `the collapse ID is the text of a field, or the key itself without one`() async throws {
        let hooks = FakeDelivery()
        let cloud = cloud(hooks: hooks)
        let zone = try await TestDatabase(cloud).making(zone: "Z")
        _ = try await zone.modify([.create("first", ["topic": .string("t")])])
        var info = NotificationInfoDictionary()
        info.collapseIDKey = "topic"
        _ = try await zone.save(.query("S", [.create], zone: "Z", info: info))
        _ = try await zone.modify([.create("a", ["topic": .string(String(repeating: "é", count: 40))]), .create("b")])
        await cloud.service.settle()
        #expect(
            Set(hooks.sent.map(\.collapseID)) == [SecretToken.hash(of: String(repeating: "é", count: 40)), "topic"])
        #expect(hooks.sent.map(\.isSilent) == [true, true])
    }
}
