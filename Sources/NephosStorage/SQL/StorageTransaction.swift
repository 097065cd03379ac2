/// Typed reads and writes in one transaction; reads see its own writes.
package final class StorageTransaction: StorageReader {
    private let sequence: SequenceCounter
    /// Whether a statement ran that may have changed rows.
    var hasWritten = false
    /// The zones passed to `noteChange`; the commit stores them, once for all transactions of a group.
    package private(set) var changedZones: [ZoneKey: Int64] = [:]

    package init(_ connection: any SQLConnection, sequence: SequenceCounter) {
        self.sequence = sequence
        super.init(connection)
    }

    /// The next change sequence: unique, and larger than those of all writes that were answered before this one began.
    package func nextSequence() throws -> Int64 {
        if let failure { throw failure }
        return try sequence.next()
    }

    /// A change sequence that the sequences of rows may be compared with: it separates what committed before this write from
    /// what commits after it.
    package func nextSeparatingSequence() throws -> Int64 {
        try runAlone()
        return try nextSequence()
    }

    /// Has the transaction run while no other write of the store does: for what happens seldom. A change sequence that is
    /// taken after it is above those of all writes that commit before this one, and below those of all that commit after.
    /// - Throws: where the body has to run again for that.
    package func runAlone() throws {
        if let failure { throw failure }
        try connection.runAlone()
    }

    /// Declares that a rerun of the body after its own commit changes nothing (idempotent): it reruns if the answer to
    /// the commit is lost. A body that stores its request's outcome is idempotent anyway.
    package func mayRepeat() { connection.mayRepeat() }

    /// A number for a notification: unique, and larger than those of all writes that were answered before this one
    /// began.
    package func nextOutboxID() throws -> Int64 { try nextSequence() }

    /// Runs a statement without result rows; returns the number of changed rows.
    @discardableResult
    func change(_ sql: SQL, _ bind: (any SQLStatement) throws -> Void) throws -> Int {
        hasWritten = true
        return try run(sql) { statement in
            try bind(statement)
            _ = try statement.step()
            return statement.changes
        }
    }

    /// Runs an insertion and returns the new row's id.
    func insert(_ sql: SQL, _ bind: (any SQLStatement) throws -> Void) throws -> Int64 {
        hasWritten = true
        return try run(sql) { statement in
            try bind(statement)
            guard try statement.step() else { throw StorageError(.other, "\(sql) gave no id.") }
            return statement.integer(0)
        }
    }

    // MARK: Zones

    /// Sets the store's secret, unless it has one.
    package func setSecret(_ secret: [UInt8]) throws {
        try change(.setSecret) { try $0.bind(secret) }
    }

    /// Adds a live zone under a new id.
    /// - Throws: `StorageError` `.constraint` if the owner has a live zone of that name.
    package func insertZone(owner: OwnerID, name: String, sequence: Int64) throws -> ZoneRow {
        let id = try insert(.insertZone) { try $0.bind(owner.rawValue).bind(name).bind(sequence).bind(sequence) }
        return ZoneRow(key: ZoneKey(owner: owner, id: id), name: name, sequence: sequence, changed: sequence)
    }

    /// Marks a zone deleted at `sequence` and `time` (milliseconds since 1970), for a reason that is opaque here. Its
    /// records stay until they are purged.
    /// - Throws: `StorageError` `.constraint` if the zone is not live.
    package func markZoneDeleted(_ zone: ZoneKey, sequence: Int64, at time: Int64, reason: Int64) throws {
        let changed = try change(.markZoneDeleted) { try $0.bind(sequence).bind(time).bind(reason).bind(zone) }
        guard changed == 1 else {
            throw StorageError(.constraint, "Zone \(zone.id) of owner \(zone.owner.rawValue) is not a live zone.")
        }
    }

    /// Stores, as of the commit, that the zone changed at the last given sequence. Writers of one zone must not block
    /// each other for it: an engine in which they would stores it outside of the zone's row.
    package func noteChange(zone: ZoneKey) throws {
        if let failure { throw failure }
        changedZones[zone] = sequence.last
    }

    /// Stores the token that a zone's modifying client supplied, nil for none; like `noteChange` without a row that
    /// blocks the zone's writers.
    package func setClientChangeToken(_ token: String?, zone: ZoneKey) throws {
        try change(.setClientChangeToken) { try $0.bind(token).bind(zone) }
    }

    /// Removes up to `limit` records of a deleted or forgotten zone, with their edges and about as many records' index
    /// entries; returns the number of removed records, or `limit` if index entries may remain.
    /// - Throws: `StorageError` `.constraint` if the zone is live.
    package func purgeRecords(zone: ZoneKey, limit: Int) throws -> Int {
        let isDeleted = try row(.zoneDeletion, bind: { try $0.bind(zone) }, read: { $0.integer(0) != 0 })
        // A forgotten zone may have rows left.
        guard isDeleted != false else {
            throw StorageError(.constraint, "Zone \(zone.id) of owner \(zone.owner.rawValue) is not a deleted zone.")
        }
        try change(.purgeReferencesOfRecords) { try $0.bind(zone).bind(limit: limit) }
        let purged = try change(.purgeRecords) { try $0.bind(zone).bind(limit: limit) }
        // Edges of missing source records, if any.
        if purged < limit { try change(.purgeReferences) { try $0.bind(zone) } }
        if try purgeSharedRecords(zone: zone, limit: limit) >= limit { return limit }
        return try purgeIndexEntries(zone: zone, limit: limit) ? purged : limit
    }

    /// Removes entries of a zone's first index: ten times `limit`, as a record has several entries.
    /// - Returns: whether the zone has no entries left.
    private func purgeIndexEntries(zone: ZoneKey, limit: Int) throws -> Bool {
        let first = try row(.firstIndexOfZone, bind: { try $0.bind(zone) }, read: { $0.integer(0) })
        guard let first else { return true }
        try change(.purgeIndexEntries) {
            try $0.bind(zone).bind(first).bind(limit: limit > .max / 10 ? limit : 10 * limit)
        }
        return try row(.firstIndexOfZone, bind: { try $0.bind(zone) }, read: { $0.integer(0) }) == nil
    }

    // MARK: Records and references

    /// Inserts or replaces the record or tombstone of that name; a row that was read keeps its number.
    /// - Returns: its number.
    @discardableResult
    package func put(_ record: RecordRow) throws -> RowNumber {
        hasWritten = true
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

    /// Adds an edge; adding one that exists changes nothing.
    package func insert(_ reference: ReferenceRow) throws {
        try change(.insertReference) { try $0.bind(reference) }
    }

    /// Removes an edge; removing one that does not exist changes nothing.
    package func remove(_ reference: ReferenceRow) throws {
        try change(.removeReference) { try $0.bind(reference) }
    }

    // MARK: Schema and jobs

    /// Adds a record type; adding one that exists changes nothing.
    package func insertRecordType(_ name: String) throws {
        try change(.insertRecordType) { try $0.bind(name) }
    }

    /// Adds a field or changes its type.
    package func put(_ field: SchemaFieldRow) throws {
        try change(.putSchemaField) { try $0.bind(field.recordType).bind(field.field).bind(field.type) }
    }

    /// Adds a job under a new id.
    package func insert(_ job: JobRow) throws {
        try change(.insertJob) { try $0.bind(job.kind).bind(job.zone).bind(job.subject) }
    }

    package func removeJob(id: Int64) throws {
        try change(.removeJob) { try $0.bind(id) }
    }

    /// Locks a job against other transactions until this one ends.
    /// - Returns: false if it was removed or another transaction has it.
    package func claim(_ job: JobRow) throws -> Bool {
        try row(.claimJob, bind: { try $0.bind(job.id) }, read: { _ in true }) ?? false
    }
}

extension SQLStatement {
    /// Binds a record's columns after its name, in the order of `SQL.contentColumns`.
    @discardableResult package func bind(contentOf record: RecordRow) throws -> Self {
        try bind(record.sequence).bind(record.type).bind(record.isDeleted ? 1 : 0).bind(record.createdAt)
            .bind(record.createdBy).bind(record.modifiedAt).bind(record.modifiedBy).bind(record.parent)
            .bind(record.share).bind(record.checksum).bind(record.fields)
    }

    @discardableResult func bind(_ reference: ReferenceRow) throws -> Self {
        try bind(reference.zone).bind(reference.target).bind(reference.kind.rawValue).bind(reference.source)
    }
}

/// Generates change sequences in memory. If one counter serves all writes, the writer stores the last one with each
/// commit; a failed write's number is not reused while the store is open, so there may be gaps.
package final class SequenceCounter {
    package private(set) var last: Int64
    private var limit = Int64.max
    private var start: (() throws -> (first: Int64, last: Int64))?

    package init(last: Int64) {
        self.last = last
    }

    /// - Parameter start: returns the first and the last number of its range, called on first use.
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
