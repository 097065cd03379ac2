import Foundation
import NephosStorage
import NephosThreads
import Synchronization
import Testing

@testable import NephosServer

/// The server over TLS, with openssl and curl as its clients.
@Suite struct TLSServerTests {
    /// Runs `body` against a server with TLS, then stops it.
    private func withServer(
        _ options: HTTPServer.Options = .init(), handler: @escaping HTTPServer.Handler = echo,
        _ body: (HTTPServer, TestCertificate) async throws -> Void
    ) async throws {
        let certificate = try await TestCertificate()
        let server = try HTTPServer(
            [Self.socket()], credentials: certificate.credentials, options: options, handler: handler)
        do {
            try await body(server, certificate)
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    private static func socket() throws -> ListeningSocket {
        var socket = try ListeningSocket.listen(on: "127.0.0.1:0")
        socket.isTLS = true
        return socket
    }

    private static let echo: HTTPServer.Handler = { request in
        HTTPResponse(
            status: 200, headers: [HTTPHeader("X-Secure", "\(request.isSecure)")],
            body: request.body.isEmpty ? Array(request.target.utf8) : request.body)
    }

    private static func head(_ method: String, _ length: Int) -> String {
        "\(method) / HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(length)\r\n\r\n"
    }

    private static let large = (0..<10_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }

    // MARK: Clients

    @Test func `two clients are answered, and keep their connections`() async throws {
        try await withServer { server, certificate in
            let (first, second) = (try certificate.connect(to: server.port), try certificate.connect(to: server.port))
            for number in 1...5 {
                for (connection, name) in [(first, "a"), (second, "b")] {
                    let response = try await connection.request("POST", "/", body: "\(name)\(number)")
                    #expect(response.text == "\(name)\(number)")
                    #expect(response.headers["x-secure"] == "true")
                }
            }
        }
    }

    @Test(arguments: [["--tlsv1.3"], ["--tls-max", "1.2"]])
    func `curl gets an answer over HTTP 1.1, whatever it offers`(options: [String]) async throws {
        try await withServer { server, certificate in
            let answer = try await run(
                "/usr/bin/curl",
                ["-sS", "--cacert", certificate.certificateFile, "-w", " %{http_version} %{ssl_verify_result}"]
                    + options
                    + ["https://localhost:\(server.port)/hello"])
            #expect(answer.output == "/hello 1.1 0")
        }
    }

    @Test(arguments: ["-tls1_2", "-tls1_3"])
    func `a client agrees on the protocol`(version: String) async throws {
        try await withServer { server, certificate in
            let client = try await openssl([
                "s_client", version, "-alpn", "h2,http/1.1", "-CAfile", certificate.certificateFile, "-connect",
                "127.0.0.1:\(server.port)",
            ])
            #expect(client.output.contains("ALPN protocol: http/1.1"))
            #expect(client.output.contains("Verify return code: 0"))
        }
    }

    @Test(arguments: ["-tls1", "-tls1_1"])
    func `old versions are refused`(version: String) async throws {
        try await withServer { server, _ in
            let client = try await openssl([
                "s_client", version, "-cipher", "ALL:@SECLEVEL=0", "-connect", "127.0.0.1:\(server.port)",
            ])
            Self.expectRefused(client)
        }
    }

    /// The client has made its offer, and the server has ended the connection.
    private static func expectRefused(_ client: (status: Int32, output: String)) {
        #expect(client.status != 0)
        #expect(client.output.contains("Cipher is (NONE)"), "\(client.output)")
        #expect(!client.output.contains("written 0 bytes"), "\(client.output)")
    }

    @Test(arguments: ["AES128-SHA", "ECDHE-ECDSA-AES128-SHA", "AES128-GCM-SHA256"])
    func `ciphers without authentication or forward secrecy are refused`(cipher: String) async throws {
        try await withServer { server, _ in
            let client = try await openssl([
                "s_client", "-tls1_2", "-cipher", "\(cipher):@SECLEVEL=0", "-connect", "127.0.0.1:\(server.port)",
            ])
            Self.expectRefused(client)
        }
    }

    // MARK: Bodies

    @Test func `a large body goes both ways, and the connection stays open`() async throws {
        try await withServer { server, certificate in
            let connection = try certificate.connect(to: server.port)
            try await connection.send(Self.head("POST", Self.large.count))
            try await connection.send(Self.large)
            #expect(try await connection.response().body == Self.large)
            #expect(try await connection.request("POST", "/", body: "next").text == "next")
        }
    }

    @Test(arguments: ["-tls1_2", "-tls1_3"])
    func `an upload is read in pieces by a handler that waits`(version: String) async throws {
        var options = HTTPServer.Options()
        options.isTransfer = { _ in true }
        let handler: HTTPServer.Handler = { request in
            var received: [UInt8] = []
            while let piece = try? await request.stream?.next() {
                received += piece
                await Task.yield()
            }
            return HTTPResponse(status: 200, body: received)
        }
        try await withServer(options, handler: handler) { server, certificate in
            let connection = try certificate.connect(to: server.port, [version])
            for _ in 0..<2 {
                try await connection.send(Self.head("POST", Self.large.count))
                try await connection.send(Self.large)
                #expect(try await connection.response().body == Self.large)
            }
        }
    }

    @Test(arguments: [false, true])
    func `a file is sent in pieces`(isCached: Bool) async throws {
        let handler: HTTPServer.Handler = { _ in
            var response = HTTPResponse(status: 200)
            response.stream = ResponseStream(
                LargeFile(bytes: Self.large, isCached: isCached), offset: 0, length: Int64(Self.large.count))
            return response
        }
        try await withServer(handler: handler) { server, certificate in
            let connection = try certificate.connect(to: server.port)
            for _ in 0..<2 { #expect(try await connection.request("GET", "/").body == Self.large) }
        }
    }

    @Test func `a body that is announced as too large is refused before it is sent`() async throws {
        var options = HTTPServer.Options()
        options.bodyLimit = 10
        let handler: HTTPServer.Handler = { HTTPResponse(status: $0.bodyIsTooLarge ? 413 : 200) }
        try await withServer(options, handler: handler) { server, certificate in
            let connection = try certificate.connect(to: server.port)
            try await connection.send(
                "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n")
            #expect(try await connection.response().status == 413)
            #expect(try await connection.isClosedByServer())
        }
    }

    @Test func `a head that is too large is refused`() async throws {
        try await withServer { server, certificate in
            let connection = try certificate.connect(to: server.port)
            let refused = try await connection.request(
                "GET", "/", headers: ["X": String(repeating: "x", count: 15_000)])
            #expect(refused.status == 431 && refused.text.contains("serverErrorCode"))
            #expect(try await connection.isClosedByServer())
        }
    }

    // MARK: Waiting, slow and foreign clients

    @Test func `handlers that wait hold no thread`() async throws {
        let gate = Gate()
        let handler: HTTPServer.Handler = { request in
            if request.target == "/poll" { await gate.pass() }
            return await Self.echo(request)
        }
        try await withServer(handler: handler) { server, certificate in
            let polls = try (0..<12).map { _ in try certificate.connect(to: server.port) }
            for poll in polls { try await poll.send("GET /poll HTTP/1.1\r\nHost: x\r\n\r\n") }
            await gate.arrived(12)
            #expect(try await certificate.connect(to: server.port).request("GET", "/other").text == "/other")
            await gate.open()
            for poll in polls {
                #expect(try await poll.response().text == "/poll")
                #expect(try await poll.request("GET", "/next").text == "/next")
            }
        }
    }

    @Test(arguments: [[], [0x16], [0x16, 3, 1, 2, 0, 1]] as [[UInt8]])
    func `a client that does not finish its handshake is ended while others are served`(begin: [UInt8]) async throws {
        var options = HTTPServer.Options()
        options.arrivalTimeout = 1
        options.watchInterval = 0.05
        try await withServer(options) { server, certificate in
            let slow = try (0..<5).map { _ in try TestConnection(port: server.port) }
            for connection in slow { try await connection.send(begin) }
            #expect(try await certificate.connect(to: server.port).request("GET", "/a").text == "/a")
            for connection in slow { #expect(try await connection.isClosedByServer()) }
            #expect(try await certificate.connect(to: server.port).request("GET", "/b").text == "/b")
        }
    }

    @Test func `plain HTTP gets no HTTP answer, and others are served`() async throws {
        try await withServer { server, certificate in
            let plain = try TestConnection(port: server.port)
            try await plain.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            let answer = try await plain.rest()
            #expect(!String(decoding: answer, as: UTF8.self).contains("HTTP"))
            #expect(try await certificate.connect(to: server.port).request("GET", "/a").text == "/a")
        }
    }

    @Test func `clients that fail to agree are not logged`() async throws {
        let logged = Mutex<[String]>([])
        let certificate = try await TestCertificate()
        let server = try HTTPServer(
            [Self.socket()], credentials: certificate.credentials, log: { line in logged.withLock { $0.append(line) } },
            handler: Self.echo)
        for text in ["GET / HTTP/1.1\r\n\r\n", "\u{16}\u{3}\u{1}"] {
            let stranger = try TestConnection(port: server.port)
            try await stranger.send(text)
            stranger.abandon()
        }
        _ = try await openssl(["s_client", "-tls1_1", "-connect", "127.0.0.1:\(server.port)"])
        let distrustful = try await TestCertificate().connect(to: server.port)
        #expect(try await distrustful.isClosedByServer())
        _ = try await certificate.connect(to: server.port).request("GET", "/")
        await server.stop()
        #expect(logged.withLock(\.self) == [])
    }

    // MARK: The server

    @Test func `one server has sockets with TLS and without`() async throws {
        let certificate = try await TestCertificate()
        let sockets = [try ListeningSocket.listen(on: "127.0.0.1:0"), try Self.socket()]
        let server = try HTTPServer(sockets, credentials: certificate.credentials, handler: Self.echo)
        let plain = try TestConnection(port: sockets[0].port)
        let secure = try certificate.connect(to: sockets[1].port)
        #expect(try await plain.request("GET", "/").headers["x-secure"] == "false")
        #expect(try await secure.request("GET", "/").headers["x-secure"] == "true")
        await server.stop()
        #expect(try await plain.isClosedByServer())
        #expect(try await secure.isClosedByServer())
    }

    @Test func `addresses that the server gives out begin as the client's`() {
        var request = HTTPRequest(method: .get, target: "/", host: "cloud.example")
        #expect(DevelopmentAccess().baseURL(request) == "http://cloud.example")
        request.isSecure = true
        #expect(DevelopmentAccess().baseURL(request) == "https://cloud.example")
    }

    @Test func `a socket with TLS needs a certificate`() throws {
        #expect(throws: ListeningError.unusable("a socket with TLS needs a certificate and a key")) {
            try HTTPServer([Self.socket()], handler: Self.echo)
        }
    }

    @Test func `a new certificate is for new connections, and an old connection goes on`() async throws {
        try await withServer { server, first in
            let second = try await TestCertificate(commonName: "second")
            let old = try first.connect(to: server.port)
            #expect(try await old.request("GET", "/1").text == "/1")
            server.reload(try second.credentials)
            #expect(try await old.request("GET", "/2").text == "/2")
            #expect(try await second.connect(to: server.port).request("GET", "/3").text == "/3")
            // It trusts the old certificate only.
            #expect(try await first.connect(to: server.port).isClosedByServer())
            server.reload(try first.credentials)
            #expect(try await first.connect(to: server.port).request("GET", "/4").text == "/4")
            #expect(try await old.request("GET", "/5").text == "/5")
        }
    }

    @Test func `the server stops while connections are open, half sent or in their handshake`() async throws {
        var options = HTTPServer.Options()
        options.stopTimeout = 0.05
        try await withServer(options) { server, certificate in
            let idle = try certificate.connect(to: server.port)
            _ = try await idle.request("GET", "/")
            let half = try certificate.connect(to: server.port)
            _ = try await half.request("GET", "/")
            try await half.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\n\r\nhal")
            let silent = try TestConnection(port: server.port)
            await server.stop()
            for connection in [idle, half, silent] { #expect(try await connection.isClosedByServer()) }
        }
    }

    @Test func `accepted requests are finished before the server stops`() async throws {
        let gate = Gate()
        let handler: HTTPServer.Handler = { request in
            await gate.pass()
            return await Self.echo(request)
        }
        try await withServer(handler: handler) { server, certificate in
            let connection = try certificate.connect(to: server.port)
            try await connection.send(Self.head("POST", 8) + "accepted")
            await gate.arrived(1)
            async let stopped: Void = server.stop()
            await gate.open()
            #expect(try await connection.response().text == "accepted")
            await stopped
            #expect(try await connection.isClosedByServer())
        }
    }
}

/// A file, at hand or on a disk.
private final class LargeFile: StreamedBody {
    private let bytes: [UInt8]
    private let isCached: Bool

    init(bytes: [UInt8], isCached: Bool) {
        self.bytes = bytes
        self.isCached = isCached
    }

    func readNow(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int? {
        guard isCached else { return nil }
        buffer.copyBytes(from: bytes[Int(offset)..<Int(offset) + buffer.count])
        return buffer.count
    }

    func read(_ count: Int, at offset: Int64, _ completion: @escaping @Sendable (Result<[UInt8], any Error>) -> Void) {
        BlockingPool.disk.start { [bytes] in
            completion(.success(Array(bytes[Int(offset)..<Int(offset) + count])))
        } orFail: {
            completion(.failure($0))
        }
    }
}
