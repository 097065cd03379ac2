import NephosThreads
import Synchronization

/// A session that holds lines and waits for its server amid a statement.
struct WaitingWrite: Hashable, Sendable {
    let session: String
    /// When the statement began.
    let since: String
}

/// Ends the writes of stopped servers, for which others wait. A look of a waiting write notes the sessions that wait for
/// their servers. One that still waits in the same statement at later looks, after a third of the idle time, is ended. A
/// waiting write looks at least as often, so a server that stops costs an owner no more than the idle time.
final class StoppedWrites: Sendable {
    private let options: PostgresOptions
    private let noted = Mutex<[WaitingWrite: MonotonicTime]>([:])

    init(_ options: PostgresOptions) { self.options = options }

    /// A failure leaves the sessions, and the caller goes on waiting.
    func look(_ connection: PostgresConnection) {
        guard let waiting = try? connection.waitingWrites() else { return }
        let now = MonotonicTime.now
        let stopped = noted.withLock { noted in
            noted = noted.filter { waiting.contains($0.key) }
            for write in waiting where noted[write] == nil { noted[write] = now }
            return noted.filter { now.milliseconds - $0.value.milliseconds >= options.lookMillisecondsOfWaits }
        }
        for write in stopped.keys where (try? connection.end(write)) != nil {
            options.log("a server stopped amid a write: its transaction was ended, as others waited for it")
        }
    }
}
