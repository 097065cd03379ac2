import NephosStorage
import Synchronization

/// The transaction that holds the horizon, as often as this server looks: the oldest one that writes, anywhere in the cluster.
/// Feeds end before what commits after it began, and notifications wait for it.
final class HorizonWatch: Sendable {
    private struct State {
        var holder: HorizonHolder?
        /// The transaction that the log was told of.
        var told = ""
    }

    private let state = Mutex(State())
    private let log: @Sendable (String) -> Void
    /// After so many seconds the log is told, once for each transaction.
    private static let patience = 10.0

    init(_ log: @escaping @Sendable (String) -> Void) { self.log = log }

    var holder: HorizonHolder? { state.withLock(\.holder) }

    /// Looks for the holder. A session of another user shows its age to members of `pg_read_all_stats` alone: to others the
    /// holder is unknown.
    func measure(_ connection: PostgresConnection) throws {
        let row = try connection.ask(
            """
            SELECT coalesce(extract(epoch FROM clock_timestamp() - xact_start)::text, ''), coalesce(application_name, ''),
                backend_xid::text
            FROM pg_stat_activity WHERE backend_xid IS NOT NULL AND pid <> pg_backend_pid()
            ORDER BY age(backend_xid) DESC LIMIT 1
            """
        ).first
        guard let seconds = row.map({ Double($0[0]) }) ?? 0 else { return state.withLock { $0.holder = nil } }
        let holder = HorizonHolder(seconds: max(0, seconds), applicationName: row?[1] ?? "")
        let isToTell = state.withLock { state in
            state.holder = holder
            guard let row, seconds >= Self.patience, state.told != row[2] else { return false }
            state.told = row[2]
            return true
        }
        guard isToTell else { return }
        log(
            "PostgreSQL: a transaction of '\(holder.applicationName)' has been writing for \(Int(seconds)) s; change feeds and "
                + "notifications wait for what it may commit")
    }
}
