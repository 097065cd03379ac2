import NephosPostgresTesting
import NephosStorage
import Testing

@testable import NephosPostgres

/// Plans that are made for small tables, and cached while the tables grow.
@Suite(.overPostgreSQL) struct KeptPlanTests {
    @Test(arguments: [SQL.recordByName, .recordsByNames, .expectedRecords, .expectedSharedRecords, .recordNumber])
    func `records are looked up by name although the planner expects few`(_ sql: SQL) async throws {
        try await withStore(PostgresOptions(acceptsUnsafeServer: true)) { connection in
            try connection.execute(Self.records(20))
            try connection.analyzeOwnTables()
            try connection.execute("SET plan_cache_mode = force_generic_plan")
            let plan = try plan(of: PostgresSQL.text(sql), "kept", connection)
            #expect(plan.contains("record_owner_zone_name_key on record"), "\(plan)")
            #expect(!plan.contains("_sequence_key") && !plan.contains("Hash"), "\(plan)")
        }
    }

    @Test func `grown tables are analysed and their plans remade`() async throws {
        try await withStore(PostgresOptions(acceptsUnsafeServer: true)) { connection in
            try connection.analyzeOwnTables()
            try connection.execute("SET plan_cache_mode = force_generic_plan")
            // Of an empty table any index is as good.
            let first = try plan(of: PostgresSQL.text(.recordByName), "kept", connection)
            #expect(!first.contains("record_owner_zone_name_key"), "\(first)")
            try connection.execute(Self.records(3000))
            #expect(try !explain("kept", 3, connection).contains("record_owner_zone_name_key"))
            #expect(try TableStatistics.update(connection) == ["record"])
            #expect(try explain("kept", 3, connection).contains("record_owner_zone_name_key"))
            #expect(try TableStatistics.update(connection) == [])
        }
    }

    @Test func `a store's first writes analyse its tables`() async throws {
        let options = TestCluster.options(connections: 2)
        let stores = try PostgresStores(try TestCluster.address.get(), options: options)
        let engine = try stores.open(TestCluster.newStore())
        for number in 0..<4 {
            _ = try await engine.write { try $0.insertAccount(name: "account\(number)", userRecordName: "_\(number)") }
        }
        let connection = try PostgresConnection(
            try TestCluster.address.get(), PostgresOptions(acceptsUnsafeServer: true), damage: nil)
        var isAnalyzed = false
        while !isAnalyzed {
            isAnalyzed =
                try connection.ask(
                    "SELECT (reltuples >= 0)::text FROM pg_class WHERE oid = '\(options.prefix).account'::regclass")
                == [["true"]]
        }
        connection.close()
        await engine.close()
        stores.close()
    }

    private static func records(_ count: Int) -> String {
        let numbers = [
            "id", "owner", "zone", "sequence", "deleted", "created_at", "created_by", "modified_at", "modified_by",
        ]
        let values = numbers.map { $0 == "id" || $0 == "sequence" ? "n" : $0 == "deleted" ? "0" : "1" }
        return """
            INSERT INTO record (\(numbers.joined(separator: ", ")), name, type, checksum, fields)
            SELECT \(values.joined(separator: ", ")), md5(n::text), 'Note', 0, '' FROM generate_series(1, \(count)) AS n
            """
    }

    private func plan(of text: String, _ name: String, _ connection: PostgresConnection) throws -> String {
        try connection.execute("PREPARE \(name) AS \(text)")
        let count = text.matches(of: #/\$\d+/#).map { Int($0.output.dropFirst()) ?? 0 }.max() ?? 0
        return try explain(name, count, connection)
    }

    private func explain(_ name: String, _ parameters: Int, _ connection: PostgresConnection) throws -> String {
        let values = [String](repeating: "NULL", count: parameters).joined(separator: ", ")
        return try connection.ask("EXPLAIN EXECUTE \(name) (\(values))").map { $0[0] }.joined(separator: "\n")
    }

    /// Runs `body` with a connection to tables of its own.
    private func withStore(
        _ options: PostgresOptions, _ body: (PostgresConnection) throws -> Void
    ) async throws {
        let made = TestCluster.options(connections: 1)
        let stores = try PostgresStores(try TestCluster.address.get(), options: made)
        let engine = try stores.open(TestCluster.newStore())
        let connection = try PostgresConnection(try TestCluster.address.get(), options, damage: nil)
        try connection.execute("SET search_path TO \(made.prefix), pg_catalog")
        try body(connection)
        connection.close()
        await engine.close()
        stores.close()
    }
}

extension PostgresConnection {
    /// Analyses the tables of this test's schema alone: the cluster has those of all the tests beside it.
    func analyzeOwnTables() throws {
        let tables = try ask("SELECT tablename FROM pg_tables WHERE schemaname = current_schema").map { $0[0] }
        try execute("ANALYZE \(tables.joined(separator: ", "))")
    }
}
