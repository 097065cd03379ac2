import Glibc
import Synchronization
import Testing

@testable import NephosServer

/// The bridge to libmicrohttpd, over sockets, with handlers that are independent of CloudKit.
@Suite struct HTTPServerTests {
    /// Runs `body` against a server, then stops it.
    private func withServer(
        _ options: HTTPServer.Options = .init(), handler: @escaping HTTPServer.Handler,
        _ body: (HTTPServer) async throws -> Void
    ) async throws {
        let server = try HTTPServer(ListeningSocket.loopback(port: 0), options: options, handler: handler)
        do {
            try await body(server)
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    /// Answers with what arrived.
    private static let echo: HTTPServer.Handler = { request in
        let summary = "\(request.method) \(request.target) \(request.bodyIsTooLarge ? "too large" : "")"
        return HTTPResponse(
            status: 200, headers: [HTTPHeader("X-Summary", summary)], body: request.body)
    }

    private static func small(_ bodyLimit: Int, dropped: Int = 1 << 20) -> HTTPServer.Options {
        var options = HTTPServer.Options()
        options.bodyLimit = bodyLimit
        options.droppedBodyLimit = dropped
        return options
    }

    @Test func `the handler gets method, target, host, origin and body`() async throws {
        let handler: HTTPServer.Handler = { request in
            let parts = [
                request.method.rawValue, request.target, request.host ?? "-", request.origin ?? "-",
                String(decoding: request.body, as: UTF8.self),
            ]
            return HTTPResponse(status: 202, body: Array(parts.joined(separator: "|").utf8))
        }
        try await withServer(handler: handler) { server in
            let connection = try TestConnection(port: server.port)
            let response = try await connection.request(
                "POST", "/a%2Fb/c?d=%41+e", headers: ["Host": "localhost:1", "Origin": "http://localhost:3000"],
                body: "{}")
            #expect(response.status == 202)
            #expect(response.text == "POST|/a%2Fb/c?d=%41+e|localhost:1|http://localhost:3000|{}")
        }
    }

    @Test func `the connection stays open for the next request`() async throws {
        try await withServer(handler: Self.echo) { server in
            let connection = try TestConnection(port: server.port)
            for number in 1...5 {
                let response = try await connection.request("POST", "/\(number)", body: "body \(number)")
                #expect(response.text == "body \(number)")
                #expect(response.headers["connection"]?.lowercased() != "close")
            }
        }
    }

    @Test func `the connection stays open after a delayed answer`() async throws {
        let handler: HTTPServer.Handler = { request in
            await Task.yield()
            return await Self.echo(request)
        }
        try await withServer(handler: handler) { server in
            let connection = try TestConnection(port: server.port)
            for number in 1...50 {
                #expect(try await connection.request("POST", "/", body: "\(number)").text == "\(number)")
            }
        }
    }

    @Test func `pipelined requests are answered in their order`() async throws {
        try await withServer(handler: Self.echo) { server in
            let connection = try TestConnection(port: server.port)
            let requests = (1...3).map { "POST /\($0) HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n\($0)" }
            try await connection.send(requests.joined())
            for number in 1...3 { #expect(try await connection.response().text == "\(number)") }
        }
    }

    @Test func `a chunked body is joined`() async throws {
        try await withServer(handler: Self.echo) { server in
            let connection = try TestConnection(port: server.port)
            try await connection.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
            try await connection.send("5\r\nhello\r\n")
            try await connection.send("7;name=value\r\n, world\r\n0\r\n\r\n")
            #expect(try await connection.response().text == "hello, world")
        }
    }

    @Test func `a body of many pieces is joined`() async throws {
        let body = (0..<40_000).map { "\($0)," }.joined()
        try await withServer(handler: Self.echo) { server in
            let connection = try TestConnection(port: server.port)
            #expect(try await connection.request("POST", "/", body: body).text == body)
        }
    }

    @Test func `a large answer is sent whole`() async throws {
        let body = (0..<5_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        try await withServer(handler: { _ in HTTPResponse(status: 200, body: body) }) { server in
            let connection = try TestConnection(port: server.port)
            #expect(try await connection.request("GET", "/").body == body)
        }
    }

    @Test func `HEAD gets no body`() async throws {
        try await withServer(handler: { _ in HTTPResponse(status: 200, body: [1, 2, 3]) }) { server in
            let connection = try TestConnection(port: server.port)
            let response = try await connection.request("HEAD", "/")
            #expect(response.headers["content-length"] == "3")
            #expect(try await connection.request("GET", "/").body == [1, 2, 3])
        }
    }

    @Test func `a client that expects 100-continue gets it`() async throws {
        try await withServer(handler: Self.echo) { server in
            let connection = try TestConnection(port: server.port)
            try await connection.send(
                "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
            #expect(try await connection.response(hasBody: false).status == 100)
            try await connection.send("ok")
            #expect(try await connection.response().text == "ok")
        }
    }

    // MARK: - Bodies over the limit

    @Test func `a body of exactly the limit is accepted`() async throws {
        try await withServer(Self.small(10), handler: Self.echo) { server in
            let connection = try TestConnection(port: server.port)
            #expect(try await connection.request("POST", "/", body: "0123456789").text == "0123456789")
        }
    }

    @Test func `a body over the limit is discarded and the connection stays open`() async throws {
        try await withServer(Self.small(10), handler: Self.echo) { server in
            let connection = try TestConnection(port: server.port)
            let body = String(repeating: "x", count: 100_000)
            let refused = try await connection.request("POST", "/", body: body)
            #expect(refused.headers["x-summary"] == "post / too large")
            #expect(refused.body.isEmpty)
            #expect(try await connection.request("POST", "/", body: "next").text == "next")
        }
    }

    @Test func `a chunked body over the limit is discarded`() async throws {
        try await withServer(Self.small(10), handler: Self.echo) { server in
            let connection = try TestConnection(port: server.port)
            try await connection.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
            try await connection.send("8\r\n01234567\r\n8\r\n01234567\r\n0\r\n\r\n")
            let refused = try await connection.response()
            #expect(refused.headers["x-summary"] == "post / too large")
            #expect(refused.body.isEmpty)
        }
    }

    @Test func `a body that is too long to discard is answered at once`() async throws {
        try await withServer(Self.small(10, dropped: 1000), handler: Self.echo) { server in
            let connection = try TestConnection(port: server.port)
            try await connection.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n")
            #expect(try await connection.response().headers["x-summary"] == "post / too large")
            #expect(try await connection.isClosedByServer())
        }
    }

    @Test(arguments: [false, true])
    func `a body that is announced as too long is answered before it is sent`(isLong: Bool) async throws {
        try await withServer(Self.small(10, dropped: isLong ? 5 : 1000), handler: Self.echo) { server in
            let connection = try TestConnection(port: server.port)
            try await connection.send(
                "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n")
            #expect(try await connection.response().headers["x-summary"] == "post / too large")
            #expect(try await connection.isClosedByServer())
        }
    }

    @Test(arguments: ["", "0\r\n\r\n"])
    func `a body that turns out to be too long to discard ends its connection`(end: String) async throws {
        let handled = Mutex(0)
        let handler: HTTPServer.Handler = { request in
            handled.withLock { $0 += 1 }
            return await Self.echo(request)
        }
        try await withServer(Self.small(10, dropped: 5000), handler: handler) { server in
            let connection = try TestConnection(port: server.port)
            try await connection.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
            let piece = "1000\r\n\(String(repeating: "x", count: 4096))\r\n"
            try await connection.send(piece + piece + end)
            #expect(try await connection.isClosedByServer())
        }
        #expect(handled.withLock(\.self) == 0)
    }

    // MARK: - Many clients, and clients that leave

    @Test func `handlers of many connections run concurrently`() async throws {
        let gate = Gate()
        let handler: HTTPServer.Handler = { request in
            await gate.pass()
            return await Self.echo(request)
        }
        try await withServer(handler: handler) { server in
            try await withThrowingTaskGroup(of: String.self) { group in
                for number in 0..<40 {
                    group.addTask {
                        let connection = try TestConnection(port: server.port)
                        return try await connection.request("POST", "/", body: "\(number)").text
                    }
                }
                await gate.arrived(40)
                await gate.open()
                var answers: Set<String> = []
                for try await answer in group { answers.insert(answer) }
                #expect(answers == Set((0..<40).map(String.init)))
            }
        }
    }

    @Test func `a handler resumes as often as it suspends`() async throws {
        let counter = Counter()
        let handler: HTTPServer.Handler = { request in
            for _ in 0..<50 { await Task.yield() }
            async let first = counter.next()
            async let second = counter.next()
            _ = await (first, second)
            return await Self.echo(request)
        }
        try await withServer(handler: handler) { server in
            try await withThrowingTaskGroup(of: String.self) { group in
                for number in 0..<20 {
                    group.addTask {
                        let connection = try TestConnection(port: server.port)
                        return try await connection.request("POST", "/", body: "\(number)").text
                    }
                }
                var answers: Set<String> = []
                for try await answer in group { answers.insert(answer) }
                #expect(answers == Set((0..<20).map(String.init)))
            }
        }
        #expect(await counter.next() == 41)
    }

    @Test func `the server survives clients that disconnect before their answer`() async throws {
        let gate = Gate()
        let handler: HTTPServer.Handler = { request in
            if request.target == "/slow" { await gate.pass() }
            return await Self.echo(request)
        }
        try await withServer(handler: handler) { server in
            for number in 1...10 {
                let leaver = try TestConnection(port: server.port)
                try await leaver.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
                await gate.arrived(number)
                leaver.abandon()
            }
            await gate.open()
            let connection = try TestConnection(port: server.port)
            #expect(try await connection.request("POST", "/", body: "alive").text == "alive")
        }
    }

    @Test(arguments: [
        "", "GE", "GET / HTTP/1.1\r\nHos", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf",
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe",
    ])
    func `the server survives a client that disconnects mid-request`(_ beginning: String) async throws {
        let handled = Mutex(0)
        let handler: HTTPServer.Handler = { request in
            handled.withLock { $0 += 1 }
            return await Self.echo(request)
        }
        try await withServer(handler: handler) { server in
            let leaver = try TestConnection(port: server.port)
            try await leaver.send(beginning)
            leaver.abandon()
            let connection = try TestConnection(port: server.port)
            #expect(try await connection.request("POST", "/", body: "alive").text == "alive")
        }
        #expect(handled.withLock(\.self) == 1)
    }

    @Test(arguments: [
        "nonsense\r\n\r\n", "GET\r\n\r\n", "\u{0}\u{1}\u{2}\r\n\r\n", "GET / HTTP/9.9\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: many\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ])
    func `the server survives a request that is not HTTP`(_ text: String) async throws {
        try await withServer(handler: Self.echo) { server in
            let stranger = try TestConnection(port: server.port)
            try await stranger.send(text)
            stranger.abandon()
            let connection = try TestConnection(port: server.port)
            #expect(try await connection.request("POST", "/", body: "alive").text == "alive")
        }
    }

    @Test func `clients that disconnect or send nonsense are not logged`() async throws {
        let logged = Mutex<[String]>([])
        let server = try HTTPServer(
            ListeningSocket.loopback(port: 0), log: { line in logged.withLock { $0.append(line) } }, handler: Self.echo)
        for text in ["GET / HTT", "nonsense\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: many\r\n\r\n"] {
            let stranger = try TestConnection(port: server.port)
            try await stranger.send(text)
            stranger.abandon()
        }
        _ = try await TestConnection(port: server.port).request("GET", "/")
        await server.stop()
        #expect(logged.withLock(\.self) == [])
    }

    @Test func `connections opened at once are spread over the server's threads`() async throws {
        var options = HTTPServer.Options()
        options.threads = 4
        let threads = Mutex<[UInt: Int]>([:])
        let handler: HTTPServer.Handler = { request in
            // It starts on its connection's thread.
            threads.withLock { $0[UInt(pthread_self()), default: 0] += 1 }
            return await Self.echo(request)
        }
        try await withServer(options, handler: handler) { server in
            let connections = try (0..<12).map { _ in try TestConnection(port: server.port) }
            for connection in connections { _ = try await connection.request("GET", "/") }
        }
        #expect(threads.withLock { $0.values.sorted() } == [3, 3, 3, 3])
    }

    // MARK: - Stopping

    @Test func `accepted requests are finished before the server stops`() async throws {
        let gate = Gate()
        let server = try HTTPServer(lastingSockets()) { request in
            await gate.pass()
            return await Self.echo(request)
        }
        let connection = try TestConnection(port: server.port)
        try await connection.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\n\r\naccepted")
        await gate.arrived(1)
        async let stopped: Void = server.stop()
        await gate.open()
        #expect(try await connection.response().text == "accepted")
        await stopped
        #expect(try await connection.isClosedByServer())
        #expect(throws: TestFailure.self) { try TestConnection(port: server.port) }
    }

    @Test func `the server stops while connections are idle and requests are half sent`() async throws {
        var options = HTTPServer.Options()
        options.stopTimeout = 0.05
        let server = try HTTPServer(ListeningSocket.loopback(port: 0), options: options, handler: Self.echo)
        let idle = try TestConnection(port: server.port)
        _ = try await idle.request("GET", "/")
        let half = try TestConnection(port: server.port)
        try await half.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\n\r\nhal")
        await server.stop()
        #expect(try await idle.isClosedByServer())
        #expect(try await half.isClosedByServer())
    }

    @Test func `clients that send requests during a stop are all answered, to the last request`() async throws {
        var options = HTTPServer.Options()
        options.stopQuiet = 0.5
        options.stopTimeout = 30
        let gate = Gate()
        let server = try HTTPServer(ListeningSocket.loopback(port: 0), options: options) { request in
            await gate.pass()
            return await Self.echo(request)
        }
        await gate.open()
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    let connection = try TestConnection(port: server.port)
                    while true {
                        // Throws where the connection ends without an answer.
                        let response = try await connection.request("POST", "/", body: "x")
                        if response.headers["connection"]?.lowercased() == "close" { return response.text == "x" }
                    }
                }
            }
            await gate.arrived(100)
            await server.stop()
            for try await isWhole in group { #expect(isWhole) }
        }
    }

    @Test func `a request after the deadline is answered that the server stops`() async throws {
        let gate = Gate()
        var options = HTTPServer.Options()
        options.stopTimeout = 0.01
        options.unfinished = HTTPResponse(status: 503, body: Array("stopping".utf8))
        options.unfinishedTimeout = 30
        let server = try HTTPServer(ListeningSocket.loopback(port: 0), options: options) { request in
            if request.target == "/held" { await gate.pass() }
            return await Self.echo(request)
        }
        let (held, half) = (try TestConnection(port: server.port), try TestConnection(port: server.port))
        try await half.send("POST /late HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nla")
        try await held.send("GET /held HTTP/1.1\r\nHost: x\r\n\r\n")
        await gate.arrived(1)
        async let stopped: Void = server.stop()
        #expect(try await held.response().text == "stopping")
        try await half.send("te")
        let late = try await half.response()
        #expect(late.status == 503 && late.text == "stopping")
        await gate.open()
        await stopped
    }

    @Test func `the server stops once`() async throws {
        let server = try HTTPServer(lastingSockets(), handler: Self.echo)
        await server.stop()
        await server.stop()
        let next = try HTTPServer(ListeningSocket.loopback(port: server.port), handler: Self.echo)
        await next.stop()
    }

    @Test func `a port that is in use is refused`() throws {
        let sockets = try ListeningSocket.loopback(port: 0)
        defer { for socket in sockets { socket.close() } }
        let port = sockets[0].port
        #expect(throws: ListeningError.portInUse(port)) { try ListeningSocket.loopback(port: port) }
    }

    @Test func `the server listens on both loopback addresses if there are two`() async throws {
        let sockets = try lastingSockets()
        #expect(sockets.map(\.family) == [.ipv4] || sockets.map(\.family) == [.ipv4, .ipv6])
        #expect(Set(sockets.map(\.port)).count == 1)
        let families = sockets.map(\.family)
        let server = try HTTPServer(sockets, handler: Self.echo)
        for family in families {
            let connection = try TestConnection(port: server.port, family: family)
            #expect(try await connection.request("POST", "/", body: "\(family)").text == "\(family)")
        }
        await server.stop()
        for family in families {
            #expect(throws: TestFailure.self) { try TestConnection(port: server.port, family: family) }
        }
    }
}

/// Sockets at a port below those that the system hands out: once they are closed, nothing else that runs beside the test
/// has it.
private func lastingSockets() throws -> [ListeningSocket] {
    while true {
        do throws(ListeningError) {
            return try ListeningSocket.loopback(port: UInt16.random(in: 20_000..<32_000))
        } catch {
            guard case .portInUse = error else { throw error }
        }
    }
}

private actor Counter {
    private var value = 0

    func next() -> Int {
        value += 1
        return value
    }
}
