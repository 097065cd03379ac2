import NephosService
import NephosWire
import Testing

@testable import NephosServer

/// Callers who are refused before their long bodies are read.
@Suite struct AdmissionTests {
    typealias Event = ExchangeState.Event

    // MARK: Decisions

    private func expect(_ steps: [(Event, ExchangeState.Action)], limit: Int = 500_000) {
        var state = ExchangeState(bodyLimit: limit, droppedBodyLimit: 1_000_000, admitsBodies: true)
        for (number, (event, action)) in steps.enumerated() {
            #expect(state.handle(event) == action, "step \(number), \(event)")
        }
    }

    private func head(_ length: Int? = nil, expects: Bool = false, chunked: Bool = false) -> Event {
        .head(.init(contentLength: length, expectsContinue: expects, isChunked: chunked))
    }

    @Test func `a short body is not asked about, and a long one or one of unknown length is`() {
        expect([(head(), .buffer(0))])
        expect([(head(HeldBytes.counted - 1), .buffer(HeldBytes.counted - 1))])
        expect([(head(HeldBytes.counted), .admit)])
        expect([(head(chunked: true), .admit)])
        expect([(head(2_000_000), .admit)])
    }

    @Test func `a short body that is to be inflated is asked about`() {
        expect([(.head(.init(contentLength: 100, isEncoded: true)), .admit)])
        expect([(.head(.init(contentLength: 0, isEncoded: true)), .buffer(0))])
    }

    @Test func `an admitted body is buffered up to the limit that the decision gave`() {
        let length = 100_000
        expect([
            (head(length), .admit), (.suspended, .wait), (.called(bytes: 0), .proceed),
            (.admitted(bodyLimit: length), .checkRoom), (.room(true), .buffer(length)),
        ])
        expect([
            (head(length), .admit), (.admitted(bodyLimit: length - 1), .wait), (.called(bytes: length), .discard),
            (.called(bytes: 0), .run), (.answered, .answer(.handler)),
        ])
        expect([
            (head(chunked: true), .admit), (.admitted(bodyLimit: 10), .buffer(0)), (.called(bytes: 10), .append),
            (.called(bytes: 1), .discard), (.called(bytes: 0), .run),
        ])
    }

    @Test func `of a refused request no byte is buffered`() {
        expect([
            (head(100_000), .admit), (.suspended, .wait), (.called(bytes: 0), .proceed), (.answered, .drain(100_000)),
            (.called(bytes: 100_000), .wait), (.called(bytes: 0), .answer(.handler)),
        ])
        expect([(head(100_000, expects: true), .admit), (.answered, .answer(.handler))])
        expect([(head(1_000_001), .admit), (.answered, .answer(.handler))])
        expect([(head(100_000), .admit), (.stopping, .answer(.unfinished))])
    }

    // MARK: A production server

    private func withServer(
        rates: RequestRates = RequestRates(), _ body: (ProductionServer, UInt16) async throws -> Void
    ) async throws {
        let production = try await ProductionServer(rates: rates)
        var options = HTTPServer.Options()
        options.admission = { await production.responder.admission($0) }
        let server = try HTTPServer(ListeningSocket.loopback(port: 0), options: options) {
            await production.responder.respond(to: $0)
        }
        let result: Result<Void, any Error>
        do { result = .success(try await body(production, server.port)) } catch { result = .failure(error) }
        await server.stop()
        await production.close()
        try result.get()
    }

    private static let database = "/database/1/\(ProductionServer.container)/development/private"

    /// The head of a request whose body does not follow: an answer shows that it was not waited for.
    private func ask(
        _ port: UInt16, _ target: String, token: String? = nil, length: Int, extra: String = ""
    ) async throws -> TestResponse {
        let connection = try TestConnection(port: port)
        let authorization = token.map { "Authorization: Bearer \($0)\r\n" } ?? ""
        try await connection.send(
            "POST \(target) HTTP/1.1\r\nHost: cloud.example.org\r\n\(authorization)\(extra)"
                + "Expect: 100-continue\r\nContent-Length: \(length)\r\n\r\n")
        return try await connection.response()
    }

