import NephosPostgres

/// The options of a server's connections to PostgreSQL.
struct StorageOptions {
    static let options = [
        CommandOption(
            "--storage-connections", "N", "Connections of this server for requests, 1 to 1000. Default: 16"),
        CommandOption(
            "--storage-wait", "TIME", "How long a request may wait for a connection. Default: 5s"),
        CommandOption(
            "--storage-statement-time", "TIME", "How long PostgreSQL may work on one statement. Default: 30s"),
        CommandOption(
            "--storage-lock-time", "TIME", "How long a write may wait for another's lock. Default: 10s"),
    ]

    private(set) var connections = 16
    /// In milliseconds.
    private(set) var wait: Int64 = 5000
    private(set) var statement: Int64 = 30_000
    private(set) var lock: Int64 = 10_000

    init(_ arguments: Arguments) throws(UsageError) {
        for option in Self.options.map(\.name) where arguments.has(option) && !arguments.has("--storage") {
            throw UsageError("'\(option)' belongs to '--storage postgresql://…'.")
        }
        if arguments["--data"]?.contains("://") == true {
            throw UsageError("'--data' takes a directory; the address of a database goes with '--storage'.")
        }
        if let text = arguments["--storage-connections"] {
            guard let count = Int(text), (1...1000).contains(count) else {
                throw UsageError("'\(text)' is out of range: '--storage-connections' takes a number from 1 to 1000.")
            }
            connections = count
        }
        wait = try Self.time("--storage-wait", arguments) ?? wait
        statement = try Self.time("--storage-statement-time", arguments) ?? statement
        lock = try Self.time("--storage-lock-time", arguments) ?? lock
    }

    private static func time(_ option: String, _ arguments: Arguments) throws(UsageError) -> Int64? {
        guard let text = arguments[option] else { return nil }
        let time = try DurationArgument.parse(text, option: option)
        guard (1000...600_000).contains(time) else {
            throw UsageError("'\(text)' is out of range: '\(option)' takes 1s to 10m.")
        }
        return time
    }

    func postgres(acceptsUnsafeServer: Bool, _ log: @escaping @Sendable (String) -> Void) -> PostgresOptions {
        PostgresOptions(
            connections: connections, waitNanoseconds: wait * 1_000_000, statementMilliseconds: Int(statement),
            lockMilliseconds: Int(lock), acceptsUnsafeServer: acceptsUnsafeServer, log: log)
    }
}
