import NephosSQLite
import NephosService
import Testing

@testable import NephosServer

/// Bytes that a server holds for clients that do not read, or do not finish sending.
@Suite struct HeldBytesTests {
    private static let large = 20_000_000

    /// - Parameter slow: what a request for `/slow` waits for.
    private func withServer(
        patience: Double, slow: Gate = Gate(), _ body: (UInt16) async throws -> Void
    ) async throws {
        var options = HTTPServer.Options()
        let responder = Responder(NephosService(stores: MemoryStores()))
        options.heldLimit = 50_000_000
        options.heldPatience = patience
        options.account = { responder.account($0) }
        options.busy = { responder.busy($0) }
        options.stopTimeout = 1
        let server = try HTTPServer(ListeningSocket.loopback(port: 0), options: options) { request in
            let path = String(request.target.prefix { $0 != "?" })
            if path == "/slow" { await slow.pass() }
            let size = ["/small", "/slow"].contains(path) ? 10 : path == "/huge" ? 3 * Self.large : Self.large
            var response = HTTPResponse(status: 200, body: [UInt8](repeating: 0x78, count: size))
            response.isOutcome = path == "/modify"
            return response
        }
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(server.port))
        } catch {
            result = .failure(error)
        }
        await server.stop()
        try result.get()
    }

    /// A client that asks and reads no more than the beginning.
    private func stalled(_ port: UInt16, _ target: String = "/large") async throws -> TestConnection {
        let connection = try TestConnection(port: port)
        try await connection.send("GET \(target) HTTP/1.1\r\nHost: localhost\r\n\r\n")
        #expect(try await connection.bytes(12) == Array("HTTP/1.1 200".utf8))
        return connection
    }

    private func ask(_ port: UInt16, _ target: String) async throws -> TestResponse {
        let connection = try TestConnection(port: port)
        try await connection.send("GET \(target) HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return try await connection.response()
    }

    private func expectBusy(_ response: TestResponse) {
        #expect(response.status == 503)
        let text = String(decoding: response.body, as: UTF8.self)
        #expect(text.contains("TRY_AGAIN_LATER") && text.contains("retryAfter"), "\(text)")
    }

    @Test func `unread answers use up the budget for large answers, not for small ones and outcomes`() async throws {
        try await withServer(patience: 3600) { port in
            var first: TestConnection? = try await stalled(port)
            let second = try await stalled(port)
            expectBusy(try await ask(port, "/large"))
            #expect(try await ask(port, "/small").status == 200)
            #expect(try await ask(port, "/modify").body.count == Self.large)
            // A client that disconnects frees its budget.
            first?.abandon()
            first = nil
            var status = 503
            while status == 503 { status = try await ask(port, "/large").status }
            #expect(status == 200)
            second.abandon()
        }
    }

    @Test func `a connection that holds bytes for long is evicted if others need the budget`() async throws {
        try await withServer(patience: 0) { port in
            let first = try await stalled(port)
            let second = try await stalled(port)
            #expect(try await ask(port, "/large").body.count == Self.large)
            await #expect(throws: (any Error).self) { _ = try await first.bytes(Self.large) }
            // There was room enough without the second.
            #expect(try await second.bytes(Self.large).count == Self.large)
        }
    }

    @Test func `no connection is evicted if eviction cannot free enough`() async throws {
        try await withServer(patience: 0) { port in
            let first = try await stalled(port)
            let second = try await stalled(port)
            expectBusy(try await ask(port, "/huge"))
            for stalled in [first, second] { #expect(try await stalled.bytes(Self.large).count == Self.large) }
        }
    }

    @Test func `an outcome evicts other connections, so unread outcomes are bounded`() async throws {
        try await withServer(patience: 3600) { port in
            var stalled: [TestConnection] = []
            for _ in 0..<5 { stalled.append(try await self.stalled(port, "/modify")) }
            for (place, connection) in stalled.enumerated() {
                let count = try? await connection.bytes(Self.large).count
                // 50 MB have room for two.
                #expect((count != nil) == (place >= 3), "\(place)")
            }
        }
    }

    private static func signedIn(_ path: String, _ name: String) -> String { "\(path)?ckWebAuthToken=dev:\(name)" }

    @Test(arguments: [true, false])
    func `an account's unread answers are evicted at once for the next account`(isSignedIn: Bool) async throws {
        try await withServer(patience: 3600) { port in
            let first = try await stalled(port, Self.signedIn("/large", "ann"))
            let second = try await stalled(port, Self.signedIn("/large", "ann"))
            let ben = try await stalled(port, isSignedIn ? Self.signedIn("/large", "ben") : "/large")
            await #expect(throws: (any Error).self) { _ = try await first.bytes(Self.large) }
            // It would hold the most itself, so no other account is evicted.
            expectBusy(try await ask(port, Self.signedIn("/large", "ann")))
            for connection in [ben, second] { #expect(try await connection.bytes(Self.large).count == Self.large) }
        }
    }

    @Test func `an account without held bytes evicts an account that has held as much for long`() async throws {
        try await withServer(patience: 0) { port in
            let ann = try await stalled(port, Self.signedIn("/large", "ann"))
            let zoe = try await stalled(port, Self.signedIn("/large", "zoe"))
            #expect(try await ask(port, Self.signedIn("/large", "ben")).body.count == Self.large)
            await #expect(throws: (any Error).self) { _ = try await ann.bytes(Self.large) }
            #expect(try await zoe.bytes(Self.large).count == Self.large)
        }
    }

    @Test(arguments: [false, true])
    func `an account's unread outcomes evict its own, and an account that holds less keeps its own`(
        isOthersFirst: Bool
    ) async throws {
        try await withServer(patience: 0) { port in
            var ben: TestConnection?
            if isOthersFirst { ben = try await stalled(port, Self.signedIn("/large", "ben")) }
            var ann: [TestConnection] = []
            for _ in 0..<2 { ann.append(try await stalled(port, Self.signedIn("/modify", "ann"))) }
            if !isOthersFirst { ben = try await stalled(port, Self.signedIn("/large", "ben")) }
            for _ in 0..<3 { ann.append(try await stalled(port, Self.signedIn("/modify", "ann"))) }
            #expect(try await ben?.bytes(Self.large).count == Self.large)
            for connection in ann.dropLast() {
                await #expect(throws: (any Error).self) { _ = try await connection.bytes(Self.large) }
            }
        }
    }

    @Test func `an account's running requests leave budget for other accounts`() async throws {
        let gate = Gate()
        try await withServer(patience: 3600, slow: gate) { port in
            let body = [UInt8](repeating: 0x20, count: 9_000_000)
            func post(_ name: String) async throws -> TestConnection {
                let connection = try TestConnection(port: port)
                try await connection.send(
                    "POST \(Self.signedIn("/slow", name)) HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(body.count)\r\n\r\n"
                )
                try await connection.send(body)
                return connection
            }
            let ann = [try await post("ann"), try await post("ann")]
            await gate.arrived(2)
            expectBusy(try await post("ann").response())
            let ben = try await post("ben")
            await gate.arrived(3)
            #expect(try await ask(port, Self.signedIn("/large", "zoe")).body.count == Self.large)
            await gate.open()
            for connection in ann + [ben] { #expect(try await connection.response().status == 200) }
        }
    }

    private static func post(_ length: Int, _ headers: String = "") -> String {
        "POST / HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost:8000\r\nContent-Length: \(length)\r\n\(headers)\r\n"
    }

    /// Less than a request's body may have; there is room for three.
    private static let length = 16_650_000

    /// Clients that have sent a body but for its last byte.
    private func senders(_ count: Int, _ port: UInt16) async throws -> [TestConnection] {
        var senders: [TestConnection] = []
        for _ in 0..<count {
            let sender = try TestConnection(port: port)
            try await sender.send(Self.post(Self.length))
            try await sender.send([UInt8](repeating: 0x20, count: Self.length - 1))
            senders.append(sender)
        }
        return senders
    }

    @Test func `an announced length uses no budget, and received bytes do`() async throws {
        try await withServer(patience: 3600) { port in
            var announced: [TestConnection] = []
            for _ in 0..<20 {
                let connection = try TestConnection(port: port)
                try await connection.send(Self.post(Self.length, "Content-Encoding: gzip\r\n"))
                announced.append(connection)
            }
            #expect(try await ask(port, "/large").status == 200)
            let senders = try await senders(3, port)
            var status = 200
            while status == 200 { status = try await ask(port, "/large").status }
            #expect(status == 503)
            withExtendedLifetime((announced, senders)) {}
        }
    }

    @Test func `a body over the budget is refused before it is sent, or after it was`() async throws {
        try await withServer(patience: 3600) { port in
            let senders = try await senders(3, port)
            var isRefused = false
            while !isRefused {
                let late = try TestConnection(port: port)
                try await late.send(Self.post(Self.length, "Expect: 100-continue\r\n"))
                isRefused = try await late.bytes(12) == Array("HTTP/1.1 503".utf8)
                late.abandon()
            }
            let late = try TestConnection(port: port)
            try await late.send(Self.post(Self.length))
            try await late.send([UInt8](repeating: 0x20, count: Self.length))
            let refusal = try await late.response()
            expectBusy(refusal)
            // A page's script may read it.
            #expect(refusal.headers["access-control-allow-origin"] == "http://localhost:8000")
            #expect(refusal.headers["x-apple-request-uuid"] != nil)
            withExtendedLifetime(senders) {}
        }
    }

    @Test func `a running request is not evicted`() async throws {
        let gate = Gate()
        try await withServer(patience: 0, slow: gate) { port in
            let slow = try TestConnection(port: port)
            let body = [UInt8](repeating: 0x20, count: 9_000_000)
            try await slow.send("POST /slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(body.count)\r\n\r\n")
            try await slow.send(body)
            await gate.arrived(1)
            let first = try await stalled(port)
            let second = try await stalled(port)
            let third = try await stalled(port)
            await gate.open()
            #expect(try await slow.response().status == 200)
            withExtendedLifetime((first, second, third)) {}
        }
    }
}
