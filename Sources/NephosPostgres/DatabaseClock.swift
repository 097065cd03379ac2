import Synchronization

/// How far the database's clock is ahead of this machine's.
final class DatabaseClock: Sendable {
    private let clock: @Sendable () -> Int64
    private let measured = Atomic<Int64>(0)
    /// Differences below it are left: measuring is not exact.
    private static let tolerance: Int64 = 1000

    /// - Parameter clock: this machine's, in milliseconds since 1970.
    init(_ clock: @escaping @Sendable () -> Int64) { self.clock = clock }

    /// Milliseconds.
    var offset: Int64 { measured.load(ordering: .relaxed) }

    /// Asks the database for its time. Where that takes long nothing is learnt from it.
    func measure(_ connection: PostgresConnection) throws {
        let before = clock()
        let answer = try connection.ask(
            "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint::text"
        ).first?.first
        let after = clock()
        guard let time = answer.flatMap({ Int64($0) }), after >= before, after - before < Self.tolerance else { return }
        let offset = time - (before + after) / 2
        measured.store(abs(offset) < Self.tolerance ? 0 : offset, ordering: .relaxed)
    }
}
