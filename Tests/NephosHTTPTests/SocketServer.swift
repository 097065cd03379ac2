import Foundation
import Glibc
import Synchronization

/// A server on the loopback that does what a test says with each connection, on a thread of its own.
final class SocketServer: Sendable {
    /// One connection, as the server has it.
    ///
    /// `@unchecked`: the thread of the connection has it alone.
    final class Connection: @unchecked Sendable {
        let socket: Int32
        /// Counted from 1.
        let number: Int
        private let server: SocketServer
        private var rest: [UInt8] = []

        init(_ socket: Int32, number: Int, _ server: SocketServer) {
            (self.socket, self.number, self.server) = (socket, number, server)
        }

        /// The head of the next request and the body that its length announces; nil at the end of the connection.
        func request() -> Request? {
            guard let head = read(until: "\r\n\r\n") else { return nil }
            let lines = String(decoding: head, as: UTF8.self).components(separatedBy: "\r\n")
            var request = Request(line: lines[0], connection: number)
            for line in lines.dropFirst() {
                let parts = line.split(separator: ":", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
                if parts.count == 2 { request.headers[parts[0].lowercased()] = parts[1] }
            }
            let length = request.headers["content-length"].flatMap { Int($0) } ?? 0
            guard let body = read(length) else { return nil }
            request.body = body
            if request.headers["transfer-encoding"] == "chunked" { request.body = chunks() }
            server.received.withLock { $0.append(request) }
            return request
        }

        /// A request whose body is left where it is.
        func requestHead() -> String? {
            read(until: "\r\n\r\n").map { String(decoding: $0, as: UTF8.self) }
        }

        func write(_ text: String) { write(Array(text.utf8)) }

        func write(_ bytes: [UInt8]) {
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                guard count > 0 else { return }
                rest = rest.dropFirst(count)
            }
        }

        func answer(_ status: Int = 200, _ body: String = "", headers: [String] = []) {
            let lines = ["HTTP/1.1 \(status) Status", "Content-Length: \(body.utf8.count)"] + headers
            write(lines.joined(separator: "\r\n") + "\r\n\r\n" + body)
        }

        /// Answers every request with 200 until the client closes the connection.
        func answerAll(_ body: String = "") {
            while request() != nil { answer(200, body) }
        }

        /// Waits until the client closes the connection.
        func waitForEnd() {
            while read(1) != nil {}
        }

        func read(_ count: Int) -> [UInt8]? {
            while rest.count < count { guard fill() else { return nil } }
            defer { rest.removeFirst(count) }
            return Array(rest.prefix(count))
        }

        private func read(until mark: String) -> [UInt8]? {
            let mark = Array(mark.utf8)
            while true {
                if let range = rest.firstRange(of: mark) {
                    defer { rest.removeFirst(range.upperBound) }
                    return Array(rest[..<range.lowerBound])
                }
                guard fill() else { return nil }
            }
        }

        private func chunks() -> [UInt8] {
            var body: [UInt8] = []
            while let line = read(until: "\r\n"), let count = Int(String(decoding: line, as: UTF8.self), radix: 16) {
                guard let chunk = read(count), read(2) != nil, count > 0 else { break }
                body += chunk
            }
            return body
        }

        private func fill() -> Bool {
            var buffer = [UInt8](repeating: 0, count: 65_536)
            let count = recv(socket, &buffer, buffer.count, 0)
            if count > 0 { rest += buffer[..<count] }
            return count > 0
        }
    }

    struct Request: Sendable {
        var line: String
        var connection: Int
        var headers: [String: String] = [:]
        var body: [UInt8] = []
    }

    let port: UInt16
    private let socket: Int32
    private let received = Mutex<[Request]>([])

    /// What `Connection.request` returned so far.
    var requests: [Request] { received.withLock { $0 } }
    var url: String { "http://127.0.0.1:\(port)" }

    struct Failure: Error {}

    /// A server on a Unix socket. Its `port` is 0.
    init(unixSocket path: String, _ serve: @escaping @Sendable (Connection) -> Void) throws {
        let socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        self.socket = socket
        port = 0
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0 && listen(socket, 64) == 0
            }
        }
        guard isBound else { throw Failure() }
        accept(serve)
    }

    init(_ serve: @escaping @Sendable (Connection) -> Void) throws {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        self.socket = socket
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(socket, address, length) == 0 && listen(socket, 64) == 0
                    && getsockname(socket, address, &length) == 0
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        guard isBound else { throw Failure() }
        accept(serve)
    }

    private func accept(_ serve: @escaping @Sendable (Connection) -> Void) {
        Thread.detachNewThread { [self] in
            var number = 0
            while true {
                let accepted = Glibc.accept(socket, nil, nil)
                guard accepted >= 0 else { break }
                number += 1
                let connection = Connection(accepted, number: number, self)
                Thread.detachNewThread {
                    serve(connection)
                    Glibc.close(connection.socket)
                }
            }
            Glibc.close(socket)
        }
    }

    /// Stops accepting.
    func close() { shutdown(socket, Int32(SHUT_RDWR)) }
}

/// Passes one value from a thread to a task.
final class Signal<Value: Sendable>: Sendable {
    private let stream: AsyncStream<Value>
    private let continuation: AsyncStream<Value>.Continuation

    init() { (stream, continuation) = AsyncStream.makeStream() }

    func send(_ value: Value) { continuation.yield(value) }

    func next() async -> Value? {
        for await value in stream { return value }
        return nil
    }
}
