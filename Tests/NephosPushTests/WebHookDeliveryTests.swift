import Foundation
import NephosHTTP
import NephosPush
import NephosService
import Testing

@Suite struct WebHookDeliveryTests {
    func hook(_ standIn: StandIn, path: String = "") throws -> WebHook {
        try WebHook(url: standIn.value("url") + path, secret: WebHookSecret(file: standIn.value("secretFile")))
    }

    func deliver(_ count: Int = 1, to standIn: StandIn, timeout: Duration = .seconds(300)) async throws
        -> [DeliveryOutcome]
    {
        let hook = try hook(standIn)
        let delivery = WebHookDelivery([hook], client: HTTPClient(), timeout: timeout, now: systemNow)
        var outcomes: [DeliveryOutcome] = []
        for _ in 0..<count {
            outcomes.append(await delivery.deliver(notification(), to: .webHook(hook.destination)))
        }
        return outcomes
    }

    @Test func `a receiver can verify the signature and read the notification`() async throws {
        let standIn = try await StandIn.start("web_hook")
        let hook = try hook(standIn)
        let delivery = WebHookDelivery([hook], client: HTTPClient(), now: systemNow)
        let sent = notification(createdAt: 1_763_713_200_250)
        #expect(await delivery.deliver(sent, to: .webHook(hook.destination)) == .delivered)
        let request = try await standIn.request()
        #expect(request.problem == nil)
        #expect(request.path == "/hook")
        #expect(request.headers["webhook-id"] == sent.id)
        #expect(
            request.body == #"{"type":"cloudkit.notification","timestamp":"2025-11-21T08:20:00.250Z","data":{"#
                + #""container":"iCloud.org.example.App","environment":"development","userRecordName":"_0123","#
                + #""subscriptionID":"sub-1","notification":\#(alert)}}"#)
    }

    @Test func `every attempt has the same identifier and body`() async throws {
        let standIn = try await StandIn.start("web_hook", answers: #"[{"status": 500}]"#)
        let hook = try hook(standIn)
        let delivery = WebHookDelivery([hook], client: HTTPClient(), now: systemNow)
        var sent = notification()
        #expect(
            await delivery.deliver(sent, to: .webHook(hook.destination))
                == .retry(after: nil, reason: "the web hook answered 500"))
        sent.attempt = 2
        #expect(await delivery.deliver(sent, to: .webHook(hook.destination)) == .delivered)
        let first = try await standIn.request()
        let second = try await standIn.request()
        #expect(first.headers["webhook-id"] == second.headers["webhook-id"])
        #expect(first.body == second.body)
        #expect(second.problem == nil)
    }

