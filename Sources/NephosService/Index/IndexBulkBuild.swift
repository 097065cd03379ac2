import NephosStorage

/// Builds indexes over a zone of many records. Their entries are gathered in snapshots, which holds up no writer, sorted,
/// and written in the order of the index, some in each transaction: written in the order of the records, every few
/// thousand entries would change as many pages of an index that is large already.
///
/// A record that is saved between the two has its entries by then (`IndexWriter`), and is left out: each transaction looks
/// through what the zone's feed got since the gathering began. How far the building came is stored with the last entries,
/// so that after a crash these records come again; an entry that exists is not written twice.
struct IndexBulkBuild: Sendable {
    /// The definitions that are built, as they were found.
    private let definitions: [IndexDefinitionRow]
    private let recordType: String
    private let zone: ZoneKey
    /// Records written later have their entries.
    private let lastSequence: Int64
    /// The last record that was gathered.
    private var sequence: Int64
    /// Whether one of those that were gathered was damaged.
    private var leavesOut = false
    /// Whether the zone has no more.
    private var isAtEnd = false
    /// Up to where the feed was looked through for records that were saved since, and their numbers.
    private var checked: Int64
    private var touched: Set<Int64> = []
    private var written = 0
    /// Entries of the next transaction: as many as hold up other writers for about as long as they may.
    var room = Limits.entriesPerIndexWrite
    /// Whether the feed got more than a transaction looks through: then nothing was written.
    private(set) var isBehind = false

    /// Nil where few records come next: those are built in one transaction (`IndexBuildStep`).
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

    /// The entries of the next records.
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
        /// Whether a record was damaged.
        var leavesOut = false
        var entries = EntryBatch()
    }

    /// - Returns: whether there are enough to be written.
    mutating func add(_ gathered: Gathered, to entries: inout EntryBatch) -> Bool {
        entries.add(gathered.entries)
        sequence = gathered.sequence
        isAtEnd = gathered.isAtEnd
        leavesOut = leavesOut || gathered.leavesOut
        guard isAtEnd || entries.size >= Limits.indexBuildMemory else { return false }
        entries.sort()
        return true
    }

    /// Whether the next writing is the last, which stores how far the building came.
    func endsNext(_ entries: EntryBatch) -> Bool { written + room >= entries.count }

    /// Writes the next of the entries.
    /// - Returns: what is left to do; nil where the zone or an index is gone, the building is somewhere else, or it has to
    ///   gather again.
    func write(_ entries: EntryBatch, in transaction: StorageTransaction) throws -> IndexBulkBuild? {
        // A save that goes on beside it would not find the entries that are to be removed with it.
        try transaction.runAlone()
        guard try IndexBuildStep.next(transaction.indexDefinitions()) == definitions,
            let name = try transaction.zones(after: zone.id - 1, limit: 1).first?.name,
            let row = try transaction.zone(owner: zone.owner, named: name), row.key == zone,
            // A record that was deleted and forgotten since is not in the feed, and its number can be another's.
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

    /// Looks through some of what the zone's feed got, in a snapshot: what is left for the transactions is little.
    func catchingUp(_ reader: StorageReader) throws -> (rest: IndexBulkBuild, isDone: Bool) {
        var rest = self
        let isDone = try rest.checkFeed(reader)
        return (rest, isDone)
    }

    /// - Returns: whether there is nothing more.
    private mutating func checkFeed(_ reader: StorageReader) throws -> Bool {
        var count = 0
        var last = checked
        try reader.visitRecords(zone: zone, after: checked, limit: Limits.recordsPerIndexStep, size: .max) { record in
            touched.insert(record.number.value)
            last = record.sequence
            count += 1
        }
        // What is beyond it comes again with the next look, beside what was committed between.
        let complete = try reader.completeUpTo(zone: zone)
        let isDone = count < Limits.recordsPerIndexStep || last >= complete
        checked = max(checked, isDone ? complete : last)
        return isDone
    }
}
