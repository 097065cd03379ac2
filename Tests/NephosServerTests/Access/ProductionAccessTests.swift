import NephosService
import NephosWire
import Testing

@testable import NephosServer

/// What a production server checks besides rights.
@Suite struct ProductionAccessTests {
    private func status(
        _ server: ProductionServer, _ target: String, host: String = "localhost", origin: String? = nil,
        user: UInt32? = nil, method: HTTPMethod = .post
    ) async -> Int {
        var request = HTTPRequest(method: method, target: target, host: host, origin: origin, body: Array("{}".utf8))
        request.localUser = user
        return await server.responder.respond(to: request).status
    }

    @Test func `the socket answers root and the server's user, and nothing that a page or a proxy sent`() async throws {
        let server = try await ProductionServer()
        let target = "/nephos/1/installation/accounts/list"
        #expect(await status(server, target, user: 0) == 200)
        #expect(await status(server, target, user: 65534) == 403)
        #expect(await status(server, target, origin: "https://evil.example.org", user: 0) == 403)
        #expect(await status(server, target, host: "evil.example.org", user: 0) == 403)
        #expect(await status(server, target, host: "cloud.example.org") == 401)
        await server.close()
    }

    @Test func `a change of a container is in the audit with its caller, and a look is not`() async throws {
        let server = try await ProductionServer()
        for path in ["/nephos/schema/export", "/nephos/schema/reset"] {
            let route = try #require(Routes.table.first { $0.path == path })
            #expect(await server.send(route, as: .developer).status == 200)
        }
        let events = try await server.installation.audit(after: 0).events.filter { $0.event.hasPrefix("/nephos") }
        #expect(events.map(\.event) == ["/nephos/schema/reset"])
        #expect(
            events.map(\.object) == ["\(ProductionServer.container) development"]
                && events.first?.actor.hasPrefix("id:") == true)
        await server.close()
    }

    private static func lookup() throws -> Route {
        try #require(Routes.table.first { $0.path == "users/current" })
    }

    @Test func `an account above its rate waits, and no other caller`() async throws {
        var rates = RequestRates.off
        rates.perAccount = 1
        let server = try await ProductionServer(rates: rates)
        let lookup = try Self.lookup()
        var last = await server.send(lookup, as: .session)
        for _ in 0..<20 where last.status == 200 { last = await server.send(lookup, as: .session) }
        #expect(last.status == 429)
        #expect(last.headers.contains { $0.name == "Retry-After" && $0.value == "1" })
        let error = try ErrorDictionary(decoding: last.parts.flatMap { Array($0.buffer) })
        #expect(error.serverErrorCode == .throttled && 0...1 ~= error.retryAfter ?? -1)
        #expect(await server.send(lookup, as: .otherAccount).status == 200)
        #expect(await server.send(lookup, as: .apiToken).status == 421)
        #expect(await server.send(lookup, as: .forgedSession).status == 421)
        await server.close()
    }

    @Test func `an API token's rate is that of requests without a session`() async throws {
        var rates = RequestRates.off
        rates.perAPIToken = 1
        let server = try await ProductionServer(rates: rates)
        let lookup = try Self.lookup()
        for _ in 0..<10 { #expect(await server.send(lookup, as: .apiToken).status == 421) }
        // A slow machine earns requests meanwhile.
        var last = 421
        for _ in 0..<200 where last == 421 { last = await server.send(lookup, as: .apiToken).status }
        #expect(last == 429)
        #expect(await server.send(lookup, as: .session).status == 200)
        #expect(await server.send(lookup, as: .page).status == 421)
        await server.close()
    }

    @Test func `an address above its rate waits for anything, and the socket never`() async throws {
        var rates = RequestRates.off
        rates.perAddress = 1
        let server = try await ProductionServer(rates: rates)
        func health(_ client: [UInt8], user: UInt32? = nil) async -> Int {
            var request = HTTPRequest(
                method: .get, target: "/health", host: user == nil ? "cloud.example.org" : "localhost")
            (request.client, request.localUser) = (client, user)
            return await server.responder.respond(to: request).status
        }
        for _ in 0..<10 { #expect(await health([192, 0, 2, 1]) == 200) }
        // A slow machine earns requests meanwhile.
        var last = 200
        for _ in 0..<200 where last == 200 { last = await health([192, 0, 2, 1]) }
        #expect(last == 429)
        #expect(await health([192, 0, 2, 2]) == 200)
        #expect(await health([0x20, 1, 0xD, 0xB8, 0, 0, 0, 1]) == 200)
        for _ in 0..<20 { #expect(await health([], user: 0) == 200) }
        await server.close()
    }

    @Test func `a web auth token is a session of its own, of the account and container that asked`() async throws {
        let server = try await ProductionServer()
        let route = try #require(Routes.table.first { $0.path == "users/webAuthToken" })
        let tokens = try await server.installation.apiTokenSummaries(container: nil)
        func ask(_ caller: ProductionServer.Caller, _ apiToken: String) async -> HTTPResponse {
            await server.send(route, as: caller, body: "{\"apiToken\":\"\(apiToken)\"}")
        }
        for token in tokens {
            let isOfContainer =
                token.container == ProductionServer.container && token.environment == "development"
                && token.allowsSignIn
            let answer = await ask(.session, token.token)
            #expect(answer.status == (isOfContainer ? 200 : 401), "\(token)")
            guard isOfContainer else { continue }
            let text = String(decoding: answer.body, as: UTF8.self)
            let session = try #require(text.firstMatch(of: /"webAuthToken":"([^"]+)"/)).1
            let caller = try await server.installation.caller(
                container: ProductionServer.container, environment: .development, apiToken: token.token,
                token: String(session), origin: token.origins.first)
            #expect(caller.address == "lovelace")
        }
        let own = try #require(tokens.first { $0.origins.isEmpty && $0.allowsSignIn }).token
        for caller in [ProductionServer.Caller.apiToken, .forgedSession, .administrator, .otherContainer] {
            #expect(await ask(caller, own).status == 421, "\(caller)")
        }
        await server.close()
    }

    @Test func `the administration has one path`() async throws {
        let server = try await ProductionServer()
        for target in [
            "/database/1/\(ProductionServer.container)/development/public/%2Finstallation%2Faccounts/list",
            "/database/1/\(ProductionServer.container)/development/public/%2Fmetrics", "/installation/accounts/list",
            "/nephos/9/installation/accounts/list",
        ] {
            #expect(await status(server, target, user: 0) == 404, "\(target)")
        }
        await server.close()
    }

    @Test func `a request names the server by its host`() async throws {
        let server = try await ProductionServer()
        for (host, expected) in [
            ("cloud.example.org", 200), ("CLOUD.example.org:443", 200), ("cloud.example.org:80", 400),
            ("evil.example.org", 400), ("cloud.example.org.evil.org", 400), ("", 400),
        ] {
            #expect(await status(server, "/health", host: host, method: .get) == expected, "\(host)")
        }
        await server.close()
    }

    @Test func `answers are not kept by caches, and a refused look at the status records nothing`() async throws {
        let server = try await ProductionServer()
        var request = HTTPRequest(method: .get, target: "/status", host: "cloud.example.org")
        request.isSecure = true
        let refused = await server.responder.respond(to: request)
        #expect(refused.status == 401)
        for name in ["Cache-Control", "X-Content-Type-Options", "Strict-Transport-Security"] {
            #expect(refused.headers.count { $0.name == name } == 1, "\(name)")
        }
        _ = await status(server, "/health", host: "cloud.example.org", method: .get)
        var own = HTTPRequest(method: .get, target: "/status", host: "localhost")
        own.localUser = 0
        let shown = String(decoding: await server.responder.respond(to: own).body, as: UTF8.self)
        #expect(shown.contains("\"answered\":0"))
        await server.close()
    }

    @Test(arguments: [
        ("https://cloud.example.org", "https://cloud.example.org"),
        ("https://Cloud.Example.org:443/", "https://cloud.example.org"),
        ("http://127.0.0.1:8484", "http://127.0.0.1:8484"),
        ("https://[2001:db8::1]:8443", "https://[2001:db8::1]:8443"),
    ])
    func `the public URL has one form`(_ text: String, _ expected: String) {
        #expect(PublicURL(text)?.text == expected)
    }

    @Test(arguments: [
        "", "cloud.example.org", "ftp://a", "https://", "https://a/b", "https://u@a", "https://a?b", "https://a#b",
        "https://münchen.example",
    ])
    func `what is no public URL is refused`(_ text: String) { #expect(PublicURL(text) == nil) }
}
