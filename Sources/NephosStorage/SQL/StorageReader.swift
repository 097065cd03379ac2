/// Typed reads over one snapshot, valid only inside the body that receives them. Texts are compared by their UTF-8
/// bytes; a limit of zero or less returns nothing.
package class StorageReader {
    final let connection: any SQLConnection
    /// The reason why it is invalid: an operation failed, or the body returned.
    package fileprivate(set) final var failure: StorageError?
    /// A few zones found in the snapshot; nil if they are not cached: a transaction's state changes, and other readers'
    /// snapshots end with them.
    private(set) final var foundZones: [ZoneRow]?
    /// Records that were read before they are visited, and names of which there is none.
    private final var expected: [RecordPlace: RecordRow?] = [:]
    /// Their rows under the shares that they are under, where those were asked for.
    private final var expectedShares: [RecordPlace: SharedRecordRow?] = [:]

    /// - Parameter foundZones: the zones that the last reader of the same snapshot found.
    package init(_ connection: any SQLConnection, foundZones: [ZoneRow]? = nil) {
        self.connection = connection
        self.foundZones = foundZones
    }

    /// Makes every later call fail. Called after the body returned.
    package final func invalidate() {
        failure = StorageError(.other, "The reader or transaction was used after its body returned.")
    }

    /// Makes every later call fail with this error.
    final func fail(_ error: StorageError) { failure = error }

    /// Runs one statement. A failure is sticky: databases differ in what they accept after a failure, so nothing may
    /// follow.
    final func run<T>(_ sql: SQL, _ body: (any SQLStatement) throws -> T) throws -> T {
        if let failure { throw failure }
        do {
            let statement = try connection.prepare(sql)
            defer { statement.reset() }
            return try body(statement)
        } catch let error as StorageError {
            failure = error
            throw error
        }
    }

    /// All rows of a statement.
    final func rows<Row>(
        _ sql: SQL, bind: (any SQLStatement) throws -> Void, read: (any SQLStatement) throws -> Row
    ) throws -> [Row] {
        try run(sql) { statement in
            try bind(statement)
            var rows: [Row] = []
            while try statement.step() { rows.append(try read(statement)) }
            return rows
        }
    }

    /// The first row of a statement.
    final func row<Row>(
        _ sql: SQL, bind: (any SQLStatement) throws -> Void, read: (any SQLStatement) throws -> Row
    ) throws -> Row? {
        try run(sql) { statement in
            try bind(statement)
            return try statement.step() ? read(statement) : nil
        }
    }

    /// The store's secret; nil before it is set.
    package final func secret() throws -> [UInt8]? {
        try row(.secret, bind: { _ in }, read: { $0.bytes(0) })
    }

    /// The change sequences that the store gave after the backups were taken that it was restored from, and lost; no row
    /// has one of them.
    package final func lostSequences() throws -> [ClosedRange<Int64>] {
        try rows(.lostSequences, bind: { _ in }) { row in
            let first = row.integer(0)
            return first...max(first, row.integer(1))
        }
    }

    /// Advances where nothing that clients hold is good any more: the database was replaced by one that may lack some of it.
    package final func tokenEpoch() throws -> Int64 {
        try row(.tokenEpoch, bind: { _ in }, read: { $0.integer(0) }) ?? 0
    }

    // MARK: Zones

    /// Whether `expectZone` and `expectRecords` save ways to another process.
    package final var readsAhead: Bool { type(of: connection).isRemote }

    /// Says that zones are looked up for their feeds: an engine that is another process reads with each how far it is complete.
    package final func expectFeeds() { connection.expectFeeds() }

    /// Says that a zone of this name is looked up next, then its records of these names and, where `shares` is not 0, as many of
    /// its shares: an engine that is another process reads them together.
    package final func expectZone(named name: String, records: [String], shares: Int) {
        connection.expectZone(named: name, records: records, shares: shares)
    }

    /// The live zone of that name.
    package final func zone(owner: OwnerID, named name: String) throws -> ZoneRow? {
        // Byte by byte: `==` treats canonically equivalent names as equal.
        let isWanted = { (zone: ZoneRow) in zone.key.owner == owner && zone.name.utf8.elementsEqual(name.utf8) }
        if failure == nil, let zone = foundZones?.first(where: isWanted) { return zone }
        let found = try row(.zoneByName) {
            try $0.bind(owner.rawValue).bind(name)
        } read: {
            ZoneRow(owner: owner, $0)
        }
        if let found { note(found) }
        return found
    }

    /// Caches a found zone, evicting another if the cache is full.
    private final func note(_ zone: ZoneRow) {
        guard let count = foundZones?.count else { return }
        if count < Self.mostFoundZones {
            foundZones?.append(zone)
        } else {
            foundZones?[Int(zone.key.id.magnitude % UInt64(Self.mostFoundZones))] = zone
        }
    }

    private static var mostFoundZones: Int { 8 }

    /// The live zones, ordered by name (byte-wise).
    package final func zones(owner: OwnerID) throws -> [ZoneRow] {
        try rows(.zones, bind: { try $0.bind(owner.rawValue) }, read: { ZoneRow(owner: owner, $0) })
    }

    /// The live zones that changed after `sequence`, ordered by their last change.
    package final func zones(owner: OwnerID, changedAfter sequence: Int64, limit: Int) throws -> [ZoneRow] {
        try rows(.zonesByChange) {
            try $0.bind(owner.rawValue).bind(sequence).bind(connection.horizon).bind(limit: limit)
        } read: {
            ZoneRow(owner: owner, $0)
        }
    }

    /// The zones deleted after `sequence` and not recreated, in the order of their deletion; for one name the last.
    package final func deletedZones(owner: OwnerID, after sequence: Int64, limit: Int) throws -> [ZoneRow] {
        try rows(.deletedZones) {
            try $0.bind(owner.rawValue).bind(sequence).bind(limit: limit)
        } read: {
            ZoneRow(owner: owner, $0)
        }
    }

    /// The last deleted zone of that name.
    package final func lastDeletedZone(owner: OwnerID, named name: String) throws -> ZoneRow? {
        try row(.lastDeletedZone, bind: { try $0.bind(owner.rawValue).bind(name) }, read: { ZoneRow(owner: owner, $0) })
    }

    /// No commit that is still to come has a change sequence below it; it never falls. `.max` in an engine that writes one
    /// transaction after another.
    package final var horizon: Int64 { connection.horizon }

    /// The same of the owner's database: of the sequences at which its zones changed or were deleted.
    package final func completeUpTo(owner: OwnerID) throws -> Int64 {
        let sequences = try [SQL.lastChangeOfZones, .lastDeletionOfZones].map { sql in
            try row(sql) {
                try $0.bind(owner.rawValue).bind(connection.horizon)
            } read: {
                $0.integer(0)
            } ?? 0
        }
        return sequences.max() ?? 0
    }

    /// The sequence of the last deletion among the zones of the owner's that were forgotten; 0 if none was.
    package final func zonesForgotten(owner: OwnerID) throws -> Int64 {
        try row(.forgottenZones, bind: { try $0.bind(owner.rawValue) }, read: { $0.integer(0) }) ?? 0
    }

    /// Whether `purgeTombstones` has something to remove, and `forgetZones`.
    package final func hasTombstone(deletedBefore time: Int64) throws -> Bool {
        try row(.expiredTombstones) {
            try $0.bind(time).bind(connection.horizon).bind(limit: 1)
        } read: { _ in
            true
        } ?? false
    }

    package final func hasForgettableZone(deletedBefore time: Int64) throws -> Bool {
        try row(.expiredZones, bind: { try $0.bind(time).bind(limit: 1) }, read: { _ in true }) ?? false
    }

    // MARK: Records

    /// The record at the statement's current row.
    @inline(__always)
    final func visited(_ zone: ZoneKey, _ row: some SQLStatement) -> RecordRowView {
        let record = RecordRowView(zone: zone, row)
        if record.isDamaged { connection.noteDamage(record) }
        return record
    }

    /// A change sequence of the zone's that was committed, no number beyond it, up to which no other commit will show a
    /// change any more; 0 where there is none. An engine that writes one transaction after another gives the zone's last.
    ///
    /// It can fall: where a record changes whose sequence it was, while another write is under way.
    package final func completeUpTo(zone: ZoneKey) throws -> Int64 {
        if let known = try attempt({ try connection.knownCompletion(of: zone) }) { return known }
        return try row(.lastSequenceOfZone, bind: { try $0.bind(zone).bind(connection.horizon) }) { $0.integer(0) } ?? 0
    }

    /// The record or tombstone of that name.
    package final func record(zone: ZoneKey, named name: String) throws -> RecordRow? {
        try row(.recordByName, bind: { try $0.bind(zone).bind(name) }, read: { visited(zone, $0).row })
    }

    /// The zone's record or tombstone with that number in this snapshot.
    package final func record(_ number: RowNumber, zone: ZoneKey) throws -> RecordRow? {
        try row(
            .recordByNumber, bind: { try $0.bind(number.value).bind(zone) },
            read: { visited(zone, $0).row }
        )
    }

    package final func visitRecord(
        _ number: RowNumber, zone: ZoneKey, _ body: (RecordRowView) throws -> Void
    ) throws {
        try run(.recordByNumber) { statement in
            try statement.bind(number.value).bind(zone)
            if try statement.step() { try body(visited(zone, statement)) }
        }
    }

    /// Visits the record or tombstone in the database's memory: `body` is called at most once, and may read anything
    /// but records.
    package final func visitRecord(
        zone: ZoneKey, named name: String, _ body: (RecordRowView) throws -> Void
    ) throws {
        if !expected.isEmpty, let record = expected[RecordPlace(zone: zone, name: Array(name.utf8))] {
            return try record?.withView(body) ?? ()
        }
        try run(.recordByName) { statement in
            try statement.bind(zone).bind(name)
            if try statement.step() { try body(visited(zone, statement)) }
        }
    }

    /// Says that records of these names are visited next: an engine that is another process reads them at once, as many as
    /// have `size` bytes of fields.
    /// - Parameter withShares: whether the shares are asked for that they are under.
    package final func expectRecords(zone: ZoneKey, named names: [String], size: Int, withShares: Bool) throws {
        guard type(of: connection).isRemote, names.count > 1 || withShares else { return }
        var shares: [SharedRecordRow?] = []
        let found = try rows(withShares ? .expectedSharedRecords : .expectedRecords) {
            try $0.bind(zone).bind(names).bind(limit: size)
        } read: { row in
            if withShares {
                let share = SharedRecordRow(row, at: RecordRowView.columnCount)
                shares.append(share.share == 0 ? nil : share)
            }
            return visited(zone, row).row
        }
        for (record, share) in zip(found, shares) {
            expectedShares[RecordPlace(zone: zone, name: Array(record.name.utf8))] = .some(share)
        }
        // Where the last of them are left out there may be others, which are then read one by one.
        let isWhole = found.reduce(0) { $0 + $1.fields.count } < size
        if isWhole { for name in names { expected[RecordPlace(zone: zone, name: Array(name.utf8))] = .some(nil) } }
        for record in found { expected[RecordPlace(zone: zone, name: Array(record.name.utf8))] = record }
    }

    /// What was read before of the share that a record is under; nil where that is not known.
    final func expectedShare(zone: ZoneKey, named name: String) -> SharedRecordRow?? {
        expectedShares.isEmpty ? nil : expectedShares[RecordPlace(zone: zone, name: Array(name.utf8))]
    }

    /// The zone's records and tombstones written after `sequence`, ordered by sequence. Ends with the row at which
    /// their fields reach `size` bytes, or at `limit`.
    package final func records(
        zone: ZoneKey, after sequence: Int64, limit: Int, size: Int
    ) throws -> [RecordRow] {
        var rows: [RecordRow] = []
        try visitRecords(zone: zone, after: sequence, limit: limit, size: size) { rows.append($0.row) }
        return rows
    }

    /// Visits the same rows in the database's memory: calls `body` once for each in order, which may run other reads.
    package final func visitRecords(
        zone: ZoneKey, after sequence: Int64, limit: Int, size: Int, _ body: (RecordRowView) throws -> Void
    ) throws {
        try run(.recordsAfter) { statement in
            try statement.bind(zone).bind(sequence).bind(limit: limit)
            if type(of: connection).isRemote { try statement.bind(limit: size) }
            var left = size
            while left > 0, try statement.step() {
                let record = visited(zone, statement)
                left -= record.fields.count
                try body(record)
            }
        }
    }

    /// The zone's records and tombstones written after `sequence`, of any size.
    package final func records(zone: ZoneKey, after sequence: Int64, limit: Int) throws -> [RecordRow] {
        try records(zone: zone, after: sequence, limit: limit, size: .max)
    }

    /// Whether the zone has a record or tombstone written after `sequence`.
    package final func hasRecord(zone: ZoneKey, after sequence: Int64) throws -> Bool {
        var isFound = false
        try visitRecords(zone: zone, after: sequence, limit: 1, size: .max) { _ in isFound = true }
        return isFound
    }

    // MARK: References

    /// The edges to `target` of one of `kinds`, ordered by source name (byte-wise) and kind, with sources after
    /// `source` if given. `limit` counts sources: all edges of one source are returned together.
    package final func references(
        zone: ZoneKey, to target: String, kinds: [ReferenceRow.Kind], after source: String?, limit: Int
    ) throws -> [ReferenceRow] {
        let kinds = Set(kinds)
        let edges = try kinds.flatMap { kind in
            try references(zone: zone, to: target, kind: kind, after: source, limit: limit)
        }
        return kinds.count == 1 ? edges : Self.firstSources(limit, of: edges)
    }

    /// Scans one range of the index, so its cost grows with `limit` and not with the number of edges.
    private final func references(
        zone: ZoneKey, to target: String, kind: ReferenceRow.Kind, after source: String?, limit: Int
    ) throws -> [ReferenceRow] {
        try rows(source == nil ? .referencesTo : .referencesToAfter) { statement in
            try statement.bind(zone).bind(target).bind(kind.rawValue)
            if let source { try statement.bind(source) }
            try statement.bind(limit: limit)
        } read: { statement in
            ReferenceRow(zone: zone, target: target, kind: kind, source: statement.text(0))
        }
    }

    /// The edges of the first `limit` sources by name.
    private static func firstSources(_ limit: Int, of edges: [ReferenceRow]) -> [ReferenceRow] {
        let sorted = edges.sorted { left, right in
            let (leftName, rightName) = (left.source.utf8, right.source.utf8)
            if leftName.elementsEqual(rightName) { return left.kind.rawValue < right.kind.rawValue }
            return leftName.lexicographicallyPrecedes(rightName)
        }
        var sources = 0
        var last: String.UTF8View?
        let end = sorted.firstIndex { edge in
            if let last, last.elementsEqual(edge.source.utf8) { return false }
            last = edge.source.utf8
            sources += 1
            return sources > limit
        }
        return Array(sorted[..<(end ?? sorted.endIndex)])
    }

    /// The transitive edges of a kind to `target`: the length of the longest path, and the number of edges; both among
    /// the first `limit` edges in breadth-first order.
    package final func extent(
        zone: ZoneKey, below target: String, kind: ReferenceRow.Kind, limit: Int
    ) throws -> (depth: Int, count: Int) {
        try row(.referencesBelow) {
            try $0.bind(zone).bind(kind.rawValue).bind(target).bind(limit: limit)
        } read: { row in
            (Int(row.integer(0)), Int(row.integer(1)))
        } ?? (0, 0)
    }

    /// All edges from `source`.
    package final func references(zone: ZoneKey, from source: String) throws -> [ReferenceRow] {
        try rows(.referencesFrom) {
            try $0.bind(zone).bind(source)
        } read: { statement in
            guard let kind = ReferenceRow.Kind(rawValue: statement.integer(1)) else {
                throw StorageError(.damaged, "a reference of record \(source) has no kind \(statement.integer(1))")
            }
            return ReferenceRow(zone: zone, target: statement.text(0), kind: kind, source: source)
        }
    }

    // MARK: Schema and jobs

    /// All record types of the schema, those without fields included.
    package final func recordTypes() throws -> [String] {
        try rows(.recordTypes, bind: { _ in }, read: { $0.text(0) })
    }

    package final func schemaFields() throws -> [SchemaFieldRow] {
        try rows(.schemaFields) { _ in
        } read: {
            SchemaFieldRow(recordType: $0.text(0), field: $0.text(1), type: $0.text(2))
        }
    }

    /// The first jobs, oldest first.
    package final func jobs(limit: Int) throws -> [JobRow] {
        try rows(.jobs) {
            try $0.bind(limit: limit)
        } read: {
            JobRow($0)
        }
    }

    /// The jobs after a position, ordered by owner and id.
    package final func jobs(after position: JobPosition, limit: Int) throws -> [JobRow] {
        try rows(.jobsAfter) {
            try $0.bind(position.owner.rawValue).bind(position.id).bind(limit: limit)
        } read: {
            JobRow($0)
        }
    }
}

