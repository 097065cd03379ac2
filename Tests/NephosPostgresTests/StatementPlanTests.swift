import NephosPostgresTesting
import NephosStorage
import Testing

@testable import NephosPostgres

/// Plans over tables that all owners share: a statement reads the rows of the owners that it names, not those of others.
@Suite(.overPostgreSQL) struct StatementPlanTests {
    /// Scans of a store, of `nephos verify` alone, and statements that have no plan.
    private static let withoutPlan: Set<SQL> = [
        .rowsWithoutZone, .rowsWithoutAccount, .savepoint, .releaseSavepoint, .rollbackToSavepoint, .lastSequence,
        .setLastSequence,
    ]
    /// Statements of this engine alone.
    private static let own = [
        ("ownZoneWithRecord", PostgresSQL.zoneWithRecord), ("ownZoneForFeed", PostgresSQL.zoneForFeed),
        ("ownRecordsOfZone", PostgresSQL.recordsOfZone), ("ownRecordOfZone", PostgresSQL.recordOfZone),
        ("ownSharesOfZone", PostgresSQL.sharesOfZone), ("ownVersions", PostgresSQL.versions),
    ]
    /// Tables with one row, or a few, for each store.
    private static let small: Set<String> = ["store", "store_secret"]

    @Test(arguments: [(40_000, 4_000), (0, 2_000)])
    func `every statement reads a range of an index, in empty tables and in large ones`(
        ofOne: Int, ofOthers: Int
    ) async throws {
        let options = TestCluster.options(connections: 1)
        let stores = try PostgresStores(try TestCluster.address.get(), options: options)
        for _ in 0..<2 { await (try stores.open(TestCluster.newStore())).close() }
        var own = PostgresOptions(acceptsUnsafeServer: true, prefix: options.prefix)
        own.statementMilliseconds = 120_000
        let connection = try PostgresConnection(try TestCluster.address.get(), own, damage: nil)
        try connection.execute("SET plan_cache_mode = force_generic_plan")
        // Of empty tables an index is as good as any other, until they are analysed.
        let empty = try scans("empty", connection).filter { $0.contains("Seq Scan") }
        #expect(empty.isEmpty, "\(empty.joined(separator: "\n"))")
        try connection.execute(Self.rows(ofOne, ofOthers))
        try connection.analyzeOwnTables()
        let large = try scans("large", connection)
        #expect(large.isEmpty, "\(large.joined(separator: "\n"))")
        connection.close()
        stores.close()
    }

    /// An owner with many rows beside many with one, in two stores.
    private static func rows(_ ofOne: Int, _ ofOthers: Int) -> String {
        """
        CREATE TEMPORARY TABLE filled AS
            SELECT n, (n % 2 + 1 << 40) + (1::bigint << 39) + CASE WHEN n <= \(ofOne) THEN 1 ELSE n END AS owner,
                -- The numbers of zones are unique in a store.
                CASE WHEN n <= \(ofOne) THEN 1 ELSE n END AS zone
            FROM generate_series(1, \(ofOne + ofOthers)) AS n;
        INSERT INTO account (id, name, user_record_name) SELECT DISTINCT ON (owner) owner, n::text, '_' || n FROM filled;
        INSERT INTO zone (owner, name, sequence, changed, deleted) SELECT owner, n::text, n, n, (n % 10 = 0)::int FROM filled;
        UPDATE zone SET deleted_at = 1 WHERE deleted = 1;
        INSERT INTO record (id, owner, zone, name, sequence, type, deleted, created_at, created_by, modified_at,
                modified_by, checksum, fields)
            SELECT n, owner, zone, md5(n::text), n, 'Note', (n % 10 = 0)::int, 1, 1, 1, 1, 0, '' FROM filled;
        INSERT INTO reference (owner, zone, target, kind, source)
            SELECT owner, zone, md5((n % 1000)::text), 1, md5(n::text) FROM filled;
        INSERT INTO index_entry (owner, zone, definition, value, name, record)
            SELECT owner, zone, 1, decode(md5(n::text), 'hex'), md5(n::text), n FROM filled;
        INSERT INTO shared_record (owner, zone, name, share, type, entered, sequence, gone_at, left_at)
            SELECT owner, zone, md5(n::text), 1, 'Note', n, n, n % 10, 0 FROM filled;
        INSERT INTO share (id, owner, zone, name, root, guid, ended_at, public_permission, allows_requests)
            SELECT n, owner, zone, n::text, md5(n::text), md5(n::text), 0, 1, 0 FROM filled;
        INSERT INTO request_key (account, key, digest, outcome, at) SELECT owner, n::text, '', '', n FROM filled;
        INSERT INTO membership (account, share, owner, zone, joined_at, left_at)
            SELECT owner, n, owner, zone, 1, 0 FROM filled;
        """
    }

    /// - Returns: the statements of which a plan reads a table without a range of an index.
    private func scans(_ round: String, _ connection: PostgresConnection) throws -> [String] {
        var found: [String] = []
        let shared = SQL.allCases.filter { !Self.withoutPlan.contains($0) }.map { ("\($0)", PostgresSQL.text($0)) }
        for (sql, text) in shared + Self.own {
            let name = "\(round)_\(sql)"
            try connection.execute("PREPARE \(name) AS \(text)")
            let count = text.matches(of: #/\$(\d+)/#).compactMap { Int($0.output.1) }.max() ?? 0
            let values = [String](repeating: "NULL", count: count).joined(separator: ", ")
            let lines = try connection.ask("EXPLAIN EXECUTE \(name)\(count > 0 ? " (\(values))" : "")").map { $0[0] }
            for (index, line) in lines.enumerated() {
                guard
                    let scan = line.firstMatch(
                        of: #/(Seq Scan|Index(?: Only)? Scan(?: Backward)? using \w+) on (\w+)/#),
                    !Self.small.contains(String(scan.2))
                else { continue }
                let range = lines.dropFirst(index + 1).first ?? ""
                let hasRange = range.contains("Index Cond:")
                // A row is found by its name, and not looked for among those of its zone.
                if let filter = lines.dropFirst(index + 2).first, round != "empty",
                    filter.contains(#/^ *Filter:.*\b(name|target|source) = /#),
                    !lines[index + 1].contains(#/\b(id|name|sequence|target|source) = /#)
                {
                    found.append("\(sql): \(line.drop { $0 == " " }) \(filter.drop { $0 == " " })")
                }
                // Without its zone a name is looked for in all index entries of the owner.
                if PostgresTables.ofZones.contains(String(scan.2)), range.contains(#/\b(name|target|source) = /#),
                    !range.contains("zone = ")
                {
                    found.append("\(sql): \(line.drop { $0 == " " }) \(range.drop { $0 == " " })")
                }
                if line.contains("Seq Scan") || !hasRange { found.append("\(sql): \(line.drop { $0 == " " })") }
            }
        }
        for table in try connection.storeTables() where !Self.small.contains(table.name) {
            let text = PostgresSQL.removal(200, rowsOf: StoreNumber(value: 1), from: table)
            for line in try connection.ask("EXPLAIN \(text)").map({ $0[0] }) where line.contains("Seq Scan") {
                found.append("removal from \(table.name): \(line.drop { $0 == " " })")
            }
        }
        return found
    }
}
