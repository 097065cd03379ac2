import Foundation
import Glibc
import NephosHTTP
import Synchronization
import Testing

/// Bodies that are read from files and streams, and written to them.
@Suite struct HTTPBodyTests {
    private let bytes = (0..<1_500_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }

    private func withFile<T>(_ content: [UInt8]? = nil, _ body: (String) async throws -> T) async throws -> T {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("nephos-http-\(UUID().uuidString)")
        if let content { try Data(content).write(to: url) }
        defer { try? FileManager.default.removeItem(at: url) }
        return try await body(url.path)
    }

    @Test func `a file is sent as it is`() async throws {
        let server = try SocketServer { $0.answerAll() }
        defer { server.close() }
        try await withFile(bytes) { path in
            let last = Mutex(HTTPProgress())
            var request = HTTPRequest(.put, server.url, body: .file(path: path))
            request.progress = { progress in last.withLock { $0 = progress } }
            let response = try await HTTPClient().send(request)
            #expect(response.status == 200)
            #expect(server.requests.first?.headers["content-length"] == "\(bytes.count)")
            #expect(server.requests.first?.body == bytes)
            #expect(last.withLock { $0 }.sent == Int64(bytes.count))
            #expect(last.withLock { $0 }.toSend == Int64(bytes.count))
        }
    }

    @Test func `a file that is missing ends the request`() async throws {
        let server = try SocketServer { $0.answerAll() }
        defer { server.close() }
        for path in ["/nowhere/at/all", "/tmp"] {
            await expectFailure(.body) {
                try await HTTPClient().send(HTTPRequest(.put, server.url, body: .file(path: path)))
            }
        }
        #expect(server.requests.isEmpty)
    }

    @Test(arguments: [true, false])
    func `chunks are sent in order, whether their length is known or not`(isLengthKnown: Bool) async throws {
        let server = try SocketServer { $0.answerAll("got it") }
        defer { server.close() }
        let parts = stride(from: 0, to: bytes.count, by: 70_001).map {
            Array(bytes[$0..<min($0 + 70_001, bytes.count)])
        }
        let next = Mutex(0)
        let request = HTTPRequest(
            .post, server.url,
            body: .chunks(length: isLengthKnown ? Int64(bytes.count) : nil) {
                // An empty chunk is not the end.
                let index = next.withLock { next in
                    defer { next += 1 }
                    return next
                }
                return index.isMultiple(of: 2) ? [] : index / 2 < parts.count ? parts[index / 2] : nil
            })
        let response = try await HTTPClient().send(request)
        #expect(String(decoding: response.body, as: UTF8.self) == "got it")
        #expect(server.requests.first?.body == bytes)
        #expect(server.requests.first?.headers["content-length"] == (isLengthKnown ? "\(bytes.count)" : nil))
    }

    @Test func `a server that does not read stops the source`() async throws {
        let asked = Mutex(0)
        let mayRead = DispatchSemaphore(value: 0)
        let chunk = [UInt8](repeating: 7, count: 1 << 20)
        let count = 64
        let server = try SocketServer { connection in
            guard connection.requestHead() != nil else { return }
            mayRead.wait()
            #expect(connection.read(count << 20) != nil)
            connection.answer(200)
        }
        defer { server.close() }
        let request = HTTPRequest(
            .put, server.url,
            body: .chunks(length: Int64(count << 20)) {
                let number = asked.withLock { asked in
                    asked += 1
                    return asked
                }
                return number <= count ? chunk : nil
            })
        let client = HTTPClient()
        async let response = client.send(request)
        // Until it is asked for nothing more: what the system takes is far less than all.
        var before = -1
        while before != asked.withLock({ $0 }) {
            before = asked.withLock { $0 }
            try await Task.sleep(for: .milliseconds(100))
        }
        #expect(asked.withLock { $0 } < count)
        mayRead.signal()
        #expect(try await response.status == 200)
    }

