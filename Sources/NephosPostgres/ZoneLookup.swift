import NephosStorage

/// A zone and one record of it, by their names: what a `LookupPipeline` reads with one statement.
struct ZoneLookup: Sendable {
    let schema: String
    let owner: Int64
    let zone: String
    let record: String

    /// The zone's columns, the record's and the versions: all null but the last where there is none.
    ///
    /// `@unchecked`: libpq's results are read-only once they are made, and may be used by several threads (PostgreSQL, libpq,
    /// Behavior in Threaded Programs).
    struct Row: @unchecked Sendable {
        let result: PostgresLink.Result

        var zone: PostgresRows { PostgresRows(result, from: 0) }
        var record: PostgresRows { PostgresRows(result, from: PostgresSQL.zoneColumnCount) }
        static var versionsColumn: Int { PostgresSQL.zoneColumnCount + PostgresSQL.recordColumnCount }
    }
}

extension PostgresConnection {
    /// Looks up several in one store, each by a statement of its own, outside of transactions.
    /// - Throws: also where one of them fails; then the connection is not to be used again.
    func look(up lookups: [ZoneLookup]) throws -> [ZoneLookup.Row] {
        guard let schema = lookups.first?.schema else { return [] }
        try use(schema: schema)
        let queries = lookups.map { lookup in
            var parameters = PostgresLink.Parameters()
            parameters.add(text: String(lookup.owner).utf8)
            parameters.add(text: lookup.zone.utf8)
            parameters.add(text: lookup.record.utf8)
            return query("lookup", PostgresSQL.zoneWithRecord, parameters)
        }
        let (results, failure) = try exchange(queries)
        if let failure { throw failure.storageError(while: PostgresSQL.zoneWithRecord) }
        return results.map { ZoneLookup.Row(result: $0) }
    }
}

/// What a lookup's body reads: first nothing, and it says which zone and record it wants; then these.
///
/// The body runs twice, so that the caller need not say the same in another way. It runs as an ordinary read where it
/// wants something else first, or more.
final class ZoneLookupConnection: SQLConnection, StatementRunner {
    static var dialect: SQLDialect { PostgresConnection.dialect }
    static var isRemote: Bool { true }

    private let schema: String
    private let row: ZoneLookup.Row?
    private var versions = ContentVersions()
    private var expectation = ZoneExpectation()
    /// What the body wants, if that is all that it asked for.
    private(set) var wanted: ZoneLookup?
    /// Whether the body asked for what is not here.
    private(set) var needsMore = false

    init(schema: String, row: ZoneLookup.Row? = nil) {
        self.schema = schema
        self.row = row
        if let row { versions.learn(row.result, from: ZoneLookup.Row.versionsColumn) }
    }

    func prepare(_ sql: SQL) throws -> any SQLStatement { PostgresStatement(sql, self) }

    func run(_ statement: PostgresStatement) throws -> PostgresRows? {
        if let rows = expectation.take(statement) { return rows }
        guard statement.sql == .zoneByName, expectation.isOf(statement), expectation.records.count == 1,
            expectation.shares == 0
        else { throw missing() }
        guard let row else {
            wanted = ZoneLookup(
                schema: schema, owner: statement.integers[0], zone: statement.texts[0], record: expectation.records[0])
            throw missing()
        }
        let zone = row.zone
        guard zone.count > 0 else {
            expectation.end()
            return zone
        }
        let key = ZoneKey(
            owner: OwnerID(rawValue: statement.integers[0]), id: PostgresStatement.integer(zone.result, 0, 0))
        expectation.keep(key, records: row.record, shares: nil)
        return zone
    }

    private func missing() -> StorageError {
        needsMore = true
        return StorageError(.busy, "a lookup reads more than its record")
    }

    func expectZone(named name: String, records: [String], shares: Int) {
        if records.allSatisfy(\.isStorable) { expectation.expect(name, records: records, shares: shares) }
    }

    func isCurrent(_ version: Int64, of content: SharedContent) throws -> Bool {
        // Without a row nothing that the body gives is used.
        versions[content].map { $0 == version } ?? true
    }

    func version(of content: SharedContent) throws -> Int64 {
        guard let version = versions[content] else { throw missing() }
        return version
    }

    // Nothing is written, and no transaction is open.
    func execute(_ script: String) throws { throw missing() }
    func begin(writing: Bool) throws {}
    func commit() throws {}
    func rollback() {}
    var isInTransaction: Bool { false }
    func schemaVersion() throws -> Int { 0 }
    func setSchemaVersion(_ version: Int) throws { throw missing() }
    func noteDamage(_ record: RecordRowView) { needsMore = true }
    func close() {}
}
