import Glibc

/// How many files the process may have open. A waiting poll is a connection, and a connection is an open file.
enum OpenFiles {
    /// What databases, logs and the notifications that go out need beside the connections.
    private static let reserve = 124
    /// More waiting clients than one machine has use for.
    private static let mostConnections = 10_000

    /// Raises the limit as far as the system lets the process (getrlimit(2)), for up to 10,000 connections.
    /// - Returns: how many connections fit.
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
