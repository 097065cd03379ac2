import Glibc

/// The limit on open files of the process. Each waiting poll has a connection, and each connection is an open file.
enum OpenFiles {
    /// The number of open files that are reserved for databases, logs and outgoing notifications.
    private static let reserve = 124
    /// The maximum number of connections per process for which the limit is raised: enough for the clients of one
    /// machine.
    private static let mostConnections = 10_000
    /// The number of open files without which a server does not start: with fewer it would answer few connections or none.
    private static let least = 256

    /// Raises the limit as far as the system allows (getrlimit(2)), for at most 10,000 connections. Ends the process if a
    /// server needs more.
    static func raiseLimit() {
        guard var limit else { return }
        let wanted = rlim_t(mostConnections + reserve)
        if limit.rlim_cur < wanted {
            limit.rlim_cur = min(wanted, limit.rlim_max)
            setrlimit(resource, &limit)
        }
        guard let count = self.limit?.rlim_cur, count < rlim_t(least) else { return }
        Console.fail(
            "this process may open \(count) files, and a server needs \(least). Raise the limit: of files (ulimit -n), "
                + "LimitNOFILE= of a service.")
    }

    /// The number of connections that fit within the limit.
    static var connections: UInt32 {
        guard let count = limit?.rlim_cur else { return 900 }
        return UInt32(max(1, min(Int(clamping: count) - reserve, mostConnections)))
    }

    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)

    private static var limit: rlimit? {
        var limit = rlimit()
        return getrlimit(resource, &limit) == 0 ? limit : nil
    }
}
