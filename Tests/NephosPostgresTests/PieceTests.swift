import NephosPostgresTesting
import NephosStorage
import Testing

@testable import NephosPostgres

/// Statements that change a table piece by piece.
@Suite(.overPostgreSQL) struct PieceTests {
    @Test func `no statement joins a table with the first rows of a query`() {
        for sql in SQL.allCases {
            for mode in [PostgresSQL.Mode.reading, .writing] {
                let text = PostgresSQL.text(sql, mode)
                let isPiece = text.hasPrefix("DELETE") || text.hasPrefix("UPDATE")
                #expect(!isPiece || !text.contains(#/ IN \([^)]*LIMIT/#), "\(sql): \(text)")
            }
        }
    }

    @Test(arguments: [
        SQL.purgeRecords, .purgeReferencesOfRecords, .purgeIndexEntries, .removeIndexEntries, .purgeSharedRecords,
    ])
    func `a piece is read once, whatever the planner estimates`(_ sql: SQL) async throws {
        try await withStore { connection in
            let text = PostgresSQL.text(sql, .alone)
            let count = text.matches(of: #/\$\d/#).map { Int($0.output.dropFirst()) ?? 0 }.max() ?? 0
            let bytes: Set<Int> = sql == .removeIndexEntries ? [4, 5] : []
            let types = (1...count).map { bytes.contains($0) ? "bytea" : "bigint" }.joined(separator: ", ")
            let values = (1...count).map { bytes.contains($0) ? "'\\x00'" : "1" }.joined(separator: ", ")
            try connection.execute("SET plan_cache_mode = force_generic_plan; PREPARE piece (\(types)) AS \(text)")
            let plan = try connection.ask("EXPLAIN EXECUTE piece (\(values))").map { $0[0] }.joined(separator: "\n")
            #expect(!plan.contains("Semi Join") && !plan.contains("SubPlan"), "\(plan)")
        }
    }

    @Test func `a zone's changes are removed a hundred at a time, although the planner expects one`() async throws {
        try await withStore { connection in
            // As after an ANALYZE when there was one, and thousands came since.
            try connection.execute(
                """
                INSERT INTO zone_change (owner, zone, sequence) VALUES (1, 1, -5000);
                ANALYZE zone_change;
                INSERT INTO zone_change (owner, zone, sequence) SELECT 1, 1, n - 4999 FROM generate_series(0, 2999) AS n;
                PREPARE trim (bigint, bigint, bigint) AS \(PostgresSQL.trimChanges);
                EXECUTE trim (1, 1, 1)
                """)
            #expect(try connection.ask("SELECT count(*)::text FROM zone_change") == [["2901"]])
        }
    }

    /// Runs `body` with a connection whose tables are a new store's.
    private func withStore(_ body: (PostgresConnection) throws -> Void) async throws {
        let options = TestCluster.options(connections: 1)
        let stores = try PostgresStores(try TestCluster.address.get(), options: options)
        let engine = try stores.open(TestCluster.newStore())
        let connection = try PostgresConnection(
            try TestCluster.address.get(), PostgresOptions(acceptsUnsafeServer: true), damage: nil)
        try connection.execute("SET search_path TO \(options.prefix), pg_catalog")
        try body(connection)
        connection.close()
        await engine.close()
        stores.close()
    }
}
