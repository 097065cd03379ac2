import NephosStorage

/// Builds indexes over a zone with many records. It gathers entries in snapshots, which block no writer, sorts the
/// entries, and writes them in index order in several transactions. If entries were written in record order instead,
/// every few thousand of them would change as many pages of a large index.
///
/// A record that is saved after it was gathered has its entries already (`IndexWriter`), so its gathered entries are
/// skipped: each transaction scans the zone's feed since gathering began. The build position is stored with the last
/// entries. After a crash the same records are therefore gathered again; an existing entry is not written twice.
struct IndexBulkBuild: Sendable {
    /// The definitions of the indexes being built, as read at the start.
    private let definitions: [IndexDefinitionRow]
    private let recordType: String
    private let zone: ZoneKey
    /// The change sequence of the newest definition. Saves have written the entries of later records.
    private let lastSequence: Int64
    /// The change sequence of the last gathered record.
    private var sequence: Int64
    /// Whether a gathered record was damaged.
    private var leavesOut = false
    /// Whether the zone has no more records.
    private var isAtEnd = false
    /// The position up to which the feed was scanned.
    private var checked: Int64
    /// The numbers of the records that were saved since gathering began.
    private var touched: Set<Int64> = []
    private var written = 0
    /// The maximum number of entries in the next transaction, which is bounded by the time it may block other writers.
    var room = Limits.entriesPerIndexWrite
    /// Whether more records were saved since the last scan than one transaction scans. Then nothing was written.
    private(set) var isBehind = false

    /// Nil if few records are left in the next zone: `IndexBuildStep` builds their entries in one transaction.
    init?(_ reader: StorageReader) throws {
        let rows = try reader.indexDefinitions()
        definitions = IndexBuildStep.next(rows)
        guard let first = definitions.first, IndexDefinitions(definitions)[first.recordType] != nil,
            let zone = try reader.zones(after: first.builtZone - 1, limit: 1).first?.key
        else { return nil }
        recordType = first.recordType
        self.zone = zone
        lastSequence = definitions.map(\.definedAt).max() ?? 0
        sequence = zone.id == first.builtZone ? first.builtSequence : 0
        checked = try reader.completeUpTo(zone: zone)
        var count = 0
        try reader.visitRecords(zone: zone, after: sequence, limit: Limits.recordsPerIndexStep, size: .max) { _ in
            count += 1
        }
        if count < Limits.recordsPerIndexStep { return nil }
    }

    /// Gathers the entries of the next records.
    func gather(_ reader: StorageReader, _ accounts: Accounts) throws -> Gathered {
        var gathered = Gathered(sequence: sequence)
        let known = IndexDefinitions(definitions)
        guard let indexes = known[recordType] else { return gathered }
        let writer = IndexWriter(definitions: known, accounts: accounts)
        let rows = try reader.records(
            zone: zone, after: sequence, limit: Limits.recordsPerIndexStep, size: Limits.indexBuildMemory)
        gathered.isAtEnd = rows.isEmpty
        for row in rows {
            if row.sequence > lastSequence {
                gathered.isAtEnd = true
                break
            }
            gathered.sequence = row.sequence
            if row.isDamaged {
                gathered.leavesOut = true
                for definition in definitions { gathered.entries.add(definition.leftOut, [], row) }
                continue
            }
            guard row.type == recordType, !row.isDeleted else { continue }
            let record = try writer.record(row, indexes, reader)
            for definition in indexes.definitions {
                for value in definition.signature.entries(of: record) {
                    gathered.entries.add(definition.id, value, row)
                }
            }
        }
        return gathered
    }

    struct Gathered: Sendable {
        var sequence: Int64
        var isAtEnd = true
        /// Whether a damaged record was found.
        var leavesOut = false
        var entries = EntryBatch()
    }

    /// - Returns: whether enough entries are gathered to be written.
    mutating func add(_ gathered: Gathered, to entries: inout EntryBatch) -> Bool {
        entries.add(gathered.entries)
        sequence = gathered.sequence
        isAtEnd = gathered.isAtEnd
        leavesOut = leavesOut || gathered.leavesOut
        guard isAtEnd || entries.size >= Limits.indexBuildMemory else { return false }
        entries.sort()
        return true
    }

    /// Whether the next write is the last one, which also stores the build position.
    func endsNext(_ entries: EntryBatch) -> Bool { written + room >= entries.count }

    /// Writes the next entries.
    /// - Returns: the remainder of the build; nil if the zone or an index was deleted, the build position has changed,
    ///   or the entries must be gathered again.
    func write(_ entries: EntryBatch, in transaction: StorageTransaction) throws -> IndexBulkBuild? {
        // A concurrent save would not see the entries of this transaction that the save must remove.
        try transaction.runAlone()
        guard try IndexBuildStep.next(transaction.indexDefinitions()) == definitions,
            let name = try transaction.zones(after: zone.id - 1, limit: 1).first?.name,
            let row = try transaction.zone(owner: zone.owner, named: name), row.key == zone,
            // The feed lacks purged tombstones, and another record may have reused the number of a purged record.
            row.purgedUntil <= checked
        else { return nil }
        var rest = self
        rest.isBehind = try !rest.checkFeed(transaction)
        if rest.isBehind { return rest }
        let end = min(written + room, entries.count)
        let next = (written..<end).map { entries[$0, zone] }
        try transaction.insert(next.filter { !rest.touched.contains($0.record) })
        rest.written = end
        if end == entries.count {
            for var row in definitions {
                row.builtZone = isAtEnd ? zone.id + 1 : zone.id
                row.builtSequence = isAtEnd ? 0 : sequence
                row.leavesOut = row.leavesOut || leavesOut
                try transaction.updateIndexDefinition(row)
            }
        }
        return rest
    }

    /// Scans a part of the zone's feed in a snapshot, so that the write transactions have little to scan.
    func catchingUp(_ reader: StorageReader) throws -> (rest: IndexBulkBuild, isDone: Bool) {
        var rest = self
        let isDone = try rest.checkFeed(reader)
        return (rest, isDone)
    }

    /// - Returns: whether the scan reached the end of the feed.
    private mutating func checkFeed(_ reader: StorageReader) throws -> Bool {
        var count = 0
        var last = checked
        try reader.visitRecords(zone: zone, after: checked, limit: Limits.recordsPerIndexStep, size: .max) { record in
            touched.insert(record.number.value)
            last = record.sequence
            count += 1
        }
        // The next scan reads records beyond `complete` again, together with records committed in between.
        let complete = try reader.completeUpTo(zone: zone)
        let isDone = count < Limits.recordsPerIndexStep || last >= complete
        checked = max(checked, isDone ? complete : last)
        return isDone
    }
}
