import Foundation
import Glibc
import NephosHTTP
import Testing

/// Requests over a Unix socket.
@Suite struct UnixSocketTests {
    /// Calls `body` with a path in a directory that is removed afterwards. The path is short, as that of a socket has to
    /// be.
    private func withPath(_ body: (String) async throws -> Void) async throws {
        let directory = "/tmp/nephos-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try await body(directory + "/socket")
    }

    private func request(_ path: String, _ url: String = "http://localhost/status") -> HTTPRequest {
        var request = HTTPRequest(.get, url)
        request.unixSocket = path
        return request
    }

    @Test func `requests share a connection over the socket, apart from those to the same host`() async throws {
        try await withPath { path in
            let server = try SocketServer(unixSocket: path) { $0.answerAll("socket") }
            defer { server.close() }
            let other = try SocketServer { $0.answerAll("network") }
            defer { other.close() }
            let client = HTTPClient()
            for _ in 0..<3 {
                let answer = try await client.send(request(path, other.url + "/status"))
                #expect(String(decoding: answer.body, as: UTF8.self) == "socket")
                let plain = try await client.send(HTTPRequest(.get, other.url + "/status"))
                #expect(String(decoding: plain.body, as: UTF8.self) == "network")
            }
            #expect(server.requests.map(\.line) == Array(repeating: "GET /status HTTP/1.1", count: 3))
            #expect(Set(server.requests.map(\.connection)) == [1])
            let upload = HTTPRequest(.post, "http://localhost/x", body: .bytes(Array("body".utf8)))
            var posted = upload
            posted.unixSocket = path
            #expect(try await client.send(posted).status == 200)
            #expect(server.requests.last?.body == Array("body".utf8))
            #expect(server.requests.last?.headers["host"] == "localhost")
        }
    }

    @Test func `a redirect does not lead from the socket to a network`() async throws {
        try await withPath { path in
            let other = try SocketServer { $0.answerAll() }
            defer { other.close() }
            let target = other.url
            let server = try SocketServer(unixSocket: path) { connection in
                while let request = connection.request() {
                    let isFirst = request.line.hasPrefix("GET /status ")
                    connection.answer(302, headers: ["Location: \(isFirst ? "/second" : target)"])
                }
            }
            defer { server.close() }
            var request = request(path)
            request.redirectLimit = 5
            #expect(try await HTTPClient().send(request).status == 302)
            #expect(server.requests.map(\.line) == ["GET /status HTTP/1.1", "GET /second HTTP/1.1"])
            #expect(other.requests.isEmpty)
        }
    }

    // MARK: Failures

    private func reason(_ path: String, _ kind: HTTPFailure.Kind) async throws -> String {
        let failure = try await #require(throws: HTTPFailure.self) { try await HTTPClient().send(request(path)) }
        #expect(failure.kind == kind)
        return failure.reason
    }

    @Test func `a socket that is missing, or that no program listens on, is told in words`() async throws {
        try await withPath { path in
            #expect(try await reason(path, .cannotConnect) == "there is no socket \(path)")
            let server = try SocketServer(unixSocket: path) { $0.answerAll() }
            server.close()
            _ = try? await HTTPClient().send(request(path))
            #expect(try await reason(path, .cannotConnect) == "no program listens on the socket \(path)")
            let file = path + ".file"
            try Data().write(to: URL(fileURLWithPath: file))
            #expect(try await reason(file, .cannotConnect) == "no program listens on the socket \(file)")
            #expect(try await reason(file + "/socket", .cannotConnect) == "there is no socket \(file)/socket")
        }
    }

    @Test(.disabled(if: geteuid() == 0, "root may use every socket"))
    func `a socket of another user is told in words`() async throws {
        try await withPath { path in
            let server = try SocketServer(unixSocket: path) { $0.answerAll() }
            defer { server.close() }
            chmod(path, 0)
            #expect(try await reason(path, .cannotConnect) == "this user may not use the socket \(path)")
        }
    }

    @Test func `a path that is too long for a socket is refused`() async throws {
        let path = "/tmp/" + String(repeating: "x", count: 103)
        #expect(try await reason(path, .invalidRequest).contains("it has 108 bytes, of which 1 to 107 are allowed"))
        #expect(try await reason("", .invalidRequest).contains("it has 0 bytes"))
    }
}
