import Glibc
package import NephosStorage

/// How stores in PostgreSQL are kept.
package struct PostgresOptions: Sendable {
    /// The most connections at the same time, of all stores together.
    package var connections: Int
    /// How long a read or write may wait for a connection, in nanoseconds.
    package var waitNanoseconds: Int64
    /// How many reads and writes may wait for one.
    package var waiting = 2000
    /// How long connecting, one statement, and waiting for a lock may take, in milliseconds.
    package var connectMilliseconds: Int
    package var statementMilliseconds: Int
    package var lockMilliseconds: Int
    /// How long a write may keep its owners' lines without sending a statement, in milliseconds: a server that stops while
    /// it has a line costs the owner no more. A writer that waits for the line ends the session of one that stops amid
    /// a statement.
    package var idleMilliseconds = 3000
    /// After how long without a signal a server looks for what another left, in milliseconds.
    package var lookMilliseconds = 5000
    /// Whether a server is accepted that may lose what was answered, or that others could listen to.
    package var acceptsUnsafeServer: Bool
    /// What the schemas' names begin with.
    package var prefix: String
    /// Called before each way to the server that a write goes, on its thread: a test lets others go first there.
    package var beforeStatement: (@Sendable () -> Void)?
    /// This machine's clock, in milliseconds since 1970; a test gives another.
    package var clock: @Sendable () -> Int64 = {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
    /// Takes lines for the operator.
    package var log: @Sendable (String) -> Void
    /// The tables' history; a test gives its own.
    package var migrations = Migration.all

    package init(
        connections: Int = 16, waitNanoseconds: Int64 = 5_000_000_000, connectMilliseconds: Int = 5000,
        statementMilliseconds: Int = 30_000, lockMilliseconds: Int = 10_000, acceptsUnsafeServer: Bool = false,
        prefix: String = "nephos", log: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.connections = max(1, connections)
        self.waitNanoseconds = waitNanoseconds
        self.connectMilliseconds = connectMilliseconds
        self.statementMilliseconds = statementMilliseconds
        self.lockMilliseconds = lockMilliseconds
        self.acceptsUnsafeServer = acceptsUnsafeServer
        self.prefix = prefix
        self.log = log
    }

    /// How long a wait for a lock lasts until it looks whether the holder stopped, in milliseconds. It sees a holder stop
    /// within one wait, and ends it within another.
    var lookMillisecondsOfWaits: Int { idleMilliseconds / 3 }

    /// The options of the pool's connections.
    var forWrites: PostgresOptions {
        var options = self
        options.lockMilliseconds = min(lockMilliseconds, lookMillisecondsOfWaits)
        return options
    }

    /// Of connections that read for many callers at once: what takes longer is read again by an ordinary read.
    var forLookups: PostgresOptions {
        var options = self
        options.statementMilliseconds = min(statementMilliseconds, 1000)
        options.lockMilliseconds = min(lockMilliseconds, 100)
        return options
    }
}
