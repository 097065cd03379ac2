import NephosService
import Testing

@testable import NephosServer

/// Bytes that a server holds for clients which do not read, or do not finish sending.
@Suite struct HeldBytesTests {
    private static let large = 20_000_000

    private func withServer(patience: Double, _ body: (UInt16) async throws -> Void) async throws {
        var options = HTTPServer.Options()
        options.heldLimit = 50_000_000
        options.heldPatience = patience
        options.busy = Responder.busy
        options.stopTimeout = 1
        let server = try HTTPServer(ListeningSocket.loopback(port: 0), options: options) { request in
            let size = request.target == "/small" ? 10 : Self.large
            var response = HTTPResponse(status: 200, body: [UInt8](repeating: 0x78, count: size))
            response.isOutcome = request.target == "/modify"
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

    @Test
    func `answers that nobody reads leave no room for others that are large, but for small ones and for outcomes`()
        async throws
    {
        try await withServer(patience: 3600) { port in
            var first: TestConnection? = try await stalled(port)
            let second = try await stalled(port)
            expectBusy(try await ask(port, "/large"))
            #expect(try await ask(port, "/small").status == 200)
            #expect(try await ask(port, "/modify").body.count == Self.large)
            // A client that goes makes room.
            first?.abandon()
            first = nil
            var status = 503
            while status == 503 { status = try await ask(port, "/large").status }
            #expect(status == 200)
            second.abandon()
        }
    }

    @Test func `who holds bytes for long is ended where others need the room`() async throws {
        try await withServer(patience: 0) { port in
            let first = try await stalled(port)
            let second = try await stalled(port)
            #expect(try await ask(port, "/large").body.count == Self.large)
            await #expect(throws: (any Error).self) { _ = try await first.bytes(Self.large) }
            // There was room enough without the second.
            #expect(try await second.bytes(Self.large).count == Self.large)
        }
    }

    @Test(arguments: ["", "Content-Encoding: gzip\r\n"])
    func `a body for which there is no room is refused before it is sent`(_ header: String) async throws {
        try await withServer(patience: 3600) { port in
            let length = header.isEmpty ? 16_000_000 : 16_000
            let head =
                "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(length)\r\n\(header)Expect: 100-continue\r\n\r\n"
            var senders: [TestConnection] = []
            // A compressed body may become as long as any: 16 MiB.
            for _ in 0..<3 {
                let sender = try TestConnection(port: port)
                try await sender.send(head)
                #expect(try await sender.bytes(12) == Array("HTTP/1.1 100".utf8))
                senders.append(sender)
            }
            let late = try TestConnection(port: port)
            try await late.send(head)
            expectBusy(try await late.response())
        }
    }
}
