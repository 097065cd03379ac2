import Foundation
import Glibc
import Synchronization

@testable import NephosServer

struct TestFailure: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}

struct TestResponse {
    var status: Int
    /// Names in lower case.
    var headers: [String: String]
    /// The values of the headers `Set-Cookie`.
    var cookies: [String] = []
    var body: [UInt8]

    var text: String { String(decoding: body, as: UTF8.self) }
}

/// A TCP connection to a server on this machine. It sends exactly the bytes it is given, and what blocks runs off the
/// cooperative pool, which the server needs.
final class TestConnection: Sendable {
    let port: UInt16
    private let descriptor: Int32
    private let carrier: Process?
    private let received = Mutex<[UInt8]>([])

    init(port: UInt16, family: ListeningSocket.Family = .ipv4) throws {
        self.port = port
        carrier = nil
        descriptor = socket(family == .ipv4 ? AF_INET : AF_INET6, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
        // A bound on the wait of a test that fails.
        var patience = timeval(tv_sec: 120, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        let result: Int32
        switch family {
        case .ipv4:
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            result = Self.connect(descriptor, address)
        case .ipv6:
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            address.sin6_addr = in6addr_loopback
            result = Self.connect(descriptor, address)
        case .unix: throw TestFailure("a Unix socket has no port")
        }
        if result != 0 {
            // `deinit` closes the descriptor.
            throw TestFailure("connect: \(String(cString: strerror(errno)))")
        }
    }

    /// Connects to a Unix socket.
    init(path: String) throws {
        port = 0
        carrier = nil
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        if Self.connect(descriptor, address) != 0 {
            // `deinit` closes the descriptor.
            throw TestFailure("connect: \(String(cString: strerror(errno)))")
        }
    }

    /// A connection whose bytes another program carries, until the connection goes.
    init(port: UInt16, descriptor: Int32, carrier: Process) {
        self.port = port
        self.descriptor = descriptor
        self.carrier = carrier
    }

    private static func connect<Address>(_ descriptor: Int32, _ address: Address) -> Int32 {
        withUnsafeBytes(of: address) {
            Glibc.connect(descriptor, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t($0.count))
        }
    }

    deinit {
        carrier?.terminate()
        Glibc.close(descriptor)
    }

    /// Closes the sending side, as a client that aborts; the server sees the end of the stream.
    func abandon() {
        var linger = Glibc.linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
        shutdown(descriptor, Int32(SHUT_RDWR))
    }

    /// Sends no more, but goes on reading.
    func finishSending() {
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Sends a byte every `interval` milliseconds until the server ends the connection.
    func drip(_ text: String, every interval: UInt32) async throws {
        try await offThePool { [self] in
            let bytes = Array(text.utf8)
            var next = 0
            while Glibc.send(descriptor, [bytes[next % bytes.count]], 1, Int32(MSG_NOSIGNAL)) == 1 {
                usleep(interval * 1000)
                next += 1
            }
        }
    }

    func send(_ text: String) async throws { try await send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) async throws {
        try await offThePool { [self] in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes {
                    Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard count > 0 else { throw TestFailure("send: \(String(cString: strerror(errno)))") }
                rest = rest.dropFirst(count)
            }
        }
    }

    /// Sends a request with `Host` and, for a body, `Content-Length`, and waits for its answer.
    /// - Parameter takesAdditions: whether it asks for what answers have beyond Apple's keys.
    func request(
        _ method: String, _ target: String, headers: [String: String] = [:], body: String? = nil,
        takesAdditions: Bool = true
    ) async throws -> TestResponse {
        var head = "\(method) \(target) HTTP/1.1\r\n"
        if headers["Host"] == nil { head += "Host: 127.0.0.1\r\n" }
        if takesAdditions { head += "Nephos-Additions: 1\r\n" }
        for (name, value) in headers { head += "\(name): \(value)\r\n" }
        if let body { head += "Content-Length: \(body.utf8.count)\r\n" }
        try await send(head + "\r\n" + (body ?? ""))
        return try await response(hasBody: method != "HEAD")
    }

    /// The next response on the connection.
    func response(hasBody: Bool = true) async throws -> TestResponse {
        try await offThePool { [self] in
            let head = try take { bytes in
                bytes.firstRange(of: Array("\r\n\r\n".utf8)).map { $0.upperBound }
            }
            var lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n")
            let statusLine = lines.removeFirst().split(separator: " ")
            guard statusLine.count > 1, let status = Int(statusLine[1]) else { throw TestFailure("no status line") }
            var headers: [String: String] = [:]
            var cookies: [String] = []
            for line in lines {
                let parts = line.split(separator: ":", maxSplits: 1)
                let (name, value) = (parts[0].lowercased(), String(parts[1].drop { $0 == " " }))
                headers[name] = value
                if name == "set-cookie" { cookies.append(value) }
            }
            let length = hasBody ? headers["content-length"].flatMap { Int($0) } ?? 0 : 0
            let body = try take { $0.count >= length ? length : nil }
            return TestResponse(status: status, headers: headers, cookies: cookies, body: body)
        }
    }

    /// The next bytes, whatever they are part of.
    func bytes(_ count: Int) async throws -> [UInt8] {
        try await offThePool { [self] in try take { $0.count >= count ? count : nil } }
    }

    /// All that the server still sends until it closes the connection.
    func rest() async throws -> [UInt8] {
        try await offThePool { [self] in
            while let more = try read() { received.withLock { $0 += more } }
            return received.withLock { $0 }
        }
    }

    /// Whether the server closes the connection without sending anything more.
    func isClosedByServer() async throws -> Bool {
        try await offThePool { [self] in
            if received.withLock({ !$0.isEmpty }) { return false }
            return try read() == nil
        }
    }

    /// Reads until `length` knows how many of the bytes to take, and takes them.
    private func take(_ length: ([UInt8]) -> Int?) throws -> [UInt8] {
        while true {
            let taken: [UInt8]? = received.withLock { bytes in
                guard let count = length(bytes) else { return nil }
                defer { bytes.removeFirst(count) }
                return Array(bytes.prefix(count))
            }
            if let taken { return taken }
            guard let more = try read() else { throw TestFailure("the server closed the connection") }
            received.withLock { $0 += more }
        }
    }

    /// Nil at the end of the stream.
    private func read() throws -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 65536)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        if count == 0 || (count < 0 && errno == ECONNRESET) { return nil }
        guard count > 0 else { throw TestFailure("recv: \(String(cString: strerror(errno)))") }
        return Array(buffer.prefix(count))
    }
}

/// Runs what blocks on a thread of its own. Dispatch's are shared with the cooperative pool.
func offThePool<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
    }
}

/// A gate that blocks and counts its waiters until it is opened.
actor Gate {
    private var isOpen = false
    private var held: [CheckedContinuation<Void, Never>] = []
    private var arrivals = 0
    private var watchers: [(count: Int, CheckedContinuation<Void, Never>)] = []

    func pass() async {
        arrivals += 1
        for watcher in watchers where watcher.count <= arrivals { watcher.1.resume() }
        watchers.removeAll { $0.count <= arrivals }
        if !isOpen { await withCheckedContinuation { held.append($0) } }
    }

    /// Returns when `count` have arrived at the gate.
    func arrived(_ count: Int) async {
        if arrivals < count { await withCheckedContinuation { watchers.append((count, $0)) } }
    }

    func open() {
        isOpen = true
        for waiting in held { waiting.resume() }
        held = []
    }
}