    @Test func `a caller without valid credentials is answered before the body`() async throws {
        try await withServer { production, port in
            let apiToken = try await production.makeAPIToken()
            let query = "?ckAPIToken=\(apiToken)"
            let length = 1 << 20
            let ended = try await production.session(of: "bob", apiToken)
            try await production.installation.signOut(ended)
            for (target, token, status) in [
                ("\(Self.database)/records/modify", nil, 401),
                ("\(Self.database)/records/modify?ckAPIToken=\(String(repeating: "0", count: 64))", nil, 401),
                ("\(Self.database)/records/modify\(query)", ended, 421),
                ("\(Self.database)/records/modify\(query)", "nephos_program_x", 421),
                ("/nephos/1/installation/accounts/create", nil, 401),
                ("/nephos/1/installation/accounts/create", ended, 421),
                ("/nephos/1/\(ProductionServer.container)/development/schema/import", nil, 401),
            ] as [(String, String?, Int)] {
                let answer = try await ask(port, target, token: token, length: length)
                #expect(answer.status == status, "\(target): \(answer.text)")
                #expect(answer.headers["x-apple-request-uuid"] != nil)
            }
            // A signature by an unknown key.
            let signed =
                "X-Apple-CloudKit-Request-KeyID: \(String(repeating: "0", count: 64))\r\n"
                + "X-Apple-CloudKit-Request-ISO8601Date: 2026-01-01T00:00:00Z\r\n"
                + "X-Apple-CloudKit-Request-SignatureV1: AAAA\r\n"
            let target = "/database/1/\(ProductionServer.container)/development/public/records/modify"
            #expect(try await ask(port, target, length: length, extra: signed).status == 401)
        }
    }

    @Test func `callers who are refused before their bodies count for the rate of their address`() async throws {
        var rates = RequestRates.off
        rates.perAddress = 1
        let production = try await ProductionServer(rates: rates)
        var request = HTTPRequest(method: .post, target: "\(Self.database)/records/modify", host: "cloud.example.org")
        request.client = [10, 0, 0, 8]
        var statuses: [Int: Int] = [:]
        for _ in 0..<40 {
            guard case .refused(let answer) = await production.responder.admission(request) else { continue }
            statuses[answer.status, default: 0] += 1
        }
        // Ten at once, as for every request, and one a second.
        #expect(statuses[401, default: 0] >= 10 && statuses[429, default: 0] >= 10, "\(statuses)")
        await production.close()
    }

    @Test func `the bodies of two accounts are read, and without an account short ones`() async throws {
        try await withServer { production, port in
            let apiToken = try await production.makeAPIToken()
            let query = "?ckAPIToken=\(apiToken)"
            func send(_ path: String, token: String?, size: Int, chunked: Bool = false) async throws -> TestResponse {
                let connection = try TestConnection(port: port)
                let authorization = token.map { "Authorization: Bearer \($0)\r\n" } ?? ""
                let zones = #"{"zones":[{"zoneName":"_defaultZone"}]"#
                let body = zones + String(repeating: " ", count: size - zones.utf8.count - 1) + "}"
                let (length, content) =
                    chunked
                    ? ("Transfer-Encoding: chunked", "\(String(size, radix: 16))\r\n\(body)\r\n0\r\n\r\n")
                    : ("Content-Length: \(size)", body)
                try await connection.send(
                    "POST \(path)\(query) HTTP/1.1\r\nHost: cloud.example.org\r\n\(authorization)\(length)\r\n\r\n\(content)"
                )
                return try await connection.response()
            }
            for account in ["bob", "lovelace"] {
                let token = try await production.session(of: account, apiToken)
                for size in [100, 64 * 1024, 1 << 20] {
                    for chunked in [false, true] {
                        let answer = try await send(
                            "\(Self.database)/zones/lookup", token: token, size: size, chunked: chunked)
                        #expect(answer.status == 200, "\(account) \(size): \(answer.text)")
                    }
                }
            }
            let database = "/database/1/\(ProductionServer.container)/development/public/zones/lookup"
            for (size, status) in [(Limits.anonymousBodySize, 200), (Limits.anonymousBodySize + 1, 413)] {
                for chunked in [false, true] {
                    let answer = try await send(database, token: nil, size: size, chunked: chunked)
                    #expect(answer.status == status, "\(size) \(chunked): \(answer.text)")
                }
            }
        }
    }

    @Test func `a page's form is read up to its own limit`() async throws {
        try await withServer { _, port in
            // The body is announced and dropped, not buffered.
            let connection = try TestConnection(port: port)
            let size = 1 << 20
            try await connection.send(
                "POST /sign-in HTTP/1.1\r\nHost: cloud.example.org\r\nContent-Length: \(size)\r\n\r\n"
                    + String(repeating: "x", count: size))
            #expect(try await connection.response().status == 413)
        }
    }
}
