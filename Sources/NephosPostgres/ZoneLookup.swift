import CPostgres
import NephosStorage

/// A zone and one record of it, by their names: what a `LookupPipeline` reads with one statement.
struct ZoneLookup: Sendable {
    let store: StoreNumber
    let owner: Int64
    let zone: String
    let record: String

    /// Byte by byte: different names may be equal strings.
    func isSame(as other: ZoneLookup) -> Bool {
        store == other.store && owner == other.owner && zone.utf8.elementsEqual(other.zone.utf8)
            && record.utf8.elementsEqual(other.record.utf8)
    }

    /// The zone's columns, the record's and the versions: all null but the last where there is none.
    ///
    /// `@unchecked`: libpq's results are read-only once they are made, and may be used by several threads (PostgreSQL, libpq,
    /// Behavior in Threaded Programs).
    struct Row: @unchecked Sendable {
        let result: PostgresLink.Result

        var zone: PostgresRows { PostgresRows(result, from: 0) }
        var record: PostgresRows { PostgresRows(result, from: PostgresSQL.zoneColumnCount) }
        static var versionsColumn: Int { PostgresSQL.zoneColumnCount + PostgresSQL.recordColumnCount }
        /// Of memory.
        var bytes: Int { PQresultMemorySize(result.handle) }
    }
}

extension PostgresConnection {
    /// Looks up several, each by a statement of its own, outside of transactions.
    /// - Returns: the rows, fewer where one failed: none behind it was read.
    func look(up lookups: [ZoneLookup]) throws -> [ZoneLookup.Row] {
        if lookups.isEmpty { return [] }
        let queries = try lookups.map { lookup in
            try use(lookup.store)
            var parameters = PostgresLink.Parameters()
            parameters.add(lookup.store.key(lookup.owner))
            parameters.add(text: lookup.zone.utf8)
            parameters.add(text: lookup.record.utf8)
            parameters.add(lookup.store.value)
            return Queued(name: "lookup", text: PostgresSQL.zoneWithRecord, parameters: parameters)
        }
        let (results, failure) = try exchange(queries)
        if let failure, failure.needsPreparation { prepareAnew() }
        return results.map { ZoneLookup.Row(result: $0) }
    }
}

/// What a lookup's body reads: first nothing, and it says which zone and record it wants; then these.
///
/// The body runs twice, so that the caller need not say the same in another way. It runs as an ordinary read where it
/// wants something else first, or more.
final class ZoneLookupConnection: SQLConnection, StatementRunner {
    static var isRemote: Bool { true }
    // One record is no work to count.
    var meter: ReadMeter { ReadMeter() }

    let store: StoreNumber
    private let row: ZoneLookup.Row?
    /// What the row is of.
    private let found: ZoneLookup?
    private var versions = ContentVersions()
    private var expectation = ZoneExpectation()
    /// What the body wants, if that is all that it asked for.
    private(set) var wanted: ZoneLookup?
    /// Whether the body asked for what is not here.
    private(set) var needsMore = false

    init(store: StoreNumber, finding row: ZoneLookup.Row? = nil, of found: ZoneLookup? = nil) {
        self.store = store
        self.row = row
        self.found = found
        if let row { versions.learn(row.result, from: ZoneLookup.Row.versionsColumn) }
    }

    func prepare(_ sql: SQL) throws -> any SQLStatement { PostgresStatement(sql, self) }

    func run(_ statement: PostgresStatement) throws -> PostgresRows? {
        if let rows = expectation.take(statement) { return rows }
        guard statement.sql == .zoneByName, expectation.isOf(statement), expectation.records.count == 1,
            expectation.shares == 0
        else { throw missing() }
        let lookup = ZoneLookup(
            store: store, owner: statement.integers[0], zone: statement.texts[0], record: expectation.records[0])
        guard let row else {
            wanted = lookup
            throw missing()
        }
        guard let found, found.isSame(as: lookup) else { throw missing() }
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

    /// The read transaction that the lookup falls back to logs it.
    func noteDamage(_ record: RecordRowView) { needsMore = true }
}
