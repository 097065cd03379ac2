/// Typed reads and writes in one transaction. Reads see the transaction's own writes.
package final class StorageTransaction: StorageReader {
    private let sequence: SequenceCounter
    /// Whether the transaction ran a statement that may have changed rows.
    var hasWritten = false
    /// The number of rows that the transaction has written or removed, edges and index entries included.
    package internal(set) var writtenRows = 0
    /// The number of rows that a purge or a cascade writes for each record of its limit: edges and index entries, of
    /// which a record may have thousands.
    package static let rowsPerRecord = 10
    /// The zones that were passed to `noteChange`, each with its last change sequence. The commit stores them once for
    /// all transactions of a group.
    package private(set) var changedZones: [ZoneKey: Int64] = [:]

    package init(_ connection: any SQLConnection, sequence: SequenceCounter) {
        self.sequence = sequence
        super.init(connection)
    }

    /// Returns the next change sequence. It is unique, and larger than the sequences of all writes that were answered
    /// before this write began.
    package func nextSequence() throws -> Int64 {
        if let failure { throw failure }
        return try sequence.next()
    }

    /// Returns a change sequence that separates all writes committed before this one from all writes committed after
    /// it. So callers may compare it with the sequences of rows.
    package func nextSeparatingSequence() throws -> Int64 {
        try runAlone()
        return try nextSequence()
    }

    /// Makes the transaction exclude all other writes of the store; meant for rare operations. A change sequence that
    /// is taken afterwards is above the sequences of all writes that commit before this one, and below those of all
    /// writes that commit after it.
    /// - Throws: an error if the body has to run again to get exclusive access.
    package func runAlone() throws {
        if let failure { throw failure }
        try connection.runAlone()
    }

    /// Declares that the body is idempotent: running it again after its own commit changes nothing. So the engine
    /// reruns it if the answer to the commit is lost. A body that stores the outcome of its request is idempotent
    /// anyway.
    package func mayRepeat() { connection.mayRepeat() }

    /// Declares that the commit need not wait for the disk: nothing is acknowledged before a later commit has. SQLite waits
    /// all the same.
    package func commitAsynchronously() throws { try attempt { try connection.commitAsynchronously() } }

    /// Returns an ID for a notification. It is unique, and larger than the IDs of all writes that were answered before
    /// this write began.
    package func nextOutboxID() throws -> Int64 { try nextSequence() }

    /// Runs a statement without result rows. Returns the number of changed rows.
    @discardableResult
    func change(_ sql: SQL, _ bind: (any SQLStatement) throws -> Void) throws -> Int {
        hasWritten = true
        return try run(sql) { statement in
            try bind(statement)
            _ = try statement.step()
            let changes = statement.changes
            writtenRows += changes
            return changes
        }
    }

    /// Runs an insertion. Returns the ID of the new row.
    func insert(_ sql: SQL, _ bind: (any SQLStatement) throws -> Void) throws -> Int64 {
        hasWritten = true
        return try run(sql) { statement in
            try bind(statement)
            guard try statement.step() else { throw StorageError(.other, "\(sql) gave no id.") }
            return statement.integer(0)
        }
    }

    // MARK: Zones

    /// Sets the secret of the store, unless the store has one.
    package func setSecret(_ secret: [UInt8]) throws {
        try change(.setSecret) { try $0.bind(secret) }
    }

    /// Adds a live zone under a new ID.
    /// - Throws: `StorageError` `.constraint` if the owner already has a live zone with that name.
    package func insertZone(owner: OwnerID, name: String, sequence: Int64) throws -> ZoneRow {
        let id = try insert(.insertZone) { try $0.bind(owner: owner.rawValue).bind(name).bind(sequence).bind(sequence) }
        return ZoneRow(key: ZoneKey(owner: owner, id: id), name: name, sequence: sequence, changed: sequence)
    }

    /// Marks a zone as deleted at the change sequence `sequence` and at `time` (in milliseconds since 1970). The code
    /// for the reason is opaque to the storage layer. The zone's records stay until they are purged.
    /// - Throws: `StorageError` `.constraint` if the zone is not live.
    package func markZoneDeleted(_ zone: ZoneKey, sequence: Int64, at time: Int64, reason: Int64) throws {
        let changed = try change(.markZoneDeleted) { try $0.bind(sequence).bind(time).bind(reason).bind(zone) }
        guard changed == 1 else {
            throw StorageError(.constraint, "Zone \(zone.id) of owner \(zone.owner.rawValue) is not a live zone.")
        }
    }

    /// Records that the zone changed. The commit stores the last issued sequence as that of the change. Writers of one
    /// zone must not block each other for this, so an engine in which they would block stores it outside of the zone's
    /// row.
    package func noteChange(zone: ZoneKey) throws {
        if let failure { throw failure }
        changedZones[zone] = sequence.last
    }

    /// Stores the token that the client which modifies the zone supplied; nil for none. Like `noteChange`, it does not
    /// make the writers of one zone block each other.
    package func setClientChangeToken(_ token: String?, zone: ZoneKey) throws {
        try change(.setClientChangeToken) { try $0.bind(token).bind(zone) }
    }

    /// Removes up to `limit` records of a deleted or expired zone, once the zone has no edges left, and the edges and
    /// index entries of about as many records.
    /// - Returns: the number of removed records, or `limit` if edges or index entries may remain.
    /// - Throws: `StorageError` `.constraint` if the zone is live.
    package func purgeRecords(zone: ZoneKey, limit: Int) throws -> Int {
        let isDeleted = try row(.zoneDeletion, bind: { try $0.bind(zone) }, read: { $0.integer(0) != 0 })
        // An expired zone has no row in the table of zones, but its content may have rows left.
        guard isDeleted != false else {
            throw StorageError(.constraint, "Zone \(zone.id) of owner \(zone.owner.rawValue) is not a deleted zone.")
        }
        let rows = Self.rows(of: limit)
        if try change(.purgeReferences, { try $0.bind(zone).bind(limit: rows) }) >= rows { return limit }
        let purged = try change(.purgeRecords) { try $0.bind(zone).bind(limit: limit) }
        if try purgeSharedRecords(zone: zone, limit: limit) >= limit { return limit }
        return try purgeIndexEntries(zone: zone, limit: limit) ? purged : limit
    }

    /// The number of edges or index entries that a piece of `limit` records may have.
    private static func rows(of limit: Int) -> Int {
        limit > .max / rowsPerRecord ? limit : rowsPerRecord * limit
    }

    /// Removes entries of the zone's first index: up to `rowsPerRecord` times `limit`.
    /// - Returns: whether the zone has no index entries left.
    private func purgeIndexEntries(zone: ZoneKey, limit: Int) throws -> Bool {
        let first = try row(.firstIndexOfZone, bind: { try $0.bind(zone) }, read: { $0.integer(0) })
        guard let first else { return true }
        try change(.purgeIndexEntries) {
            try $0.bind(zone).bind(first).bind(limit: Self.rows(of: limit))
        }
        return try row(.firstIndexOfZone, bind: { try $0.bind(zone) }, read: { $0.integer(0) }) == nil
    }

    // MARK: Records and references

    /// Inserts the record or tombstone, or replaces the row with the same name. A row that was read before keeps its
    /// number.
    /// - Returns: the number of the record.
    @discardableResult
    package func put(_ record: RecordRow) throws -> RowNumber {
        hasWritten = true
        writtenRows += 1
        if let failure { throw failure }
        do {
            if let number = try connection.put(record) { return number }
        } catch let error as StorageError {
            fail(error)
            throw error
        }
        if record.number.value > 0 {
            let updated = try run(.updateRecord) { statement in
                try statement.bind(contentOf: record).bind(record.number.value).bind(record.zone).bind(record.name)
                _ = try statement.step()
                return statement.changes
            }
            if updated > 0 { return record.number }
        }
        let added = try run(.putRecord) { statement in
            try statement.bind(record.zone).bind(record.name).bind(contentOf: record).insert()
        }
        if let added { return RowNumber(added) }
        let number = try row(.recordNumber, bind: { try $0.bind(record.zone).bind(record.name) }) { $0.integer(0) }
        return RowNumber(number ?? 0)
    }

    /// Adds an edge. Does nothing if the edge exists.
    package func insert(_ reference: ReferenceRow) throws {
        try change(.insertReference) { try $0.bind(reference) }
    }

    /// Removes an edge. Does nothing if the edge does not exist.
    package func remove(_ reference: ReferenceRow) throws {
        try change(.removeReference) { try $0.bind(reference) }
    }

    // MARK: Schema and jobs

    /// Adds a record type. Does nothing if the type exists.
    package func insertRecordType(_ name: String) throws {
        try change(.insertRecordType) { try $0.bind(name) }
    }

    /// Adds a field to the schema, or changes the field's type.
    package func put(_ field: SchemaFieldRow) throws {
        try change(.putSchemaField) { try $0.bind(field.recordType).bind(field.field).bind(field.type) }
    }

    /// Adds a job under a new ID.
    package func insert(_ job: JobRow) throws {
        try change(.insertJob) { try $0.bind(job.kind).bind(job.zone).bind(job.subject) }
    }

    package func removeJob(id: Int64) throws {
        try change(.removeJob) { try $0.bind(id) }
    }

    /// Locks a job against other transactions until this one ends.
    /// - Returns: false if the job was removed, or if another transaction has locked it.
    package func claim(_ job: JobRow) throws -> Bool {
        try row(.claimJob, bind: { try $0.bind(job.id) }, read: { _ in true }) ?? false
    }
}

