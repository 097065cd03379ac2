import Glibc

/// The process's limit of open files. A waiting poll is a connection, and a connection is an open file.
enum OpenFiles {
    /// Files for databases, logs and outgoing notifications, besides the connections.
    private static let reserve = 124
    /// The maximum number of waiting clients that one machine needs.
    private static let mostConnections = 10_000

    /// Raises the limit as far as the system allows (getrlimit(2)), for up to 10,000 connections.
    /// - Returns: the number of connections that fit.
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
