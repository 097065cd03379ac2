import Synchronization
import Testing

@testable import NephosServer

/// Bodies whose length is not known when they begin.
@Suite struct UnknownLengthTests {
    private struct Failure: Error {}

    /// Pieces, and then the end, or a failure.
    private final class Pieces: StreamedBody {
        private let rest: Mutex<[String]>
        private let fails: Bool

        init(_ pieces: [String], fails: Bool) {
            rest = Mutex(pieces)
            self.fails = fails
        }

        func readNow(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int? { nil }

        func read(
            _ count: Int, at offset: Int64, _ completion: @escaping @Sendable (Result<[UInt8], any Error>) -> Void
        ) {
            let next = rest.withLock { $0.isEmpty ? nil : $0.removeFirst() }
            if next == nil, fails { return completion(.failure(Failure())) }
            completion(.success(Array((next ?? "").utf8)))
        }
    }

    private func withServer(
        _ pieces: [String], fails: Bool, _ body: (TestConnection, AsyncStream<Bool>) async throws -> Void
    ) async throws {
        let (ends, end) = AsyncStream<Bool>.makeStream()
        let server = try HTTPServer(ListeningSocket.loopback(port: 0), options: HTTPServer.Options()) { _ in
            var response = HTTPResponse(status: 200)
            response.stream = ResponseStream(Pieces(pieces, fails: fails), offset: 0, length: nil)
            response.whenSent = { end.yield($0) }
            return response
        }
        let connection = try TestConnection(port: server.port)
        try await body(connection, ends)
        connection.abandon()
        await server.stop()
    }

    /// Reads chunks to the last one (RFC 9112 §7.1).
    private func chunks(_ connection: TestConnection) async throws -> String {
        var bytes: [UInt8] = []
        let end = Array("\r\n0\r\n\r\n".utf8)
        while !bytes.suffix(end.count).elementsEqual(end) { bytes += try await connection.bytes(1) }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test(arguments: [[], ["one"], ["one", String(repeating: "x", count: 70_000), "three"]])
    func `a body is sent in chunks, and ends with its last piece`(_ pieces: [String]) async throws {
        try await withServer(pieces, fails: false) { connection, ends in
            try await connection.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            let text = try await chunks(connection)
            #expect(text.lowercased().contains("transfer-encoding: chunked"))
            for piece in pieces where piece.count < 10 { #expect(text.contains(piece)) }
            #expect(text.count { $0 == "x" } == (pieces.count > 1 ? 70_000 : 0))
            for await isWhole in ends {
                #expect(isWhole)
                break
            }
        }
    }

    @Test func `a body that cannot be read on is cut off without its end`() async throws {
        try await withServer(["one"], fails: true) { connection, ends in
            try await connection.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            for await isWhole in ends {
                #expect(!isWhole)
                break
            }
            let text = String(decoding: try await connection.rest(), as: UTF8.self)
            #expect(text.contains("one") && !text.hasSuffix("\r\n0\r\n\r\n"), "\(text)")
        }
    }
}