extension SQLStatement {
    /// Binds the columns of a record after its name, in the order of `SQL.contentColumns`.
    @discardableResult package func bind(contentOf record: RecordRow) throws -> Self {
        try bind(record.sequence).bind(record.type).bind(record.isDeleted ? 1 : 0).bind(record.createdAt)
            .bind(record.createdBy).bind(record.modifiedAt).bind(record.modifiedBy).bind(record.parent)
            .bind(record.share).bind(record.checksum).bind(record.fields)
    }

    @discardableResult func bind(_ reference: ReferenceRow) throws -> Self {
        try bind(reference.zone).bind(reference.target).bind(reference.kind.rawValue).bind(reference.source)
    }
}

/// Generates change sequences in memory. If one counter serves all writes, the writer stores the last sequence with
/// each commit. A failed write's sequence is not reused while the store is open, so there may be gaps.
package final class SequenceCounter {
    package private(set) var last: Int64
    private var limit = Int64.max
    private var start: (() throws -> (first: Int64, last: Int64))?

    package init(last: Int64) {
        self.last = last
    }

    /// - Parameter start: returns the first and the last sequence of the counter's range. It is called on first use.
    package init(_ start: @escaping () throws -> (first: Int64, last: Int64)) {
        last = 0
        self.start = start
    }

    func next() throws -> Int64 {
        if let start {
            let range = try start()
            (last, limit, self.start) = (range.first - 1, range.last, nil)
        }
        guard last < limit else {
            throw StorageError(.constraint, "a transaction takes no more change sequences than it has; split it")
        }
        last += 1
        return last
    }
}
