import NephosThreads
import Synchronization

/// A session that holds lines and waits for its server amid a statement.
struct WaitingWrite: Hashable, Sendable {
    let session: String
    /// When the statement began, in microseconds.
    let since: String
}

/// Ends the writes of stopped servers, for which others wait. A look of a waiting write notes the sessions that wait for
/// their servers. One that still waits in the same statement near the end of the idle time is ended. A waiting write looks
/// three times meanwhile, so a server that stops costs an owner no more than the idle time. PostgreSQL does not tell how much
/// of a statement arrived: a server that takes as long to send one is ended, too.
final class StoppedWrites: Sendable {
    private let options: PostgresOptions
    private let noted = Mutex<[WaitingWrite: MonotonicTime]>([:])

    /// The time in milliseconds for which a session stays noted without being found again.
    private static let kept: Int64 = 60_000

    init(_ options: PostgresOptions) { self.options = options }

    /// A failure leaves the sessions, and the caller goes on waiting.
    /// - Parameter lines: what the caller waits for.
    func look(_ connection: PostgresConnection, for lines: Lines) {
        let look = options.lookMillisecondsOfWaits
        let since = options.idleMilliseconds - look / 2
        guard let waiting = try? connection.waitingWrites(holding: lines, since: since) else { return }
        let now = MonotonicTime.now
        let stopped = noted.withLock { noted in
            // A look for other lines finds other sessions.
            noted = noted.filter { waiting[$0.key] != nil || now.milliseconds - $0.value.milliseconds < Self.kept }
            for write in waiting.keys where noted[write] == nil { noted[write] = now }
            return noted.filter { waiting[$0.key] == true && now.milliseconds - $0.value.milliseconds >= look }
        }
        for write in stopped.keys where (try? connection.end(write)) == true {
            options.log("a server stopped amid a write: its transaction was ended, as others waited for it")
        }
    }
}
