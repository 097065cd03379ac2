import Foundation
import Glibc
import NephosHTTP
import Synchronization
import Testing

/// Answers of requests, and the reuse of connections.
@Suite struct HTTPClientTests {
    @Test func `requests share a connection that stays open`() async throws {
        let server = try SocketServer { $0.answerAll("hello") }
        defer { server.close() }
        let client = HTTPClient()
        for _ in 0..<3 {
            let response = try await client.send(HTTPRequest(.get, server.url + "/a?b=c"))
            #expect(response.status == 200)
            #expect(String(decoding: response.body, as: UTF8.self) == "hello")
        }
        #expect(server.requests.map(\.line) == Array(repeating: "GET /a?b=c HTTP/1.1", count: 3))
        #expect(Set(server.requests.map(\.connection)) == [1])
    }

    @Test func `requests beyond the connection limit wait`() async throws {
        let server = try SocketServer { $0.answerAll("x") }
        defer { server.close() }
        let client = HTTPClient(requestsAtOnce: 20, connectionsPerHost: 2)
        let url = server.url
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<100 {
                group.addTask { try await client.send(HTTPRequest(.post, url, body: .bytes([1]))).status }
            }
            for try await status in group { #expect(status == 200) }
        }
        #expect(server.requests.count == 100)
        #expect(Set(server.requests.map(\.connection)).count <= 2)
    }

    @Test(arguments: HTTPRequest.Method.allCases)
    func `every method is sent by its name`(method: HTTPRequest.Method) async throws {
        let server = try SocketServer { $0.answerAll() }
        defer { server.close() }
        let client = HTTPClient()
        let headers = [("X-One", "1"), ("Content-Type", "text/plain")]
        _ = try await client.send(HTTPRequest(method, server.url, headers: headers))
        let first = try #require(server.requests.first)
        #expect(first.line == "\(method.rawValue) / HTTP/1.1")
        #expect(first.headers["x-one"] == "1")
        guard method != .get && method != .head else { return }
        _ = try await client.send(HTTPRequest(method, server.url, body: .bytes(Array("body".utf8))))
        let second = try #require(server.requests.last)
        #expect(second.line == "\(method.rawValue) / HTTP/1.1")
        #expect(second.headers["content-length"] == "4")
        #expect(second.headers["content-type"] == nil)
        #expect(second.headers["expect"] == nil)
        #expect(String(decoding: second.body, as: UTF8.self) == "body")
    }

    @Test func `headers of an answer are found by name without regard to case`() async throws {
        let server = try SocketServer { connection in
            _ = connection.request()
            connection.write("HTTP/1.1 103 Early Hints\r\nRetry-After: 1\r\n\r\n")
            connection.answer(503, "later", headers: ["retry-after:  17 ", "X: \t a b\t"])
        }
        defer { server.close() }
        let response = try await HTTPClient().send(HTTPRequest(.get, server.url))
        #expect(response.status == 503)
        #expect(response.header("Retry-After") == "17")
        #expect(response.retryAfter(now: 0) == .seconds(17))
        #expect(response.header("x") == "a b")
        #expect(response.header("missing") == nil)
    }

    @Test func `a date in Retry-After is counted from now`() {
        var response = HTTPResponse(status: 503)
        response.headerLines = Array("Retry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\n".utf8)
        #expect(response.retryAfter(now: 784_111_770_000) == .seconds(7))
        #expect(response.retryAfter(now: 784_111_790_000) == .zero)
    }

    // MARK: Never twice

    /// A server that closes the second request's connection, where a request reused it, without an answer.
    private func breakingServer() throws -> SocketServer {
        try SocketServer { connection in
            guard connection.request() != nil else { return }
            connection.answer(200, "first")
            guard connection.number == 1 else { return connection.answerAll("again") }
            _ = connection.request()
        }
    }

    @Test func `a save is not sent again when its connection breaks`() async throws {
        let server = try breakingServer()
        defer { server.close() }
        let client = HTTPClient()
        _ = try await client.send(HTTPRequest(.get, server.url))
        await expectFailure(.connectionLost) {
            try await client.send(HTTPRequest(.post, server.url, body: .bytes([1, 2, 3])))
        }
        #expect(server.requests.count == 2)
    }

    @Test func `an idempotent request is sent again when its connection breaks`() async throws {
        let server = try breakingServer()
        defer { server.close() }
        let client = HTTPClient()
        _ = try await client.send(HTTPRequest(.get, server.url))
        let request = HTTPRequest(.post, server.url, body: .bytes([1, 2, 3]), isIdempotent: true)
        #expect(try await client.send(request).status == 200)
        #expect(server.requests.map(\.connection) == [1, 1, 2])
    }

    @Test func `an empty save reuses no connection that may be closed`() async throws {
        let server = try breakingServer()
        defer { server.close() }
        let client = HTTPClient()
        _ = try await client.send(HTTPRequest(.get, server.url))
        #expect(try await client.send(HTTPRequest(.post, server.url)).status == 200)
        #expect(server.requests.map(\.connection) == [1, 2])
    }

    // MARK: Failures

