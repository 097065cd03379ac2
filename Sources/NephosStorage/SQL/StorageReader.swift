/// Typed reads over one snapshot, valid only inside the body that receives the reader. Texts are compared by their
/// UTF-8 bytes. A limit of zero or less returns no rows.
package class StorageReader {
    final let connection: any SQLConnection
    /// The reason why the reader is invalid: an operation failed, or the body returned. Nil while the reader is valid.
    package fileprivate(set) final var failure: StorageError?
    /// The cache of zones that were found in the snapshot. Nil if zones are not cached, because the state of a
    /// transaction changes.
    private(set) final var foundZones: [ZoneRow]?
    /// The records that `expectRecords` read before they are visited, by name. The value nil stands for a name without
    /// a record.
    private final var expected: [RecordPlace: RecordRow?] = [:]
    /// The rows of those records under their current shares, if `expectRecords` was asked for them.
    private final var expectedShares: [RecordPlace: SharedRecordRow?] = [:]
    /// The rows that `expectSharedRecords` read, by name, until they are written.
    final var sharedRows: [RecordPlace: [SharedRecordRow]] = [:]

    /// - Parameter foundZones: the zones that the last reader of the same snapshot found; nil if zones must not be
    ///   cached.
    package init(_ connection: any SQLConnection, foundZones: [ZoneRow]? = nil) {
        self.connection = connection
        self.foundZones = foundZones
    }

    /// Counts work of the reader's body on values that it has read.
    /// - Throws: `StorageError` `.tooLong` if the read reaches its limit.
    package final func spend(bytes: Int) throws { try connection.meter.spend(bytes: bytes) }

    /// Makes every later call fail, because the body has returned.
    package final func invalidate() {
        failure = StorageError(.other, "The reader or transaction was used after its body returned.")
    }

    /// Makes every later call fail with `error`.
    final func fail(_ error: StorageError) { failure = error }

    /// Runs one statement. After a failure every later statement fails too, because databases differ in the statements
    /// that they accept then.
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

    /// Returns all rows of a statement.
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

    /// Returns the first row of a statement; nil if it has no rows.
    final func row<Row>(
        _ sql: SQL, bind: (any SQLStatement) throws -> Void, read: (any SQLStatement) throws -> Row
    ) throws -> Row? {
        try run(sql) { statement in
            try bind(statement)
            return try statement.step() ? read(statement) : nil
        }
    }

    /// The secret of the store; nil until it is set.
    package final func secret() throws -> [UInt8]? {
        try row(.secret, bind: { _ in }, read: { $0.bytes(0) })
    }

    /// The change sequences that the store issued after a backup was taken and lost when it was restored from that
    /// backup. No row has one of these sequences.
    package final func lostSequences() throws -> [ClosedRange<Int64>] {
        try rows(.lostSequences, bind: { _ in }) { row in
            let first = row.integer(0)
            return first...max(first, row.integer(1))
        }
    }

    /// A number that grows when the database is replaced by one that may lack changes. All tokens of an earlier epoch
    /// are then invalid.
    package final func tokenEpoch() throws -> Int64 {
        try row(.tokenEpoch, bind: { _ in }, read: { $0.integer(0) }) ?? 0
    }

    // MARK: Zones

    /// Whether `expectZone` and `expectRecords` save round trips to another process.
    package final var readsAhead: Bool { type(of: connection).isRemote }

    /// Announces that zones are looked up for their change feeds. A remote engine then reads the last change sequence of
    /// each zone together with the zone.
    package final func expectFeeds() { connection.expectFeeds() }

    /// Announces that the zone with this name is looked up next, and then its records with these names. If `shares` is
    /// not 0, as many of its shares are looked up too. A remote engine reads all of them together.
    package final func expectZone(named name: String, records: [String], shares: Int) {
        connection.expectZone(named: name, records: records, shares: shares)
    }

    /// The live zone with that name; nil if there is none.
    package final func zone(owner: OwnerID, named name: String) throws -> ZoneRow? {
        // Compares byte by byte, because `==` treats canonically equivalent names as equal.
        let isWanted = { (zone: ZoneRow) in zone.key.owner == owner && zone.name.utf8.elementsEqual(name.utf8) }
        if failure == nil, let zone = foundZones?.first(where: isWanted) { return zone }
        let found = try row(.zoneByName) {
            try $0.bind(owner: owner.rawValue).bind(name)
        } read: {
            ZoneRow(owner: owner, $0)
        }
        if let found { note(found) }
        return found
    }

    /// Caches a zone that was found. If the cache is full, the zone replaces another one.
    private final func note(_ zone: ZoneRow) {
        guard let count = foundZones?.count else { return }
        if count < Self.mostFoundZones {
            foundZones?.append(zone)
        } else {
            foundZones?[Int(zone.key.id.magnitude % UInt64(Self.mostFoundZones))] = zone
        }
    }

    private static var mostFoundZones: Int { 8 }

    /// The live zones of an owner, ordered by name (byte-wise), without their client change tokens, which may be long.
    package final func zones(owner: OwnerID) throws -> [ZoneRow] {
        try rows(.zones, bind: { try $0.bind(owner: owner.rawValue) }, read: { ZoneRow(owner: owner, $0) })
    }

    /// The number of an owner's live zones; at most `limit`.
    package final func zoneCount(owner: OwnerID, limit: Int) throws -> Int {
        try row(.zoneCount) {
            try $0.bind(owner: owner.rawValue).bind(limit: limit)
        } read: {
            Int($0.integer(0))
        } ?? 0
    }

    /// The bytes of the name and the client change token of a zone.
    package struct ZoneSize {
        package var id: Int64
        package var name: String
        package var bytes: Int64
        package var isDeleted: Bool
    }

    /// The sizes of an owner's zones, deleted ones included, by name and ID: at most `limit` after another one.
    package final func zoneSizes(owner: OwnerID, after last: ZoneSize?, limit: Int) throws -> [ZoneSize] {
        try rows(.zoneSizes) {
            try $0.bind(owner: owner.rawValue).bind(last?.name ?? "").bind(last?.id ?? 0).bind(limit: limit)
        } read: {
            ZoneSize(id: $0.integer(0), name: $0.text(3), bytes: $0.integer(1), isDeleted: $0.integer(2) != 0)
        }
    }

    /// The live zones of an owner that changed after `sequence`, ordered by their last change: at most `limit`.
    package final func zones(owner: OwnerID, changedAfter sequence: Int64, limit: Int) throws -> [ZoneRow] {
        try rows(.zonesByChange) {
            try $0.bind(owner: owner.rawValue).bind(sequence).bind(limit: limit)
        } read: {
            ZoneRow(owner: owner, $0)
        }
    }

    /// The zones of an owner that were deleted after `sequence` and not recreated, in the order of their deletion. Of
    /// several zones with one name, only the last is returned.
    package final func deletedZones(owner: OwnerID, after sequence: Int64, limit: Int) throws -> [ZoneRow] {
        try rows(.deletedZones) {
            try $0.bind(owner: owner.rawValue).bind(sequence).bind(limit: limit)
        } read: {
            ZoneRow(owner: owner, $0)
        }
    }

    /// The last deleted zone with that name; nil if there is none.
    package final func lastDeletedZone(owner: OwnerID, named name: String) throws -> ZoneRow? {
        try row(
            .lastDeletedZone, bind: { try $0.bind(owner: owner.rawValue).bind(name) },
            read: { ZoneRow(owner: owner, $0) })
    }

    /// A change sequence such that the reader sees all changes of these owners at or below it, and that later changes are
    /// above it: for comparing sequences of several owners. `.max` in an engine that serialises its writes.
    package final func settledSequence(of owners: Set<OwnerID>) throws -> Int64 {
        try attempt { try connection.settledSequence(of: owners) }
    }

    /// The change sequence of the last change or deletion of one of the owner's zones.
    package final func completeUpTo(owner: OwnerID) throws -> Int64 {
        let sequences = try [SQL.lastChangeOfZones, .lastDeletionOfZones].map { sql in
            try row(sql) {
                try $0.bind(owner: owner.rawValue)
            } read: {
                $0.integer(0)
            } ?? 0
        }
        return sequences.max() ?? 0
    }

    /// The change sequence of the latest deletion among the owner's expired zones; 0 if no zone has expired.
    package final func zonesForgotten(owner: OwnerID) throws -> Int64 {
        try row(.forgottenZones, bind: { try $0.bind(owner: owner.rawValue) }, read: { $0.integer(0) }) ?? 0
    }

    /// Whether `purgeTombstones` has tombstones to remove. The next method answers the same for `forgetZones`.
    package final func hasTombstone(deletedBefore time: Int64) throws -> Bool {
        try row(.expiredTombstones) {
            try $0.bind(time).bind(limit: 1)
        } read: { _ in
            true
        } ?? false
    }

    package final func hasForgettableZone(deletedBefore time: Int64) throws -> Bool {
        try row(.expiredZones, bind: { try $0.bind(time).bind(limit: 1) }, read: { _ in true }) ?? false
    }

    // MARK: Records

    /// Returns a view of the record at the statement's current row.
    @inline(__always)
    final func visited(_ zone: ZoneKey, _ row: some SQLStatement) -> RecordRowView {
        let record = RecordRowView(zone: zone, row)
        if record.isDamaged { connection.noteDamage(record) }
        return record
    }

    /// The change sequence of the zone's last record or tombstone; 0 if there is none. All later changes are above it.
    package final func completeUpTo(zone: ZoneKey) throws -> Int64 {
        if let known = try attempt({ try connection.knownCompletion(of: zone) }) { return known }
        return try row(.lastSequenceOfZone, bind: { try $0.bind(zone) }) { $0.integer(0) } ?? 0
    }

    /// The record or tombstone with that name; nil if there is none.
    package final func record(zone: ZoneKey, named name: String) throws -> RecordRow? {
        try row(.recordByName, bind: { try $0.bind(zone).bind(name) }, read: { visited(zone, $0).row })
    }

    /// The name of a record's parent, read without the record's fields; nil if it has none, or does not exist.
    package final func parent(zone: ZoneKey, ofRecord name: String) throws -> String? {
        try row(.recordParent, bind: { try $0.bind(zone).bind(name) }, read: { $0.optionalText(0) }) ?? nil
    }

    /// The record or tombstone of the zone with that number in this snapshot; nil if there is none.
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

    /// Visits the record or tombstone in the database's memory. `body` is called at most once, and may read anything
    /// except records.
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

    /// Announces that records with these names are visited next. A remote engine reads them in one round trip, as many
    /// as fit in `size` bytes of fields.
    /// - Parameter withShares: whether the rows of the records under their current shares are read too.
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
        // If the size limit left out records, missing names prove nothing. Those names are then looked up one by one.
        let isWhole = found.reduce(0) { $0 + $1.fields.count } < size
        if isWhole { for name in names { expected[RecordPlace(zone: zone, name: Array(name.utf8))] = .some(nil) } }
        for record in found { expected[RecordPlace(zone: zone, name: Array(record.name.utf8))] = record }
    }

    /// Returns a record's row under its current share as `expectRecords` read it. The inner nil stands for a record
    /// under no share, and the outer nil for an unknown one.
    final func expectedShare(zone: ZoneKey, named name: String) -> SharedRecordRow?? {
        expectedShares.isEmpty ? nil : expectedShares[RecordPlace(zone: zone, name: Array(name.utf8))]
    }

    /// The records and tombstones of the zone written after `sequence`, ordered by sequence. The page ends with the row
    /// at which the fields reach `size` bytes, or at `limit` rows.
    package final func records(
        zone: ZoneKey, after sequence: Int64, limit: Int, size: Int
    ) throws -> [RecordRow] {
        var rows: [RecordRow] = []
        try visitRecords(zone: zone, after: sequence, limit: limit, size: size) { rows.append($0.row) }
        return rows
    }

    /// Visits the same rows in the database's memory, in order. `body` is called once for each row, and may run other
    /// reads.
    package final func visitRecords(
        zone: ZoneKey, after sequence: Int64, limit: Int, size: Int, _ body: (RecordRowView) throws -> Void
    ) throws {
        try visit(.recordsAfter, zone, sequence, limit, size, body)
    }

    /// Visits the records and tombstones of the zone written before `sequence`, the last one first. The page ends as that
    /// of `visitRecords(zone:after:limit:size:_:)`.
    package final func visitRecords(
        zone: ZoneKey, before sequence: Int64, limit: Int, size: Int, _ body: (RecordRowView) throws -> Void
    ) throws {
        try visit(.recordsBefore, zone, sequence, limit, size, body)
    }

    private final func visit(
        _ sql: SQL, _ zone: ZoneKey, _ sequence: Int64, _ limit: Int, _ size: Int,
        _ body: (RecordRowView) throws -> Void
    ) throws {
        try run(sql) { statement in
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

    /// The records and tombstones of the zone written after `sequence`, ordered by sequence: at most `limit`, whatever
    /// their size.
    package final func records(zone: ZoneKey, after sequence: Int64, limit: Int) throws -> [RecordRow] {
        try records(zone: zone, after: sequence, limit: limit, size: .max)
    }

    /// The number of the zone's records and tombstones written after `sequence`, the bytes of their fields and names,
    /// and the last's sequence: of the first `limit`. The fields are not read.
    package final func recordSizes(
        zone: ZoneKey, after sequence: Int64, limit: Int
    ) throws -> (count: Int, bytes: Int64, lastSequence: Int64) {
        let sizes = try rows(.recordSizes, bind: { try $0.bind(zone).bind(sequence).bind(limit: limit) }) {
            (sequence: $0.integer(0), size: $0.integer(1))
        }
        return (sizes.count, sizes.reduce(0) { $0 + $1.size }, sizes.last?.sequence ?? sequence)
    }

    /// Whether the zone has a record or tombstone written after `sequence`.
    package final func hasRecord(zone: ZoneKey, after sequence: Int64) throws -> Bool {
        var isFound = false
        try visitRecords(zone: zone, after: sequence, limit: 1, size: .max) { _ in isFound = true }
        return isFound
    }

    // MARK: References

    /// The edges of the given kinds to `target`, ordered by source name (byte-wise) and kind. If `source` is not nil,
    /// only edges from sources after it are returned. `limit` counts sources, because all edges from one source are
    /// returned together.
    package final func references(
        zone: ZoneKey, to target: String, kinds: [ReferenceRow.Kind], after source: String?, limit: Int
    ) throws -> [ReferenceRow] {
        let kinds = Set(kinds)
        let edges = try kinds.flatMap { kind in
            try references(zone: zone, to: target, kind: kind, after: source, limit: limit)
        }
        return kinds.count == 1 ? edges : Self.firstSources(limit, of: edges)
    }

    /// Scans one range of the index, so that the cost grows with `limit` and not with the number of edges.
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

    /// Returns the edges from the first `limit` sources, by name.
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

    /// The transitive edges of one kind that lead to `target`: the length of the longest path, and the number of edges.
    /// Both count only the first `limit` edges in breadth-first order.
    package final func extent(
        zone: ZoneKey, below target: String, kind: ReferenceRow.Kind, limit: Int
    ) throws -> (depth: Int, count: Int) {
        try row(.referencesBelow) {
            try $0.bind(zone).bind(kind.rawValue).bind(target).bind(limit: limit)
        } read: { row in
            (Int(row.integer(0)), Int(row.integer(1)))
        } ?? (0, 0)
    }

    /// All edges from the record `source`.
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

    /// All record types of the schema, including types without fields.
    package final func recordTypes() throws -> [String] {
        try rows(.recordTypes, bind: { _ in }, read: { $0.text(0) })
    }

    package final func schemaFields() throws -> [SchemaFieldRow] {
        try rows(.schemaFields) { _ in
        } read: {
            SchemaFieldRow(recordType: $0.text(0), field: $0.text(1), type: $0.text(2))
        }
    }

    /// The first `limit` jobs, the oldest first.
    package final func jobs(limit: Int) throws -> [JobRow] {
        try rows(.jobs) {
            try $0.bind(limit: limit)
        } read: {
            JobRow($0)
        }
    }

    /// The jobs after a position, ordered by owner and ID: at most `limit`.
    package final func jobs(after position: JobPosition, limit: Int) throws -> [JobRow] {
        try rows(.jobsAfter) {
            try $0.bind(owner: position.owner.rawValue).bind(position.id).bind(limit: limit)
        } read: {
            JobRow($0)
        }
    }
}

/// A record's zone and name. Names are compared byte by byte, because `==` treats different names as equal if they are
/// canonically equivalent.
struct RecordPlace: Hashable {
    var zone: ZoneKey
    var name: [UInt8]
}

extension SQLStatement {
    @discardableResult func bind(_ zone: ZoneKey) throws -> Self {
        try bind(owner: zone.owner.rawValue).bind(zone.id)
    }

    /// A negative limit means "all" to SQLite and is an error in PostgreSQL. This method turns it into 0, which returns
    /// no rows.
    @discardableResult func bind(limit: Int) throws -> Self {
        try bind(Int64(max(0, limit)))
    }
}

extension JobRow {
    fileprivate init(_ row: any SQLStatement) {
        self.init(
            id: row.integer(0), kind: row.text(1),
            zone: ZoneKey(row, at: 2), subject: row.text(4))
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
