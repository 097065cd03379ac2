import NephosStorage
import NephosWire

/// The records of one type that are shared with a participant, by name, merged from the records under each share. The
/// stream reads no other records, so neither the cost of a page nor its end depends on hidden records.
struct SharedRecordStream: CandidateStream {
    /// The records under one share, which are read in chunks.
    private struct Source {
        let share: Int64
        var rows: [RecordRow] = []
        var index = 0
        /// The name of the last record read.
        var last: String
        var isAtEnd = false
    }

    private let zone: ZoneKey
    private let type: String
    private let reader: StorageReader
    private let trace: QueryTrace
    private var chunk: Int
    private var sources: [Source]

    /// The maximum number of bytes of fields per chunk, over all shares.
    private static let chunkSize = 1 << 20

    /// - Parameters:
    ///   - position: the position after which the stream begins; nil begins with the first record.
    ///   - expecting: the number of records that the page needs.
    init(
        _ shared: SharedZone, of type: String, after position: QueryPosition?, expecting: Int,
        reader: StorageReader, trace: QueryTrace
    ) {
        zone = shared.zone.key
        self.type = type
        self.reader = reader
        self.trace = trace
        sources = shared.participations.map { Source(share: $0.share.id, last: position?.name ?? "") }
        // The shares divide the expected number of records among them.
        chunk = max(1, min(expecting, 256) / max(1, sources.count))
    }

    mutating func next() throws -> Candidate? {
        var first: (index: Int, name: String)?
        for index in sources.indices {
            guard let name = try current(index)?.name else { continue }
            if let first, !name.utf8.lexicographicallyPrecedes(first.name.utf8) { continue }
            first = (index, name)
        }
        guard let index = first?.index, let row = try current(index) else { return nil }
        sources[index].index += 1
        return Candidate(
            position: QueryPosition(key: [], name: row.name, zone: zone.id), number: row.number, row: row)
    }

    /// The next record of a source; nil at the end of the source.
    private mutating func current(_ index: Int) throws -> RecordRow? {
        if sources[index].index == sources[index].rows.count, !sources[index].isAtEnd { try read(index) }
        let source = sources[index]
        return source.index < source.rows.count ? source.rows[source.index] : nil
    }

    private mutating func read(_ index: Int) throws {
        let rows = try reader.liveSharedRecords(
            zone: zone, share: sources[index].share, type: type, after: sources[index].last, limit: chunk,
            size: max(1, Self.chunkSize / sources.count))
        trace.readRecords(rows.count)
        sources[index].rows = rows
        sources[index].index = 0
        sources[index].isAtEnd = rows.isEmpty
        if let last = rows.last { sources[index].last = last.name }
        chunk = min(2 * chunk, 512)
    }
}
