import NephosStorage

/// Verifies the indexes of a store against its records, with any engine: each record has its entries, and each entry
/// belongs to a record that has the entry's value. Each check compares within one snapshot, so a server may run
/// meanwhile. Indexes that are being built are skipped.
struct IndexVerification: Sendable {
    private let engine: any StorageEngine
    private let accounts = Accounts()
    private static let pageSize = 1000

    init(_ engine: any StorageEngine) { self.engine = engine }

    /// The snapshot's complete indexes, and a writer that computes their entries.
    private func indexes(_ reader: StorageReader) throws -> (rows: [IndexDefinitionRow], writer: IndexWriter) {
        let rows = try reader.indexDefinitions().filter(\.isReady)
        return (rows, IndexWriter(definitions: IndexDefinitions(rows), accounts: accounts))
    }

    // MARK: From records to entries

    /// Reports the index entries that the zone's live records lack.
    func checkRecords(
        _ records: [RecordRow], in zone: ZoneRow, _ reader: StorageReader,
        _ findings: inout StoreVerification.Findings
    ) throws {
        let (rows, writer) = try indexes(reader)
        var wanted: [Int64: [IndexEntryRow]] = [:]
        for record in records {
            for (definition, values) in try values(of: record, writer, reader) {
                wanted[definition, default: []] += values.map {
                    IndexEntryRow(
                        zone: zone.key, definition: definition, value: $0, name: record.name,
                        record: record.number.value)
                }
            }
        }
        for row in rows {
            let entries = wanted[row.id] ?? []
            for start in stride(from: 0, to: entries.count, by: Self.pageSize) {
                let some = Array(entries[start..<min(start + Self.pageSize, entries.count)])
                for entry in try reader.missingIndexEntries(some) {
                    findings.note("record '\(entry.name)' in zone '\(zone.name)' is missing in \(Self.name(row))")
                }
            }
        }
    }

    /// The values under which each index must contain a record.
    private func values(
        of record: RecordRow, _ writer: IndexWriter, _ reader: StorageReader
    ) throws -> [(definition: Int64, values: [[UInt8]])] {
        guard let indexes = writer.definitions[record.type] else { return [] }
        let queryable = try writer.record(record, indexes, reader)
        return indexes.definitions.map { ($0.id, $0.signature.entries(of: queryable)) }
    }

    // MARK: From entries to records

    /// Reports a zone's entries that have no record, or whose record has another value.
    func checkEntries(of zone: ZoneRow, _ findings: inout StoreVerification.Findings) async throws {
        for row in try await engine.read({ try indexes($0).rows }) {
            var position: IndexPosition?
            while true {
                let (start, before) = (position, findings)
                let page = try await engine.read { reader in
                    var found = before
                    return (end: try checkEntries(of: row, zone, after: start, reader, &found), findings: found)
                }
                (position, findings) = (page.end, page.findings)
                if position == nil { break }
            }
        }
    }

    /// - Returns: the position of the last entry read; nil if there are no more entries.
    private func checkEntries(
        of row: IndexDefinitionRow, _ zone: ZoneRow, after position: IndexPosition?, _ reader: StorageReader,
        _ findings: inout StoreVerification.Findings
    ) throws -> IndexPosition? {
        let (rows, writer) = try indexes(reader)
        // The index may have been dropped since its definition was read.
        guard rows.contains(where: { $0.id == row.id }) else { return nil }
        let range = IndexRange(zone: zone.key, definition: row.id, from: [], to: OrderedBytes.end)
        let entries = try reader.indexEntries(range, after: position, limit: Self.pageSize)
        guard let last = entries.last else { return nil }
        // The visit skips entries without a record, so the visited records reach at least as far as `entries`.
        var right: Set<IndexPosition> = []
        try reader.visitIndexedRecords(range, after: position, limit: entries.count, expecting: entries.count) {
            record, value in
            let value = Array(value.bytes)
            let isRight =
                try record.isDamaged
                || !record.isDeleted
                    && values(of: record.row, writer, reader).contains {
                        $0.definition == row.id && $0.values.contains(value)
                    }
            if isRight {
                let name = String(decoding: record.name, as: UTF8.self)
                right.insert(IndexPosition(value: value, name: name, record: record.number))
            }
            return true
        }
        for entry in entries where !right.contains(entry) {
            findings.note("\(Self.name(row)) has record '\(entry.name)' in zone '\(zone.name)', which is not so")
        }
        return last
    }

    private static func name(_ row: IndexDefinitionRow) -> String {
        "the index '\(row.components)' of type '\(row.recordType)'"
    }
}
