import NephosStorage
import NephosWire

/// Candidates by distance from a point, nearest first, followed by the records without a location.
///
/// The cell with the nearest point is searched next: a crowded cell is quartered, and of any other cell the entries are
/// read. So the number of reads depends on how many records are nearer than the page's last record, not on how the
/// other records are distributed. If the search takes long, the stream returns positions at which a page may end before
/// the first candidate.
struct NearestFirst: CandidateStream {
    /// The part of an index that is searched: the values with one prefix, in one zone.
    private struct Source {
        let range: ScanRange
        let definition: Int64
        let zone: QueryZone
        let prefix: [UInt8]
        let tracePlace: Int

        func part(_ bytes: ByteRange) -> IndexRange {
            var part = range
            part.range = bytes.behind(prefix)
            return part.inIndex(definition, zone)
        }
    }

    private enum Content {
        case candidate(Candidate)
        case cell(LocationCell)
        /// The entries with invalid locations, such as a latitude over 90 degrees.
        case elsewhere
        /// The entries at one distance in name order, after a position; nil for all of them.
        case run(IndexRange, after: IndexPosition?)
    }

    private struct Item {
        var position: QueryPosition
        var source: Int
        var content: Content

        /// The order of the heap. At equal positions candidates come first: the rest of a run begins at the position of the
        /// last candidate that was read, and a page that ends there has to have that candidate.
        func precedes(_ other: Item) -> Bool {
            if position != other.position { return position.precedes(other.position) }
            if case .candidate = other.content { return false }
            if case .candidate = content { return true }
            return false
        }
    }

    private let scan: DistanceScan
    private let reader: StorageReader
    private let trace: QueryTrace
    private let position: QueryPosition?
    /// Completes the key of a candidate from the candidate's record; nil if the distance is the whole key.
    private let fullKey: ((RecordRow, ZoneKey) throws -> [UInt8])?
    private let bounds: QueryBounds
    private var sources: [Source] = []
    /// A heap, whose top is the first item in the order.
    private var heap: [Item] = []
    private var last: QueryPosition?
    /// The numbers of entries and records read since the last candidate or position was returned.
    private var (entries, records) = (0, 0)

    /// The number of entries above which a cell is quartered. The search of a crowd reads as many on each level; 64 read
    /// three times as many in all.
    private static let crowd = 16
    /// The number of entries at one distance that are read together.
    private static let runPiece = 64
    /// The maximum error, in metres, of computed distances near the antipode, and of cells' farthest points, which are
    /// computed from the antipode.
    private static let tolerance = 1.0
    /// The maximum error, in metres, of other computed distances. It is small so that a search can return the nearest
    /// record of a dense crowd before it reads the whole crowd.
    private static let precision = 0.001
    private static let farAway = 19_000_000.0

    init(
        _ scan: DistanceScan, in zones: [QueryZone], _ indexes: TypeIndexes, after position: QueryPosition?,
        bounds: QueryBounds, reader: StorageReader, trace: QueryTrace,
        fullKey: ((RecordRow, ZoneKey) throws -> [UInt8])?
    ) {
        self.scan = scan
        self.reader = reader
        self.trace = trace
        self.position = position
        self.fullKey = fullKey
        self.bounds = bounds
        for zone in zones {
            for range in scan.scan.ranges where range.isIn(zone) {
                guard let id = indexes.ready(range.signature) else { continue }
                sources.append(
                    Source(
                        range: range, definition: id, zone: zone,
                        prefix: Array(range.range.from.prefix(range.keyOffset)),
                        tracePlace: trace.began(range)))
            }
        }
        for (index, source) in sources.enumerated() {
            push(Item(position: Self.place(0), source: index, content: .cell(.globe)))
            push(Item(position: Self.place(0), source: index, content: .elsewhere))
            if scan.radius == nil {
                let missing = source.part(ByteRange(prefix: [OrderedBytes.Tag.missing]))
                push(Item(position: Self.place(.infinity), source: index, content: .run(missing, after: nil)))
            }
        }
    }

