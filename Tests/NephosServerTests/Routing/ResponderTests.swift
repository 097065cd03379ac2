import NephosSQLite
import NephosService
import NephosStorage
import NephosWire
import Testing

@testable import NephosServer

/// Routing, guards and headers, without a socket.
@Suite struct ResponderTests {
    private static let database = "/database/1/iCloud.org.example.App/development"
    private let responder = Responder(NephosService(stores: MemoryStores()))

    private func send(
        _ method: HTTPMethod, _ target: String, host: String? = "127.0.0.1:8484", origin: String? = nil,
        authorization: String? = nil, body: String = "", bodyIsTooLarge: Bool = false
    ) async -> HTTPResponse {
        var request = HTTPRequest(
            method: method, target: target, host: host, origin: origin, body: Array(body.utf8),
            bodyIsTooLarge: bodyIsTooLarge, takesAdditions: true)
        request.authorization = authorization
        return await responder.respond(to: request)
    }

    private func error(_ response: HTTPResponse) throws -> ErrorDictionary {
        try ErrorDictionary(decoding: response.body)
    }

    // MARK: - Routes

    @Test(arguments: [
        ("records/modfy", "records/modify"), ("record/query", "records/query"), ("change/zone", "changes/zone"),
    ])
    func `an unknown action is refused with the nearest known one`(action: String, meant: String) async throws {
        let refused = try error(
            await send(.post, "\(Self.database)/private/\(action)?ckWebAuthToken=dev:a", body: "{}"))
        #expect(refused.serverErrorCode == .notFound)
        #expect(refused.reason == "could not find handler for endpoint: did you mean '\(meant)'?")
        let other = try error(await send(.post, "\(Self.database)/private/something/else", body: "{}"))
        #expect(other.reason == "could not find handler for endpoint")
    }