    @Test func `a receiver that waits stops the server`() async throws {
        let total = 64 << 20
        let blocked = Signal<Int>()
        let server = try SocketServer { connection in
            _ = connection.request()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(total)\r\n\r\n")
            let piece = [UInt8](repeating: 3, count: 1 << 16)
            var sent = 0
            var hasBlocked = false
            while sent < total {
                let count = send(
                    connection.socket, piece, min(piece.count, total - sent),
                    Int32(MSG_NOSIGNAL) | (hasBlocked ? 0 : Int32(MSG_DONTWAIT)))
                if count > 0 {
                    sent += count
                } else {
                    var polled = pollfd(fd: connection.socket, events: Int16(POLLOUT), revents: 0)
                    if poll(&polled, 1, 300) == 0 {
                        hasBlocked = true
                        blocked.send(sent)
                    }
                }
            }
            if !hasBlocked { blocked.send(total) }
            connection.waitForEnd()
        }
        defer { server.close() }
        let received = Mutex(0)
        var request = HTTPRequest(.get, server.url)
        // Time that the receiver takes is not the server's silence.
        request.silenceLimit = .milliseconds(250)
        request.destination = .chunks { bytes in
            if received.withLock({ $0 }) == 0 { #expect(await blocked.next() ?? total < total) }
            received.withLock { $0 += bytes.count }
        }
        #expect(try await HTTPClient().send(request).status == 200)
        #expect(received.withLock { $0 } == total)
    }

    @Test func `an answer is written to a file`() async throws {
        let bytes = bytes
        let server = try SocketServer { connection in
            while let request = connection.request() {
                if request.line.contains("missing") { connection.answer(404, "not there") }
                connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(bytes.count)\r\n\r\n")
                connection.write(request.line.contains("broken") ? Array(bytes.prefix(100_000)) : bytes)
                if request.line.contains("broken") { return }
            }
        }
        defer { server.close() }
        let client = HTTPClient()
        try await withFile { path in
            var request = HTTPRequest(.get, server.url)
            request.destination = .file(path: path)
            let response = try await client.send(request)
            #expect(response.body.isEmpty)
            #expect(try Array(Data(contentsOf: URL(fileURLWithPath: path))) == bytes)
        }
        try await withFile { path in
            var request = HTTPRequest(.get, server.url + "/broken")
            request.destination = .file(path: path)
            let broken = request
            await expectFailure(.connectionLost) { try await client.send(broken) }
            #expect(!FileManager.default.fileExists(atPath: path))
            request.url = server.url + "/missing"
            let response = try await client.send(request)
            #expect(response.status == 404)
            #expect(String(decoding: response.body, as: UTF8.self) == "not there")
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test func `only a prefix of a long answer is buffered`() async throws {
        let server = try SocketServer { $0.answerAll(String(repeating: "ab", count: 500_000)) }
        defer { server.close() }
        var request = HTTPRequest(.get, server.url)
        request.destination = .prefix(3)
        #expect(try await HTTPClient().send(request).body == Array("aba".utf8))
    }

    struct Refusal: Error {}

    @Test func `an error of a source or a receiver ends the request`() async throws {
        let server = try SocketServer { connection in
            while connection.request() != nil {
                connection.answer(200, String(repeating: "x", count: 1_000_000))
            }
        }
        defer { server.close() }
        let client = HTTPClient()
        var download = HTTPRequest(.get, server.url)
        download.destination = .chunks { _ in throw Refusal() }
        do {
            _ = try await client.send(download)
            Issue.record("expected a failure")
        } catch {
            #expect(error.kind == .body)
            #expect(error.underlying is Refusal)
        }
        let upload = HTTPRequest(.post, server.url, body: .chunks(length: 10) { throw Refusal() })
        do {
            _ = try await client.send(upload)
            Issue.record("expected a failure")
        } catch {
            #expect(error.kind == .body)
            #expect(error.underlying is Refusal)
        }
    }
}
