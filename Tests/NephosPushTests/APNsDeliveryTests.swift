import NephosHTTP
import NephosPush
import NephosService
import Synchronization
import Testing

@Suite struct APNsDeliveryTests {
    /// A delivery to a stand-in of Apple's push service with scripted answers.
    func delivery(
        to standIn: StandIn, now: @escaping @Sendable () -> Int64 = systemNow, client: HTTPClient? = nil
    ) throws -> APNsDelivery {
        let identity = try ProviderIdentity(
            key: SigningKey(file: standIn.value("key")), keyID: standIn.value("keyID"), teamID: standIn.value("teamID"))
        let configuration = try APNsConfiguration(
            identity: identity, topic: standIn.value("topic"), url: standIn.value("url"))
        return APNsDelivery(
            configuration, client: try client ?? HTTPClient(certificates: standIn.value("certificates")), now: now)
    }

    @Test func `an alert has the headers and body that Apple documents`() async throws {
        let standIn = try await StandIn.start("apns")
        let created = systemNow()
        let sent = notification(collapseID: "art", createdAt: created)
        #expect(try await delivery(to: standIn).deliver(sent, to: device) == .delivered)
        let request = try await standIn.request()
        #expect(request.problem == nil)
        #expect(request.path == "/3/device/00abff10" + String(repeating: "07", count: 28))
        #expect(request.body == alert)
        var headers = request.headers.filter { $0.key.hasPrefix("apns-") || $0.key.hasPrefix(":") }
        headers[":authority"] = nil
        #expect(
            headers == [
                ":method": "POST", ":scheme": "https", ":path": request.path, "apns-topic": "org.example.App",
                "apns-push-type": "alert", "apns-priority": "10", "apns-collapse-id": "art",
                "apns-expiration": String(created / 1000 + 3 * 24 * 3600),
                "apns-id": "3d1c5c2e-7a0f-4c2b-9a54-0a2f1a0e5a10",
            ])
    }

    @Test func `a silent notification is a background push of low priority`() async throws {
        let standIn = try await StandIn.start("apns")
        let sent = notification(silent, id: "not a UUID", isSilent: true)
        #expect(try await delivery(to: standIn).deliver(sent, to: device) == .delivered)
        let headers = try await standIn.request().headers
        #expect(headers["apns-push-type"] == "background")
        #expect(headers["apns-priority"] == "5")
        #expect(headers["apns-collapse-id"] == nil)
        #expect(headers["apns-id"] == nil)
    }

    @Test func `the device's topic takes precedence over the configured one`() async throws {
        let standIn = try await StandIn.start("apns")
        let other = NotificationDestination.device(
            DeviceToken(bytes: [1], environment: .production, topic: "org.example.Other"))
        let outcome = try await delivery(to: standIn).deliver(notification(), to: other)
        #expect(outcome == .undeliverable(reason: "APNs answered 400 BadTopic"))
        #expect(try await standIn.request().headers["apns-topic"] == "org.example.Other")
    }

    @Test func `a collapse identifier that is too long for its header is hashed`() async throws {
        let standIn = try await StandIn.start("apns")
        let delivery = try delivery(to: standIn)
        for identifier in [String(repeating: "a", count: 65), "line\r\nbreak: x", "Überschrift", "two words"] {
            #expect(await delivery.deliver(notification(collapseID: identifier), to: device) == .delivered)
            #expect(await delivery.deliver(notification(collapseID: identifier + "!"), to: device) == .delivered)
            let first = try #require(try await standIn.request().headers["apns-collapse-id"])
            let second = try #require(try await standIn.request().headers["apns-collapse-id"])
            #expect(first.wholeMatch(of: /[0-9a-f]{64}/) != nil)
            #expect(first != second)
        }
    }

    @Test func `every APNs answer maps to its outcome`() async throws {
        let standIn = try await StandIn.start(
            "apns",
            answers: """
                [{"status": 400, "reason": "BadDeviceToken"}, {"status": 410, "reason": "Unregistered", "timestamp": 1763713200250},
                 {"status": 429, "reason": "TooManyRequests", "retry-after": 17},
                 {"status": 503, "reason": "ServiceUnavailable"}, {"status": 403, "reason": "InvalidProviderToken"},
                 {"status": 500}, {"status": 418, "reason": "line\\nbreak"}]
                """)
        let delivery = try delivery(to: standIn)
        var outcomes: [DeliveryOutcome] = []
        for _ in 0..<8 { outcomes.append(await delivery.deliver(notification(), to: device)) }
        #expect(
            outcomes == [
                .rejected(reason: "APNs answered 400 BadDeviceToken"),
                .rejected(reason: "APNs answered 410 Unregistered", since: 1_763_713_200_250),
                .retry(after: .seconds(17), reason: "APNs answered 429 TooManyRequests"),
                .retry(after: nil, reason: "APNs answered 503 ServiceUnavailable"),
                .retry(after: nil, reason: "APNs answered 403 InvalidProviderToken"),
                .retry(after: nil, reason: "APNs answered 500"),
                .retry(after: nil, reason: "APNs answered 418"),
                .delivered,
            ])
    }

    @Test func `a reset connection is retried later and then reopened`() async throws {
        let standIn = try await StandIn.start("apns", answers: #"[{"reset": true}]"#)
        let delivery = try delivery(to: standIn)
        guard case .retry(nil, let reason) = await delivery.deliver(notification(), to: device) else {
            Issue.record("a lost connection is to be retried")
            return
        }
        #expect(reason.hasPrefix("APNs: "))
        #expect(await delivery.deliver(notification(), to: device) == .delivered)
        #expect(try await standIn.request().connection == 1)
        #expect(try await standIn.request().connection == 2)
    }

    @Test func `an untrusted server gets nothing`() async throws {
        let standIn = try await StandIn.start("apns")
        let delivery = try delivery(to: standIn, client: HTTPClient())
        guard case .retry = await delivery.deliver(notification(), to: device) else {
            Issue.record("an untrusted certificate is to be refused")
            return
        }
        // The next request that the stand-in sees is the one of a delivery that trusts it.
        #expect(
            try await self.delivery(to: standIn).deliver(notification(silent, isSilent: true), to: device) == .delivered
        )
        #expect(try await standIn.request().body == silent)
    }

    @Test func `many notifications share one connection`() async throws {
        // Nobody is answered before all fifty are there.
        let standIn = try await StandIn.start("apns", answers: #"[{"gather": 50}]"#)
        let delivery = try delivery(to: standIn)
        let outcomes = await withTaskGroup { group in
            for _ in 0..<50 { group.addTask { await delivery.deliver(notification(), to: device) } }
            return await group.reduce(into: [DeliveryOutcome]()) { $0.append($1) }
        }
        #expect(outcomes.count == 50 && outcomes.allSatisfy { $0 == .delivered })
        for _ in 0..<50 { #expect(try await standIn.request().connection == 1) }
    }

    // MARK: - Provider tokens

    @Test func `a provider token is used for forty minutes and then renewed`() async throws {
        let standIn = try await StandIn.start("apns")
        let clock = Clock()
        let delivery = try delivery(to: standIn, now: clock.now)
        var tokens: [String] = []
        for minutes in [0, 20, 39, 40, 79] {
            clock.set(minutes: minutes - 40)
            #expect(await delivery.deliver(notification(), to: device) == .delivered)
            tokens.append(try #require(try await standIn.request().headers["authorization"]))
        }
        #expect(tokens[0] == tokens[1] && tokens[1] == tokens[2])
        #expect(tokens[3] != tokens[2] && tokens[3] == tokens[4])
    }

    @Test func `an expired token is renewed and the request sent once more`() async throws {
        let standIn = try await StandIn.start("apns", answers: #"[{"status": 403, "reason": "ExpiredProviderToken"}]"#)
        #expect(try await delivery(to: standIn).deliver(notification(), to: device) == .delivered)
        let first = try await standIn.request()
        let second = try await standIn.request()
        #expect(first.headers["authorization"] != second.headers["authorization"])
        #expect(first.body == second.body)
    }

    @Test func `a service that calls every token expired is retried later`() async throws {
        let expired = #"{"status": 403, "reason": "ExpiredProviderToken"}"#
        let standIn = try await StandIn.start("apns", answers: "[\(expired), \(expired), \(expired)]")
        let delivery = try delivery(to: standIn)
        for _ in 0..<2 {
            guard case .retry(nil, let reason) = await delivery.deliver(notification(), to: device) else {
                Issue.record("to be retried later")
                return
            }
            #expect(reason.contains("clock"))
        }
        // The first made a new token, the second did not make yet another.
        let tokens = [
            try await standIn.request(), try await standIn.request(), try await standIn.request(),
        ].map { $0.headers["authorization"] }
        #expect(tokens[0] != tokens[1] && tokens[1] == tokens[2])
    }

    // MARK: - What is not sent

    @Test func `a payload over the limit is not sent`() async throws {
        let standIn = try await StandIn.start("apns")
        let delivery = try delivery(to: standIn)
        func padded(_ size: Int) -> String {
            let frame = #"{"aps":{"alert":{"body":""}}}"#
            return frame.replacing(#"""}"#, with: #""\#(String(repeating: "a", count: size - frame.utf8.count))"}"#)
        }
        #expect(
            await delivery.deliver(notification(padded(4097)), to: device)
                == .undeliverable(reason: "its payload has 4097 bytes; the push service takes 4096"))
        #expect(await delivery.deliver(notification(padded(4096)), to: device) == .delivered)
        #expect(try await standIn.request().body.utf8.count == 4096)
    }

    @Test func `a closed client fails current and later deliveries`() async throws {
        let standIn = try await StandIn.start("apns", answers: #"[{"gather": 2}]"#)
        let client = HTTPClient(certificates: try standIn.value("certificates"))
        let delivery = try delivery(to: standIn, client: client)
        async let waiting = delivery.deliver(notification(), to: device)
        _ = try await standIn.request()
        client.close()
        #expect(await waiting == .retry(after: nil, reason: "APNs: the client is closed"))
        #expect(
            await delivery.deliver(notification(), to: device)
                == .retry(after: nil, reason: "APNs: the client is closed"))
    }

    @Test func `a cancelled delivery ends and the connection stays open`() async throws {
        let standIn = try await StandIn.start("apns", answers: #"[{"gather": 2}]"#)
        let delivery = try delivery(to: standIn)
        let waiting = Task { await delivery.deliver(notification(), to: device) }
        _ = try await standIn.request()
        waiting.cancel()
        #expect(await waiting.value == .retry(after: nil, reason: "APNs: cancelled"))
    }

    @Test func `a wrong configuration is refused with its reason`() throws {
        let key = try #require(SigningKey(pem: Array(SampleKeys.p256.utf8)))
        let identity = try ProviderIdentity(key: key, keyID: "ABC123DEFG", teamID: "DEF123GHIJ")
        for topic in ["", "org.example/App", "org example", "ä"] {
            #expect(throws: NotificationSetupError.self) { try APNsConfiguration(identity: identity, topic: topic) }
        }
        for url in ["http://127.0.0.1:1", "127.0.0.1", "https://", "ftp://a", "https://u:p@a", "https://a b"] {
            #expect(throws: NotificationSetupError.self) {
                try APNsConfiguration(identity: identity, topic: "a", url: url)
            }
        }
        let missing = #expect(throws: NotificationSetupError.self) { try SigningKey(file: "/nonexistent/key.p8") }
        #expect(missing?.description == "the key '/nonexistent/key.p8' cannot be read")
    }
}

/// A clock that a test sets, relative to when it began.
final class Clock: Sendable {
    private let start = systemNow()
    private let offset = Mutex<Int64>(0)

    func set(minutes: Int) { offset.withLock { $0 = Int64(minutes) * 60_000 } }

    @Sendable func now() -> Int64 { offset.withLock { start + $0 } }
}