/// A record's zone and name, compared byte by byte: different names may be equal strings.
private struct RecordPlace: Hashable {
    var zone: ZoneKey
    var name: [UInt8]
}

extension SQLStatement {
    @discardableResult func bind(_ zone: ZoneKey) throws -> Self {
        try bind(zone.owner.rawValue).bind(zone.id)
    }

    /// A negative limit means "all" to SQLite and is an error in PostgreSQL; here it means none.
    @discardableResult func bind(limit: Int) throws -> Self {
        try bind(Int64(max(0, limit)))
    }
}

extension JobRow {
    fileprivate init(_ row: any SQLStatement) {
        self.init(
            id: row.integer(0), kind: row.text(1),
            zone: ZoneKey(owner: OwnerID(rawValue: row.integer(2)), id: row.integer(3)), subject: row.text(4))
    }
}

extension ZoneRow {
    init(owner: OwnerID, _ row: any SQLStatement, at start: Int = 0) {
        self.init(
            key: ZoneKey(owner: owner, id: row.integer(start + 0)), name: row.text(start + 1),
            sequence: row.integer(start + 2),
            isDeleted: row.integer(start + 6) != 0, clientChangeToken: row.optionalText(start + 3),
            changed: row.integer(start + 4),
            purgedUntil: row.integer(start + 5), deletionReason: row.integer(start + 7))
    }
}
