import Synchronization

/// Has tables analysed while they grow. Autovacuum looks once a minute: until then the planner believes of new
/// tables that a zone has one record, and takes any index of the zone to find one by its name.
final class TableStatistics: Sendable {
    private let rows = Atomic(0)
    private let level = Atomic(0)

    /// Notes the rows of a write that is about to commit.
    func note(rows count: Int) { rows.add(count, ordering: .relaxed) }

    /// Whether the tables may have grown to four times their size since this was last so: after 4, 16, 64, ... rows.
    func isDue() -> Bool {
        let last = level.load(ordering: .relaxed)
        let now = (Int.bitWidth - 1 - (rows.load(ordering: .relaxed) | 1).leadingZeroBitCount) / 2
        return now > last && level.compareExchange(expected: last, desired: now, ordering: .relaxed).exchanged
    }

    /// Analyses the tables that were never analysed, or are four times as large as then. The
    /// statements' plans are made anew with that.
    /// - Returns: the tables.
    @discardableResult
    static func update(_ connection: PostgresConnection) throws -> [String] {
        let tables = try connection.ask(
            """
            SELECT quote_ident(relname) FROM pg_class, current_setting('block_size') AS block
            WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'
                AND pg_relation_size(oid) > 0
                AND (reltuples < 0 OR pg_relation_size(oid) / block::int >= 4 * greatest(relpages, 1))
            ORDER BY relname
            """
        ).map { $0[0] }
        // Each in a transaction of its own, which soon ends: change feeds wait for what writes.
        for table in tables { _ = try connection.ask("ANALYZE (SKIP_LOCKED) \(table)") }
        return tables
    }
}
