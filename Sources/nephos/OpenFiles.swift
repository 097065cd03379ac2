import Glibc

/// The limit on open files of the process. Each waiting poll has a connection, and each connection is an open file.
enum OpenFiles {
    /// The number of open files that are reserved for databases, logs and outgoing notifications.
    private static let reserve = 124
    /// The maximum number of connections per process for which the limit is raised: enough for the clients of one
    /// machine.
    private static let mostConnections = 10_000

    /// Raises the limit as far as the system allows (getrlimit(2)), for at most 10,000 connections.
    /// - Returns: the number of connections that fit within the limit.
    static func makeRoomForConnections() -> UInt32 {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 900 }
        let wanted = rlim_t(mostConnections + reserve)
        if limit.rlim_cur < wanted {
            var raised = limit
            raised.rlim_cur = min(wanted, limit.rlim_max)
            if setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised) == 0 { limit = raised }
        }
        return UInt32(max(1, min(Int(clamping: limit.rlim_cur) - reserve, mostConnections)))
    }
}