    @Test func `every answer of a web hook maps to its outcome`() async throws {
        let standIn = try await StandIn.start(
            "web_hook",
            answers: """
                [{"status": 204}, {"status": 404}, {"status": 400},
                 {"status": 429, "headers": {"Retry-After": "120"}},
                 {"status": 503, "headers": {"Retry-After": "Sun, 06 Nov 1994 08:49:37 GMT"}},
                 {"status": 503, "headers": {"Retry-After": "soon"}}, {"status": 299}, {"status": 410}]
                """)
        #expect(
            try await deliver(8, to: standIn) == [
                .delivered, .retry(after: nil, reason: "the web hook answered 404"),
                .retry(after: nil, reason: "the web hook answered 400"),
                .retry(after: .seconds(120), reason: "the web hook answered 429"),
                .retry(after: .zero, reason: "the web hook answered 503"),
                .retry(after: nil, reason: "the web hook answered 503"), .delivered,
                .rejected(reason: "the web hook answered 410"),
            ])
    }

    @Test func `a web hook that is gone gets no more notifications`() async throws {
        let standIn = try await StandIn.start("web_hook", answers: #"[{"status": 410}]"#)
        let gone = DeliveryOutcome.rejected(reason: "the web hook answered 410")
        // The stand-in would answer 200 to the second.
        #expect(try await deliver(3, to: standIn) == [gone, gone, gone])
    }

    @Test func `a redirect is not followed`() async throws {
        let statuses = [301, 302, 303, 307, 308]
        let answers = statuses.map { #"{"status": \#($0), "headers": {"Location": "/elsewhere"}}"# }
        let standIn = try await StandIn.start("web_hook", answers: "[\(answers.joined(separator: ","))]")
        #expect(
            try await deliver(6, to: standIn)
                == statuses.map { .retry(after: nil, reason: "the web hook answered \($0)") } + [.delivered])
        // Nothing came between.
        for _ in 1...6 {
            let request = try await standIn.request()
            #expect(request.problem == nil && request.path == "/hook")
        }
    }

    @Test func `a receiver that does not answer times out`() async throws {
        let standIn = try await StandIn.start("web_hook", answers: #"[{"silent": true}]"#)
        let outcomes = try await deliver(to: standIn, timeout: .milliseconds(200))
        #expect(outcomes == [.retry(after: nil, reason: "web hook: no answer in the time that was set")])
    }

    @Test func `a refused connection is retried`() async throws {
        let secret = try #require(WebHookSecret("whsec_" + Data(count: 32).base64EncodedString()))
        // The port of TCP's multiplexer, which has had no listener for decades.
        let hook = try WebHook(url: "http://127.0.0.1:1/", secret: secret)
        let delivery = WebHookDelivery([hook], client: HTTPClient(), now: systemNow)
        let outcome = await delivery.deliver(notification(), to: .webHook(hook.destination))
        #expect(outcome == .retry(after: nil, reason: "web hook: Connection refused"))
    }

    @Test func `a web hook that is not configured is rejected`() async throws {
        let delivery = WebHookDelivery([], client: HTTPClient(), now: systemNow)
        let outcome = await delivery.deliver(
            notification(), to: .webHook(WebHookDestination(url: "http://127.0.0.1:1/")))
        #expect(outcome == .rejected(reason: "the service is not set up with this web hook"))
    }

    // MARK: - Setup

    @Test(arguments: [
        "", "hook", "/hook", "127.0.0.1:80/hook", "ftp://example.org/", "file:///etc/passwd", "javascript:alert(1)",
        "http://", "https:///path", "https://user:secret@example.org/", "https://example.org/#part",
        "https://example.org/a b", "https://example.org/\r\nX: y", "https://exämple.org/", "http://example.org:99999/",
    ])
    func `a URL that is not HTTP is refused without repeating it`(_ url: String) throws {
        let secret = try #require(WebHookSecret("whsec_" + Data(count: 32).base64EncodedString()))
        let error = #expect(throws: NotificationSetupError.self) { try WebHook(url: url, secret: secret) }
        #expect(error?.description.contains("secret") == false)
    }

    @Test(arguments: ["http://localhost:9000", "https://example.org/a?b=c", "HTTPS://[::1]:8443/x%20y"])
    func `an HTTP URL is accepted as it is`(_ url: String) throws {
        let secret = try #require(WebHookSecret("whsec_" + Data(count: 24).base64EncodedString()))
        #expect(try WebHook(url: url, secret: secret).destination.url == url)
    }

    @Test func `a secret has 24 to 64 bytes`() {
        for count in [24, 32, 64] { #expect(WebHookSecret("whsec_" + Data(count: count).base64EncodedString()) != nil) }
        for count in [0, 23, 65] { #expect(WebHookSecret("whsec_" + Data(count: count).base64EncodedString()) == nil) }
        #expect(WebHookSecret(Data(count: 32).base64EncodedString()) == nil)
        #expect(WebHookSecret("whsec_not base64") == nil)
    }

    @Test func `a secret is never printed`() throws {
        let text = "whsec_" + Data(repeating: 0xA5, count: 32).base64EncodedString()
        let secret = try #require(WebHookSecret(text))
        let hook = try WebHook(url: "https://example.org/", secret: secret)
        var dumped = ""
        dump(hook, to: &dumped)
        for printed in ["\(secret)", String(reflecting: secret), "\(hook)", dumped] {
            #expect(!printed.contains("paWl") && !printed.contains("165"), "\(printed)")
        }
    }

    @Test func `a secret file is read and its faults are named`() async throws {
        let text = "whsec_" + Data(repeating: 1, count: 32).base64EncodedString()
        try await withTemporaryDirectory { directory in
            let file = directory.appendingPathComponent("secret")
            try Data("\(text)\n".utf8).write(to: file)
            _ = try WebHookSecret(file: file.path)
            try Data("hunter2hunter2".utf8).write(to: file)
            let error = #expect(throws: NotificationSetupError.self) { try WebHookSecret(file: file.path) }
            #expect(error?.description.contains("openssl rand") == true)
            #expect(error?.description.contains("hunter2") == false)
            #expect(throws: NotificationSetupError.self) { try WebHookSecret(file: directory.path + "/none") }
        }
    }
}
