import CMicroHTTPD
import Glibc

/// The file to which a Unix socket is bound.
struct UnixSocketFile: Sendable {
    let path: String
    /// The identity of the file: another server may meanwhile have put its own in this place.
    private let device: dev_t
    private let number: ino_t

    init?(_ path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        self.path = path
        device = status.st_dev
        number = status.st_ino
    }

    /// Removes the file if it is still the same.
    func remove() {
        guard let present = UnixSocketFile(path), present.device == device, present.number == number else { return }
        unlink(path)
    }
}

extension ListeningSocket {
    /// The maximum length of a Unix socket's path in bytes.
    static let longestPath = 107

    /// Checks that a Unix socket can be made at a path, and changes nothing. A socket there may be a server's.
    /// - Throws: `ListeningError` `.unusable`.
    package static func check(path: String) throws(ListeningError) {
        try checkLength(path)
        var status = stat()
        if lstat(path, &status) == 0, status.st_mode & S_IFMT != S_IFSOCK { throw isNoSocket(path) }
        let end = path.lastIndex(of: "/")
        let directory = end.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        guard access(directory, W_OK | X_OK) == 0 else { throw cannotBeMade(path) }
    }

    private static func checkLength(_ path: String) throws(ListeningError) {
        guard !path.isEmpty, !path.utf8.contains(0) else { throw .unusable("a socket's path has at least one byte") }
        guard path.utf8.count <= longestPath else {
            throw .unusable("the socket's path \(path) is longer than \(longestPath) bytes: choose a shorter one")
        }
    }

    /// Listens on a Unix socket, to which only the server's user and root may connect. The file that a dead server left
    /// is replaced.
    /// - Throws: `ListeningError` `.unusable` if the path is too long or not usable, or a server listens there.
    package static func unix(path: String) throws(ListeningError) -> ListeningSocket {
        try checkLength(path)
        let descriptor = try socket(.unix)
        do throws(ListeningError) {
            // The file gets its mode from the socket, so it never has another one.
            fchmod(descriptor, 0o600)
            if try !bind(descriptor, path) {
                try removeStale(path)
                guard try bind(descriptor, path) else { throw isListening(path) }
            }
            guard Glibc.listen(descriptor, SOMAXCONN) == 0 else {
                throw .system(call: "listen", message: String(cString: strerror(errno)))
            }
            return ListeningSocket(descriptor, .unix, file: UnixSocketFile(path))
        } catch {
            Glibc.close(descriptor)
            throw error
        }
    }

    private static func isListening(_ path: String) -> ListeningError {
        .unusable("another server listens on \(path): stop it, or choose another path")
    }

    private static func isNoSocket(_ path: String) -> ListeningError {
        .unusable("\(path) exists and is not a socket: remove it, or choose another path")
    }

    private static func cannotBeMade(_ path: String) -> ListeningError {
        .unusable("no socket can be made at \(path): \(String(cString: strerror(errno)))")
    }

    /// - Returns: false if there is a file at the path.
    private static func bind(_ descriptor: Int32, _ path: String) throws(ListeningError) -> Bool {
        if withAddress(path, { Glibc.bind(descriptor, $0, $1) }) == 0 { return true }
        if errno == EADDRINUSE { return false }
        throw cannotBeMade(path)
    }

    /// Removes the file of a server that has ended without removing it.
    private static func removeStale(_ path: String) throws(ListeningError) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw isNoSocket(path)
        }
        let probe = try socket(.unix)
        defer { Glibc.close(probe) }
        if withAddress(path, { connect(probe, $0, $1) }) == 0 { throw isListening(path) }
        switch errno {
        case ECONNREFUSED: unlink(path)
        case ENOENT: break
        // The socket is full of connections that wait.
        case EAGAIN: throw isListening(path)
        case let code:
            throw .unusable("\(path) exists, and cannot be connected to: \(String(cString: strerror(code)))")
        }
    }

    private static func withAddress<Result>(
        _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(longestPath)) }
        return withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
