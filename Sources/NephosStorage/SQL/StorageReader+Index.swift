extension StorageReader {
    /// The live zones of all owners with IDs above `id`, ordered by ID: at most `limit`.
    package final func zones(after id: Int64, limit: Int) throws -> [ZoneRow] {
        try rows(.zonesAfter, bind: { try $0.bind(id).bind(limit: limit) }) { row in
            ZoneRow(
                key: ZoneKey(owner: OwnerID(rawValue: row.owner(1)), id: row.integer(0)), name: row.text(2),
                sequence: row.integer(3))
        }
    }

    /// The definitions of all indexes, ordered by ID.
    package final func indexDefinitions() throws -> [IndexDefinitionRow] {
        try rows(.indexDefinitions, bind: { _ in }) { row in
            let state = row.integer(3)
            var definition = IndexDefinitionRow(
                id: row.integer(0), recordType: row.text(1), components: row.text(2), isReady: state & 1 != 0,
                definedAt: row.integer(4), builtZone: row.integer(5), builtSequence: row.integer(6))
            definition.leavesOut = state & 2 != 0
            return definition
        }
    }

    /// The first entries of a range, ordered by value and name (both byte-wise); the first ones after `position` if it
    /// is not nil.
    package final func indexEntries(
        _ range: IndexRange, after position: IndexPosition?, limit: Int
    ) throws -> [IndexPosition] {
        guard let position, !position.value.lexicographicallyPrecedes(range.from) else {
            return try rows(
                .indexEntries, bind: { try $0.bind(range).bind(limit: limit) }, read: { IndexPosition($0) })
        }
        return try rows(.indexEntriesAfter) { statement in
            try statement.bind(range.zone).bind(range.definition).bind(position.value).bind(position.name)
                .bind(range.to).bind(limit: limit)
        } read: { row in
            IndexPosition(row)
        }
    }

    /// Visits the same entries, each with its record in the database's memory. Entries of missing records are skipped.
    /// `body` receives the record and a view of the entry's value, and returns whether to continue. It may read
    /// anything except indexes. `expecting` is the expected number of entries: a remote engine first reads that many,
    /// and reads more on demand.
    package final func visitIndexedRecords(
        _ range: IndexRange, after position: IndexPosition?, limit: Int, expecting: Int,
        _ body: (RecordRowView, IndexValueView) throws -> Bool
    ) throws {
        if !type(of: connection).isRemote { return try visit(range, after: position, limit: limit, body) }
        var (position, left, piece) = (position, limit, max(1, expecting))
        while left > 0 {
            let wanted = min(piece, left)
            var (count, size, goesOn) = (0, 0, true)
            try visit(range, after: position, limit: wanted) { record, value in
                count += 1
                size += record.fields.count
                if count == wanted || size >= Self.indexedSize {
                    position = IndexPosition(
                        value: Array(value.bytes), name: String(decoding: record.name, as: UTF8.self),
                        record: record.number)
                }
                goesOn = try body(record, value)
                return goesOn
            }
            if !goesOn || count < wanted && size < Self.indexedSize { return }
            left -= count
            piece = min(4 * piece, 1000)
        }
    }

    /// The size of fields in bytes after which one piece of the index's records ends.
    private static var indexedSize: Int { 4 << 20 }

    private final func visit(
        _ range: IndexRange, after position: IndexPosition?, limit: Int,
        _ body: (RecordRowView, IndexValueView) throws -> Bool
    ) throws {
        let isRemote = type(of: connection).isRemote
        guard let position, !position.value.lexicographicallyPrecedes(range.from) else {
            return try visit(.indexedRecords, range.zone, body) {
                try $0.bind(range).bind(limit: limit)
                if isRemote { try $0.bind(limit: Self.indexedSize) }
            }
        }
        try visit(.indexedRecordsAfter, range.zone, body) { statement in
            try statement.bind(range.zone).bind(range.definition).bind(position.value).bind(position.name)
                .bind(range.to).bind(limit: limit)
            if isRemote { try statement.bind(limit: Self.indexedSize) }
        }
    }

    private final func visit(
        _ sql: SQL, _ zone: ZoneKey, _ body: (RecordRowView, IndexValueView) throws -> Bool,
        bind: (any SQLStatement) throws -> Void
    ) throws {
        try run(sql) { statement in
            try bind(statement)
            try visit(rowsOf: statement, zone, body)
        }
    }

    /// Generic over the statement's concrete type, because a statement of type `any` would be retained for every row.
    private final func visit(
        rowsOf statement: some SQLStatement, _ zone: ZoneKey, _ body: (RecordRowView, IndexValueView) throws -> Bool
    ) throws {
        let value = IndexValueView(statement)
        while try statement.step() {
            guard try body(visited(zone, statement), value) else { break }
        }
    }

    package final func hasIndexEntry(_ entry: IndexEntryRow) throws -> Bool {
        try row(.hasIndexEntry, bind: { try $0.bind(entry) }, read: { _ in true }) ?? false
    }

    /// The entries, out of `entries`, that are missing in an index of a zone. All entries belong to one index and zone.
    /// Costs one round trip.
    package final func missingIndexEntries(_ entries: [IndexEntryRow]) throws -> [IndexEntryRow] {
        guard type(of: connection).isRemote else { return try entries.filter { try !hasIndexEntry($0) } }
        guard let first = entries.first else { return [] }
        return try rows(.missingIndexEntries) {
            try $0.bind(first.zone).bind(first.definition).bind(entries.map { Self.digits($0.value) })
                .bind(entries.map(\.name))
        } read: {
            entries[Int($0.integer(0)) - 1]
        }
    }

    /// Returns the bytes as hexadecimal digits.
    private static func digits(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// The number of entries in a range, counted up to `limit`. The cost is proportional to the result.
    package final func countIndexEntries(_ range: IndexRange, limit: Int) throws -> Int {
        try row(
            .countIndexEntries, bind: { try $0.bind(range).bind(limit: limit) }, read: { Int($0.integer(0)) }) ?? 0
    }
}

extension StorageTransaction {
    /// Adds an index definition under a new ID; the index still has to be built. An index with the same type and
    /// components must not exist.
    package func insertIndexDefinition(
        recordType: String, components: String, sequence: Int64
    ) throws -> IndexDefinitionRow {
        let id = try insert(.insertIndexDefinition) {
            try $0.bind(recordType).bind(components).bind(sequence)
        }
        return IndexDefinitionRow(id: id, recordType: recordType, components: components, definedAt: sequence)
    }

    /// Stores the progress of an index's build, and whether the index is ready.
    package func updateIndexDefinition(_ definition: IndexDefinitionRow) throws {
        try change(.updateIndexDefinition) {
            let state: Int64 = (definition.isReady ? 1 : 0) | (definition.leavesOut ? 2 : 0)
            try $0.bind(state).bind(definition.builtZone).bind(definition.builtSequence)
                .bind(definition.id)
        }
    }

    /// Removes the definition of an index. The caller removes its entries separately.
    package func removeIndexDefinition(id: Int64) throws {
        try change(.removeIndexDefinition) { try $0.bind(id) }
    }

    /// Adds an index entry. Does nothing if the entry exists.
    package func insert(_ entry: IndexEntryRow) throws {
        try change(.insertIndexEntry) { try $0.bind(entry).bind(entry.record) }
    }

    /// Removes an index entry. Does nothing if the entry does not exist.
    package func remove(_ entry: IndexEntryRow) throws {
        try change(.removeIndexEntry) { try $0.bind(entry) }
    }

    /// Removes the first entries of a range: at most `limit`.
    /// - Returns: the number of removed entries.
    package func removeIndexEntries(_ range: IndexRange, limit: Int) throws -> Int {
        try change(.removeIndexEntries) { try $0.bind(range).bind(limit: limit) }
    }
}

extension IndexPosition {
    fileprivate init(_ row: any SQLStatement) {
        self.init(value: row.bytes(0), name: row.text(1), record: RowNumber(row.integer(2)))
    }
}

extension SQLStatement {
    @discardableResult fileprivate func bind(_ range: IndexRange) throws -> Self {
        try bind(range.zone).bind(range.definition).bind(range.from).bind(range.to)
    }

    @discardableResult func bind(_ entry: IndexEntryRow) throws -> Self {
        try bind(entry.zone).bind(entry.definition).bind(entry.value).bind(entry.name)
    }
}