    @Test func `each failure has its kind`() async throws {
        let client = HTTPClient()
        await expectFailure(.hostNotFound) { try await client.send(HTTPRequest(.get, "http://nowhere.invalid/")) }
        await expectFailure(.invalidRequest) { try await client.send(HTTPRequest(.get, "ftp://127.0.0.1/")) }
        await expectFailure(.invalidRequest) { try await client.send(HTTPRequest(.get, "http://")) }
        let server = try SocketServer { connection in
            _ = connection.request()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
        }
        await expectFailure(.connectionLost) { try await client.send(HTTPRequest(.get, server.url)) }
        let injected = HTTPRequest(.get, server.url, headers: [("X", "a\r\nEvil: 1")])
        await expectFailure(.invalidRequest) { try await client.send(injected) }
        let closed = server.url
        server.close()
        _ = try? await HTTPClient().send(HTTPRequest(.get, closed))
        await expectFailure(.cannotConnect) { try await HTTPClient().send(HTTPRequest(.get, closed)) }
    }

    @Test func `a silent server times out after the limit, a slow one after its own`() async throws {
        let server = try SocketServer { connection in
            guard let request = connection.request() else { return }
            guard request.line.contains("drip") else { return connection.waitForEnd() }
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
            while send(connection.socket, "x", 1, Int32(MSG_NOSIGNAL)) == 1 { usleep(5_000) }
        }
        defer { server.close() }
        let client = HTTPClient()
        var silent = HTTPRequest(.get, server.url)
        silent.silenceLimit = .milliseconds(50)
        await expectFailure(.silence) { try await client.send(silent) }
        var slow = HTTPRequest(.get, server.url + "/drip")
        slow.silenceLimit = .seconds(60)
        slow.totalLimit = .milliseconds(100)
        await expectFailure(.totalTime) { try await client.send(slow) }
    }

    @Test func `cancelling the task closes the connection`() async throws {
        let arrived = Signal<Void>()
        let ended = Signal<Void>()
        let server = try SocketServer { connection in
            _ = connection.request()
            arrived.send(())
            connection.waitForEnd()
            ended.send(())
        }
        defer { server.close() }
        let url = server.url
        let client = HTTPClient()
        let task = Task { try await client.send(HTTPRequest(.get, url)) }
        await arrived.next()
        task.cancel()
        await expectFailure(.cancelled) { try await task.value }
        await ended.next()
    }

    @Test func `a task that is cancelled already sends nothing`() async throws {
        let server = try SocketServer { $0.answerAll() }
        defer { server.close() }
        let url = server.url
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await HTTPClient().send(HTTPRequest(.get, url))
        }
        await expectFailure(.cancelled) { try await task.value }
    }

    @Test func `a closed client fails current and later requests`() async throws {
        let arrived = Signal<Void>()
        let server = try SocketServer { connection in
            _ = connection.request()
            arrived.send(())
            connection.waitForEnd()
        }
        defer { server.close() }
        let url = server.url
        let client = HTTPClient()
        let task = Task { try await client.send(HTTPRequest(.get, url)) }
        await arrived.next()
        client.close()
        await expectFailure(.closed) { try await task.value }
        await expectFailure(.closed) { try await client.send(HTTPRequest(.get, url)) }
    }

    // MARK: Redirects

    @Test func `a redirect to another server drops the account's header`() async throws {
        let other = try SocketServer { $0.answerAll("there") }
        defer { other.close() }
        let target = other.url
        let server = try SocketServer { connection in
            while let request = connection.request() {
                let isFirst = request.line.hasPrefix("GET / ")
                connection.answer(302, headers: ["Location: \(isFirst ? "/second" : target + "/third")"])
            }
        }
        defer { server.close() }
        var request = HTTPRequest(
            .get, server.url,
            headers: [("Authorization", "Bearer s"), ("X-Api-Key", "s"), ("Cookie", "s=s"), ("Accept", "a/b")])
        request.redirectLimit = 5
        let response = try await HTTPClient().send(request)
        #expect(String(decoding: response.body, as: UTF8.self) == "there")
        #expect(server.requests.map { $0.headers["authorization"] } == ["Bearer s", "Bearer s"])
        let last = try #require(other.requests.first)
        #expect(last.line == "GET /third HTTP/1.1")
        #expect(last.headers["accept"] == "a/b")
        for name in ["authorization", "x-api-key", "cookie"] { #expect(last.headers[name] == nil) }
    }

    @Test func `a redirect answers a save, and so does one redirect too many`() async throws {
        let server = try SocketServer { connection in
            while connection.request() != nil { connection.answer(307, headers: ["Location: /again"]) }
        }
        defer { server.close() }
        let client = HTTPClient()
        var save = HTTPRequest(.post, server.url, body: .bytes([1]))
        save.redirectLimit = 5
        #expect(try await client.send(save).status == 307)
        #expect(server.requests.count == 1)
        var get = HTTPRequest(.get, server.url)
        get.redirectLimit = 3
        #expect(try await client.send(get).status == 307)
        #expect(server.requests.count == 5)
    }
}

/// Expects an `HTTPFailure` of this kind.
func expectFailure<T>(
    _ kind: HTTPFailure.Kind, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () async throws -> T
) async {
    do {
        _ = try await body()
        Issue.record("expected a failure", sourceLocation: sourceLocation)
    } catch {
        #expect((error as? HTTPFailure)?.kind == kind, "\(error)", sourceLocation: sourceLocation)
    }
}