    /// The position that precedes all records at a distance.
    private static func place(_ metres: Double) -> QueryPosition {
        QueryPosition(key: OrderedBytes.coordinate(metres), name: "", zone: .min)
    }

    /// The distance at which the page begins, in metres.
    private var inner: Double {
        guard let position, position.key.count >= 8 else { return 0 }
        let distance = OrderedBytes.coordinate(from: position.key.prefix(8))
        return distance.isNaN ? .infinity : max(0, distance)
    }

    mutating func next() throws -> Candidate? {
        while let top = heap.first {
            if cost > 0, isBehindStart(top.position), last.map({ $0.precedes(top.position) }) ?? true {
                if case .candidate = top.content {
                } else {
                    return found(Candidate(position: top.position, isPlace: true))
                }
            }
            if cost > bounds.candidatesPerCount { throw tooMany }
            pop()
            switch top.content {
            case .candidate(let candidate):
                // Several ranges may contain the same record.
                if candidate.position == last { continue }
                return found(candidate)
            case .cell(let cell): try search(cell, top.source)
            case .elsewhere:
                let whole = ByteRange(from: LocationCell.globe.range.to, to: [OrderedBytes.Tag.location + 2])
                try readAll(sources[top.source].part(whole), top.source)
            case .run(let range, let after): try read(range, after: after, top.source)
            }
        }
        return nil
    }

    /// The number of entries that cost as much as one record. A distance search reads many entries that yield no
    /// candidate.
    private static let entriesPerRecord = 20
    private var cost: Int { records + entries / Self.entriesPerRecord }

    private func isBehindStart(_ other: QueryPosition) -> Bool { position.map { $0.precedes(other) } ?? true }

    private mutating func found(_ candidate: Candidate) -> Candidate {
        var candidate = candidate
        candidate.cost = cost
        (entries, records) = (0, 0)
        last = candidate.position
        return candidate
    }

    private var tooMany: ServiceError {
        .limitExceeded("too many records are at the same distance: sort by distance alone, or add conditions")
    }

    // MARK: - Reading

    private mutating func search(_ cell: LocationCell, _ source: Int) throws {
        let range = sources[source].part(cell.range)
        let read = try entries(range, after: nil, limit: Self.crowd + 1, source)
        if read.count <= Self.crowd {
            for entry in read { try add(entry, source) }
            return
        }
        let cell = try crowded(cell, read, source)
        if cell.level < LocationCell.deepest {
            for quarter in cell.quarters {
                let computed = quarter.least(from: scan.center)
                let least = max(0, computed - (computed > Self.farAway ? Self.tolerance : Self.precision))
                guard least <= scan.radius ?? .infinity,
                    quarter.greatest(from: scan.center) + Self.tolerance >= inner
                else { continue }
                push(Item(position: Self.place(least), source: source, content: .cell(quarter)))
            }
        } else if fullKey != nil {
            try readAll(sources[source].part(cell.range), source)
        } else {
            try addPoints(of: sources[source].part(cell.range), source)
        }
    }

    /// The smallest cell around the first entries of a cell, if it contains all of the cell's entries; otherwise the
    /// cell itself. So a search reaches a crowd far away in few steps.
    private mutating func crowded(
        _ cell: LocationCell, _ first: [IndexPosition], _ source: Int
    ) throws -> LocationCell {
        let offset = sources[source].range.keyOffset
        guard let one = first.first?.value[offset...], let last = first.last?.value[offset...],
            let inner = LocationCell(enclosing: one, last), inner.level > cell.level
        else { return cell }
        let rest = sources[source].part(ByteRange(from: inner.range.to, to: cell.range.to))
        if rest.from.lexicographicallyPrecedes(rest.to), try !entries(rest, after: nil, limit: 1, source).isEmpty {
            return cell
        }
        return inner
    }

