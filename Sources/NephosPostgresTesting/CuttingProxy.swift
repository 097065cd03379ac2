import Glibc
import NephosStorage
import NephosThreads
import Synchronization

/// Stands between clients and a server, passes bytes on, and loses some when a test wants it to.
package final class CuttingProxy: Sendable {
    /// Where a server listens.
    package enum Place: Sendable {
        case port(UInt16)
        case socket(path: String)
    }

    /// What becomes of a connection whose client sends something that a test waits for.
    package enum Fate: Sendable {
        case passes
        /// The server gets it; what it answers does not come back, and the connection ends.
        case losesAnswer
        /// The server does not get it, and the connection ends.
        case cut
    }

    private struct State {
        var fate: @Sendable ([UInt8]) -> Fate = { _ in .passes }
        var target: Place
        var isClosed = false
        var isStalled = false
        var stallsAtLargeAnswer = false
    }

    private let state: Mutex<State>
    private let listener: Int32
    private let path: String?

    /// - Parameter path: a Unix socket that it listens on; nil for a port of the loopback.
    package init(to target: Place, listensOn path: String? = nil) throws {
        state = Mutex(State(target: target))
        self.path = path
        listener = try Self.make(path.map(Place.socket) ?? .port(0), bind)
        guard listen(listener, 64) == 0 else { throw StorageError(system: errno, while: "listening") }
        try NativeThread.start("proxy") { [self] in accept() }
    }

    /// The port that it listens on.
    package var port: UInt16 {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = withUnsafeMutableBytes(of: &address) { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { getsockname(listener, $0.baseAddress, &length) }
        }
        return UInt16(bigEndian: address.sin_port)
    }

    /// Asks with all that a client sends at a time what becomes of it.
    package func decide(_ fate: @escaping @Sendable ([UInt8]) -> Fate) { state.withLock { $0.fate = fate } }

    /// Has connections that come from now on go elsewhere.
    package func lead(to target: Place) { state.withLock { $0.target = target } }

    /// Holds everything back, or lets it go on.
    package func stall(_ isStalled: Bool) { state.withLock { $0.isStalled = isStalled } }

    /// Holds everything back once a server sends an answer of 8 KB, PostgreSQL's buffer.
    package func stallAtLargeAnswer() { state.withLock { $0.stallsAtLargeAnswer = true } }

    package var isStalled: Bool { state.withLock { $0.isStalled } }

    package func close() {
        state.withLock { $0.isClosed = true }
        shutdown(listener, Int32(SHUT_RDWR))
        if let path { unlink(path) }
    }

    // MARK: Connections

    private func accept() {
        while true {
            let client = Glibc.accept(listener, nil, nil)
            if client < 0 && errno == EINTR { continue }
            if client < 0 || state.withLock({ $0.isClosed }) {
                if client >= 0 { Glibc.close(client) }
                Glibc.close(listener)
                return
            }
            do {
                let server = try Self.make(state.withLock { $0.target }, connect)
                try NativeThread.start("proxy") { [self] in pass(client, server) }
            } catch {
                Glibc.close(client)
            }
        }
    }

    private func pass(_ client: Int32, _ server: Int32) {
        defer {
            Glibc.close(client)
            Glibc.close(server)
        }
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        var losesAnswer = false
        while !state.withLock({ $0.isClosed }) {
            if state.withLock({ $0.isStalled }) {
                NativeThread.sleep(nanoseconds: 5_000_000)
                continue
            }
            var ends = [
                pollfd(fd: client, events: Int16(POLLIN), revents: 0),
                pollfd(fd: server, events: Int16(POLLIN), revents: 0),
            ]
            guard poll(&ends, 2, 50) > 0 else { continue }
            if ends[1].revents != 0 {
                let count = read(server, &buffer, buffer.count)
                state.withLock { state in
                    guard state.stallsAtLargeAnswer, count >= 8192 else { return }
                    (state.stallsAtLargeAnswer, state.isStalled) = (false, true)
                }
                // The server has done what it was asked, as it answers.
                if count <= 0 || losesAnswer || !Self.send(buffer[..<count], client) { return }
            }
            if ends[0].revents != 0 {
                let count = read(client, &buffer, buffer.count)
                guard count > 0 else { return }
                switch state.withLock({ $0.fate })(Array(buffer[..<count])) {
                case .passes: break
                case .losesAnswer: losesAnswer = true
                case .cut: return
                }
                if !Self.send(buffer[..<count], server) { return }
            }
        }
    }

    private static func send(_ bytes: ArraySlice<UInt8>, _ descriptor: Int32) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count <= 0 { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    // MARK: Sockets

    private static func make(
        _ place: Place, _ use: (Int32, UnsafePointer<sockaddr>?, socklen_t) -> Int32
    ) throws -> Int32 {
        let family: Int32
        if case .port = place { family = AF_INET } else { family = AF_UNIX }
        let descriptor = socket(family, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw StorageError(system: errno, while: "making a socket") }
        let status: Int32
        switch place {
        case .port(let port):
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
            status = withUnsafeBytes(of: &address) { bytes in
                use(descriptor, bytes.assumingMemoryBound(to: sockaddr.self).baseAddress, socklen_t(bytes.count))
            }
        case .socket(let path):
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
            status = withUnsafeBytes(of: &address) { bytes in
                use(descriptor, bytes.assumingMemoryBound(to: sockaddr.self).baseAddress, socklen_t(bytes.count))
            }
        }
        guard status == 0 else {
            let error = StorageError(system: errno, while: "connecting a proxy")
            Glibc.close(descriptor)
            throw error
        }
        return descriptor
    }
}
