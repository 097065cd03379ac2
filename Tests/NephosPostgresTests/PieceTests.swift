import NephosPostgresTesting
import NephosStorage
import Testing

@testable import NephosPostgres

/// Statements that change a table piece by piece.
@Suite(.overPostgreSQL) struct PieceTests {
    @Test func `no statement joins a table with the first rows of a query`() {
        for sql in SQL.allCases {
            let text = PostgresSQL.text(sql)
            let isPiece = text.hasPrefix("DELETE") || text.hasPrefix("UPDATE")
            #expect(!isPiece || !text.contains(#/ IN \([^)]*LIMIT/#), "\(sql): \(text)")
        }
    }

    @Test(arguments: [
        SQL.purgeRecords, .purgeReferences, .purgeIndexEntries, .removeIndexEntries, .purgeSharedRecords,
    ])
    func `a piece is read once, whatever the planner estimates`(_ sql: SQL) async throws {
        try await withStore { connection in
            let text = PostgresSQL.text(sql)
            let count = text.matches(of: #/\$\d/#).map { Int($0.output.dropFirst()) ?? 0 }.max() ?? 0
            let bytes: Set<Int> = sql == .removeIndexEntries ? [4, 5] : []
            let types = (1...count).map { bytes.contains($0) ? "bytea" : "bigint" }.joined(separator: ", ")
            let values = (1...count).map { bytes.contains($0) ? "'\\x00'" : "1" }.joined(separator: ", ")
            try connection.execute("SET plan_cache_mode = force_generic_plan; PREPARE piece (\(types)) AS \(text)")
            let plan = try connection.ask("EXPLAIN EXECUTE piece (\(values))").map { $0[0] }.joined(separator: "\n")
            #expect(!plan.contains("Semi Join") && !plan.contains("SubPlan"), "\(plan)")
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