    /// Adds the entries of a cell that cannot be quartered, one point at a time.
    private mutating func addPoints(of range: IndexRange, _ source: Int) throws {
        var rest = range
        let offset = sources[source].range.keyOffset
        for _ in 0..<bounds.unindexedSort {
            guard let first = try entries(rest, after: nil, limit: 1, source).first else { return }
            let point = ByteRange(prefix: first.value)
            if let metres = distance(first.value[offset...]) {
                let run = IndexRange(
                    zone: range.zone, definition: range.definition, from: point.from, to: point.to)
                push(Item(position: Self.place(metres), source: source, content: .run(run, after: nil)))
            }
            rest = IndexRange(zone: range.zone, definition: range.definition, from: point.to, to: range.to)
        }
        throw tooMany
    }

    private mutating func readAll(_ range: IndexRange, _ source: Int) throws {
        let all = try entries(range, after: nil, limit: bounds.unindexedSort + 1, source)
        if all.count > bounds.unindexedSort { throw tooMany }
        for entry in all { try add(entry, source) }
    }

    private mutating func read(_ range: IndexRange, after: IndexPosition?, _ source: Int) throws {
        if fullKey != nil { return try readAll(range, source) }
        let key = OrderedBytes.coordinate(distance(range.from[sources[source].range.keyOffset...]) ?? .infinity)
        var after = after
        if after == nil, let position, position.key == key, !position.name.isEmpty {
            // A later zone in the order may have a record of the same name, so the read begins slightly before that
            // name.
            let isLater = range.zone.id > position.zone
            after = IndexPosition(
                value: range.from, name: isLater ? String(position.name.dropLast()) : position.name)
        }
        let read = try entries(range, after: after, limit: Self.runPiece, source)
        for entry in read { try add(entry, source) }
        guard read.count == Self.runPiece, let end = read.last else { return }
        push(
            Item(
                position: QueryPosition(key: key, name: end.name, zone: range.zone.id), source: source,
                content: .run(range, after: end)))
    }

    private mutating func entries(
        _ range: IndexRange, after: IndexPosition?, limit: Int, _ source: Int
    ) throws -> [IndexPosition] {
        let read = try reader.indexEntries(range, after: after, limit: limit)
        trace.read(read.count, at: sources[source].tracePlace)
        // A read that finds nothing also has a cost.
        entries += read.count + 1
        return read
    }

    /// The distance of an entry's location, in metres: infinite without a location; nil if the distance is not a
    /// number.
    private func distance(_ entry: ArraySlice<UInt8>) -> Double? {
        let distance = LocationCell.location(of: entry).map { scan.center.distance(to: $0) } ?? .infinity
        return distance.isNaN ? nil : distance
    }

    private mutating func add(_ entry: IndexPosition, _ source: Int) throws {
        let zone = sources[source].zone.key
        guard let metres = distance(entry.value[sources[source].range.keyOffset...]),
            metres >= inner, scan.radius.map({ metres <= $0 }) ?? true
        else { return }
        var candidate = Candidate(
            position: QueryPosition(key: OrderedBytes.coordinate(metres), name: entry.name, zone: zone.id),
            number: entry.record)
        if let fullKey, let row = try reader.record(entry.record, zone: zone) {
            trace.readRecord()
            records += 1
            if row.isDamaged { candidate.row = row } else { candidate.position.key = try fullKey(row, zone) }
        }
        guard isBehindStart(candidate.position) else { return }
        push(Item(position: candidate.position, source: source, content: .candidate(candidate)))
    }

    // MARK: - Heap

    private mutating func push(_ item: Item) {
        heap.append(item)
        var child = heap.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child].precedes(heap[parent]) else { return }
            heap.swapAt(child, parent)
            child = parent
        }
    }

    private mutating func pop() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var parent = 0
        while true {
            var first = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < heap.count && heap[child].precedes(heap[first]) {
                first = child
            }
            if first == parent { return }
            heap.swapAt(first, parent)
            parent = first
        }
    }
}