    @Test(arguments: [
        "records/modify", "records/lookup", "records/changes", "changes/zone", "changes/database", "zones/list",
        "zones/lookup", "zones/modify", "users/current",
        "users/caller",
    ])
    func `every action answers POST`(_ action: String) async throws {
        let response = await send(.post, "\(Self.database)/private/\(action)?ckWebAuthToken=dev:a", body: "{}")
        // Some actions want more than `{}`: then they say what, which is their answer too.
        if response.status != 200 { #expect(try error(response).serverErrorCode == .badRequest) }
        #expect([200, 400].contains(response.status))
    }

    @Test(arguments: ["zones/list", "users/current", "users/caller"])
    func `read-only actions answer GET and empty bodies`(_ action: String) async {
        let target = "\(Self.database)/private/\(action)?ckWebAuthToken=dev:a"
        for method in [HTTPMethod.get, .head, .post] { #expect(await send(method, target).status == 200) }
        #expect(await send(.post, target, body: "{}").status == 200)
    }

    @Test(arguments: [
        "/nothing", "/healthy", "/health/x", "/database", "\(database)/public/records/dance",
        "\(database)/public/records", "\(database)/public", "\(database)/public/records/modify/more",
    ])
    func `an unknown path is not found`(_ path: String) async throws {
        let response = await send(.post, path)
        #expect(response.status == 404)
        #expect(try error(response).serverErrorCode == .notFound)
        #expect(try error(response).reason == "could not find handler for endpoint")
    }

    @Test(arguments: [
        ("/database/2/iCloud.a/development/public/zones/list", 404, "version '2'"),
        ("/database/1/iCloud.a/staging/public/zones/list", 400, "environment 'staging'"),
        ("/database/1/iCloud.a/development/secret/zones/list", 400, "database 'secret'"),
        ("/database/1/..%2F..%2Fetc/development/public/zones/list", 400, "container identifier '../../etc'"),
        ("/database/1/.hidden/development/public/zones/list", 400, "container identifier"),
        ("/database/1/a%00b/development/public/zones/list", 400, "container identifier"),
        ("/database/2/iCloud.a/development/public/no/such", 404, "version '2'"),
        ("/database/1/iCloud.a/development/public/zones/%ZZ", 400, "percent-encoding"),
    ])
    func `an unknown path's error says which component is unknown`(_ path: String, _ status: Int, _ reason: String)
        async throws
    {
        let response = await send(.get, path)
        #expect(response.status == status)
        #expect(try error(response).reason.contains(reason))
    }

    @Test func `the responder decodes the path`() async {
        let response = await send(.get, "/%64atabase/1/iCloud%2Ea/development/public/zones/%6Cist")
        #expect(response.status == 200)
    }

    @Test(arguments: [
        (HTTPMethod.get, "records/modify", "POST, OPTIONS"), (.other, "zones/list", "GET, HEAD, POST, OPTIONS"),
        (.head, "zones/modify", "POST, OPTIONS"),
    ])
    func `a wrong method is refused with the right ones`(_ method: HTTPMethod, _ action: String, _ allowed: String)
        async throws
    {
        let response = await send(method, "\(Self.database)/public/\(action)")
        #expect(response.status == 405)
        #expect(response["Allow"] == allowed)
        #expect(try error(response).serverErrorCode == .badRequest)
    }

    @Test func `a body that is too large is refused`() async throws {
        let response = await send(.post, "\(Self.database)/public/records/modify", bodyIsTooLarge: true)
        #expect(response.status == 413)
        #expect(try error(response).clientErrorCode == 27)
    }

    @Test(arguments: ["", "[]", "{", "nonsense", "{\"operations\":5}", "\u{0}"])
    func `a body of the wrong shape is refused`(_ body: String) async throws {
        let response = await send(
            .post, "\(Self.database)/public/records/modify?ckWebAuthToken=dev:a", body: body)
        #expect(response.status == 400)
        #expect(try error(response).serverErrorCode == .badRequest)
        #expect(try error(response).reason.hasPrefix("BadRequestException: Unexpected input: "))
    }

    // MARK: - Who asks

    @Test func `a request without an account is answered with the sign-in URL`() async throws {
        let response = await send(.get, "\(Self.database)/public/users/caller?ckAPIToken=x", host: "localhost:99")
        #expect(response.status == 421)
        #expect(try error(response).serverErrorCode == .authenticationRequired)
        let address = try #require(try error(response).redirectURL)
        #expect(address == "http://localhost:99/sign-in")
        #expect(await send(.get, "/sign-in").status == 200)
    }

    @Test func `a malformed token is refused`() async throws {
        let response = await send(.get, "\(Self.database)/public/users/caller?ckWebAuthToken=alice")
        #expect(response.status == 401)
        #expect(try error(response).serverErrorCode == .authenticationFailed)
    }

    @Test func `a header names the account as the query does, and both may not differ`() async throws {
        let caller = "\(Self.database)/public/users/caller"
        let alice = await send(.get, "\(caller)?ckWebAuthToken=dev:alice").body
        #expect(await send(.get, caller, authorization: "Bearer dev:alice").body == alice)
        #expect(await send(.get, caller, authorization: "Bearer dev:bob").body != alice)
        for (target, header) in [("\(caller)?ckWebAuthToken=dev:bob", "Bearer dev:alice"), (caller, "Basic YWxpY2U6")] {
            let response = await send(.get, target, authorization: header)
            #expect(response.status == 401)
            #expect(try error(response).serverErrorCode == .authenticationFailed)
        }
        var request = HTTPRequest(method: .get, target: caller)
        request.authorization = "Bearer dev:alice"
        #expect(responder.account(request) == "alice")
    }

    @Test func `one name is one user and two names are two`() async {
        func user(_ token: String) async -> [UInt8] {
            await send(.get, "\(Self.database)/public/users/caller?ckWebAuthToken=\(token)").body
        }
        let alice = await user("dev:alice")
        #expect(await user("dev%3Aalice") == alice)
        #expect(await user("dev:bob") != alice)
    }

    // MARK: - The loopback guard and cross-origin requests

    @Test func `a foreign host name gets nothing`() async throws {
        for path in ["/health", "/metrics", "\(Self.database)/public/zones/list", "/nothing"] {
            let response = await send(.get, path, host: "rebound.example.org:8484")
            #expect(response.status == 403)
            #expect(try error(response).serverErrorCode == .accessDenied)
        }
    }

    @Test(arguments: [HTTPMethod.get, .post, .options])
    func `a page of another site gets nothing`(_ method: HTTPMethod) async throws {
        let response = await send(method, "\(Self.database)/public/zones/list", origin: "https://example.org")
        #expect(response.status == 403)
        #expect(try error(response).serverErrorCode == .accessDenied)
        #expect(response["Access-Control-Allow-Origin"] == nil)
    }

    @Test(arguments: [
        ("/health", 200), ("/nothing", 404), ("\(database)/public/users/caller", 421),
        ("\(database)/public/users/caller?ckWebAuthToken=x", 401), ("\(database)/public/records/modify", 405),
    ])
    func `a page of this machine may read every answer`(_ target: String, _ status: Int) async {
        let response = await send(.get, target, origin: "http://localhost:3000")
        #expect(response.status == status)
        #expect(response["Access-Control-Allow-Origin"] == "http://localhost:3000")
        #expect(response["Vary"] == "Origin")
        #expect(response["Access-Control-Expose-Headers"]?.contains("X-Apple-Request-UUID") == true)
    }

    @Test func `a client that is no page gets no cross-origin headers`() async {
        #expect(await send(.get, "/health")["Access-Control-Allow-Origin"] == nil)
    }

    @Test(arguments: [
        ("\(database)/public/records/modify", "POST, OPTIONS"),
        ("\(database)/public/zones/list", "GET, HEAD, POST, OPTIONS"), ("/nothing", "GET, HEAD, POST, OPTIONS"),
    ])
    func `a preflight is answered`(_ path: String, _ methods: String) async {
        let response = await send(.options, path, origin: "http://localhost:3000")
        #expect(response.status == 200)
        #expect(response.body.isEmpty)
        #expect(response["Access-Control-Allow-Origin"] == "http://localhost:3000")
        #expect(response["Access-Control-Allow-Methods"] == methods)
        #expect(response["Allow"] == methods)
        let allowed = response["Access-Control-Allow-Headers"]?.lowercased()
        #expect(allowed?.contains("content-type") == true && allowed?.contains("authorization") == true)
    }

    // MARK: - What every answer carries

    @Test func `every answer has its own request ID`() async throws {
        var seen: Set<String> = []
        for target in ["/health", "/nothing", "\(Self.database)/public/zones/list"] {
            let response = await send(.get, target)
            let id = try #require(response["X-Apple-Request-UUID"])
            #expect(id.wholeMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/) != nil)
            #expect(seen.insert(id).inserted)
            if response.status != 200 { #expect(try error(response).uuid == id) }
        }
    }

    @Test func `answers are JSON`() async {
        for target in ["/health", "/nothing", "\(Self.database)/public/zones/list"] {
            #expect(await send(.get, target)["Content-Type"] == "application/json; charset=UTF-8")
        }
    }

    @Test func `a retryable error has a Retry-After header in whole seconds`() async throws {
        let busy = responder.busy(HTTPRequest(method: .get, target: "/"))
        #expect(busy["Retry-After"] == "2")
        #expect(try error(busy).retryAfter == 2)
        #expect(Responder.unfinished["Retry-After"] == "5")
        var refusal = Refusal(.tryAgainLater, "")
        refusal.retryAfter = 0.4
        #expect(refusal.response(requestID: "", signIn: nil)["Retry-After"] == "1")
        #expect(await send(.get, "/nothing")["Retry-After"] == nil)
    }

    // MARK: - Whether it is ready

    @Test func `readiness requires a successful write, and a failure says why`() async throws {
        #expect(await send(.get, "\(Self.database)/private/zones/list?ckWebAuthToken=dev:me").status == 200)
        let ready = await send(.get, "/ready")
        #expect(ready.status == 200 && ready.body == Array("{\"status\":\"ok\"}\n".utf8))
        let responder = Responder(NephosService(stores: BrokenStores()))
        let broken = await responder.respond(to: HTTPRequest(method: .get, target: "/ready", host: "localhost"))
        #expect(broken.status == 503 && broken["Retry-After"] == "1")
        #expect(try error(broken).reason.hasPrefix("the stores cannot be opened"))
    }

    private struct BrokenStores: StoreProvider {
        func open(_ id: StoreID) throws -> any StorageEngine { throw StorageError(.inputOutput, "no disk") }
        func assets(of id: StoreID) throws -> any AssetStore { throw StorageError(.inputOutput, "no disk") }
        func existingStores() throws -> [StoreID] { throw StorageError(.inputOutput, "no disk") }
        func close() {}
    }

    // MARK: - Metrics

    @Test func `metrics count answers, errors and durations`() async throws {
        _ = await send(.get, "\(Self.database)/public/zones/list")
        _ = await send(.get, "\(Self.database)/public/zones/list")
        _ = await send(.get, "\(Self.database)/private/zones/list")
        _ = await send(.get, "/nothing/at/all")
        let response = await send(.get, "/metrics")
        let lines = String(decoding: response.body, as: UTF8.self).split(separator: "\n").map(String.init)
        for expected in [
            #"nephos_http_requests_total{route="zones/list",status="200"} 2"#,
            #"nephos_http_requests_total{route="zones/list",status="421"} 1"#,
            #"nephos_http_requests_total{route="none",status="404"} 1"#,
            #"nephos_http_errors_total{code="AUTHENTICATION_REQUIRED"} 1"#,
            #"nephos_http_errors_total{code="NOT_FOUND"} 1"#, #"nephos_http_errors_total{code="CONFLICT"} 0"#,
            "nephos_http_requests_in_flight 1",
            #"nephos_http_request_duration_seconds_count{route="zones/list"} 3"#,
            #"nephos_http_request_duration_seconds_bucket{route="zones/list",le="+Inf"} 3"#,
            "# TYPE nephos_http_request_duration_seconds histogram",
        ] {
            #expect(lines.contains(expected), "\(expected)")
        }
        for metric in Metric.allCases where metric != .storageWaits && metric != .deadlocks {
            #expect(lines.contains("# TYPE \(metric.rawValue) \(metric.type)"))
            #expect(lines.contains { $0.hasPrefix(metric.rawValue) })
        }
        #expect(!lines.contains { $0.contains("nothing/at/all") })
    }

    @Test func `the buckets of a duration are cumulative`() {
        let metrics = Metrics()
        for milliseconds in [0, 1, 3, 30, 30_000] {
            metrics.began()
            metrics.answered(
                route: "r", status: 200, error: nil, after: .milliseconds(milliseconds),
                StageDurations(nanoseconds: [0, 0, 0, Int64(milliseconds) * 1_000_000, 0, 0]))
        }
        let text = metrics.text(nil)
        for (bound, count) in [("0.0005", 1), ("0.001", 2), ("0.005", 3), ("0.05", 4), ("10.0", 4), ("+Inf", 5)] {
            #expect(text.contains("_bucket{route=\"r\",le=\"\(bound)\"} \(count)\n"))
        }
        #expect(text.contains("nephos_http_stage_seconds_total{stage=\"commit\"} 30.034\n"))
        #expect(text.contains("nephos_http_slow_requests_total{stage=\"commit\"} 1\n"))
        #expect(text.contains("nephos_http_slow_requests_total{stage=\"queue\"} 0\n"))
        #expect(!text.contains("postgresql"))
    }

    @Test func `metrics say what was waited for in PostgreSQL`() {
        let text = Metrics().text((times: [("connection", 2.5), ("owner", 0)], deadlocks: 3))
        #expect(text.contains("nephos_postgresql_wait_seconds_total{for=\"connection\"} 2.5\n"))
        #expect(text.contains("nephos_postgresql_wait_seconds_total{for=\"owner\"} 0.0\n"))
        #expect(text.contains("nephos_postgresql_deadlocks_total 3\n"))
        #expect(text.contains("{stage=\"storage\"}") && !text.contains("{stage=\"commit\"}"))
        #expect(text.contains("nephos_ready 1\n"))
        #expect(Metrics().text(nil, isReady: false).contains("nephos_ready 0\n"))
    }
}

extension HTTPResponse {
    /// A header's value; a header that is there twice fails the test that asks for it.
    fileprivate subscript(_ name: String) -> String? {
        let values = headers.filter { $0.name == name }.map(\.value)
        if values.count > 1 { Issue.record("\(name) is there \(values.count) times") }
        return values.first
    }
}
