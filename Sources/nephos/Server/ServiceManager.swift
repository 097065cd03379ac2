import Glibc
import Synchronization

/// The service manager that started the process and waits for its state (sd_notify(3)): systemd, for a unit of
/// `Type=notify`.
///
/// Messages are best effort: a manager that does not read them must not keep the server from its work.
final class ServiceManager: Sendable {
    /// The manager of this process; nil for none.
    static let current = ServiceManager()

    /// The path of the manager's socket. One that begins with `@` is abstract, without a file.
    private let socket: String
    private let isReady = Atomic(false)

    private init?() {
        guard let socket = CloudAddress.variable("NOTIFY_SOCKET"), ["/", "@"].contains(socket.first) else { return nil }
        self.socket = socket
    }

    func noteReady() {
        isReady.store(true, ordering: .relaxed)
        send("READY=1")
    }

    /// Notes the reload before and after `body`. A server that is not ready yet does not become so by a reload.
    func reloading(_ body: () -> Void) {
        guard isReady.load(ordering: .relaxed) else { return body() }
        send("RELOADING=1\nMONOTONIC_USEC=\(Self.microseconds)")
        body()
        send("READY=1")
    }

    func noteStopping() { send("STOPPING=1") }

    private func send(_ text: String) {
        guard let (address, size) = address else { return }
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let message = Array(text.utf8)
        _ = withUnsafeBytes(of: address) { bytes in
            let pointer = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self)
            let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
            return sendto(descriptor, message, message.count, flags, pointer, size)
        }
    }

    /// The socket's address; nil for a path that is too long for one.
    private var address: (sockaddr_un, socklen_t)? {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var path = Array(socket.utf8)
        if path[0] == UInt8(ascii: "@") { path[0] = 0 }
        guard path.count < MemoryLayout.size(ofValue: address.sun_path) else { return nil }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        // The length delimits an abstract name; a path ends with a NUL.
        let isAbstract = path[0] == 0
        let size = (MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 0) + path.count + (isAbstract ? 0 : 1)
        return (address, socklen_t(size))
    }

    private static var microseconds: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }
}
