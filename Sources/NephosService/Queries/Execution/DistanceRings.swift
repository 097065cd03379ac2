import NephosStorage
import NephosWire

/// Candidates by their distance from a place, the nearest first: reads a location index ring by ring, each ring sorted in
/// memory, then the records that have no location.
struct DistanceRings: CandidateStream {
    private let scan: DistanceScan
    private let zones: [QueryZone]
    private let indexes: TypeIndexes
    private let reader: any StorageReader
    private let trace: QueryTrace
    private let position: QueryPosition?
    /// Makes the whole key of a candidate whose record decides about it; nil where the distance is the whole key.
    private let fullKey: ((RecordRow, ZoneKey) throws -> [UInt8])?
    private var ring: SortedCandidates
    /// Metres; what is nearer was read.
    private var inner: Double
    private var width = 2000.0
    private var isAtEnd = false

    /// A ring with as many is made narrower.
    private static let crowd = 1000
    /// Nothing on the globe is farther away, rounding included.
    private static let farthest = LocationValue.meanEarthRadius * 3.1416

    init(
        _ scan: DistanceScan, in zones: [QueryZone], _ indexes: TypeIndexes, after position: QueryPosition?,
        reader: any StorageReader, trace: QueryTrace, fullKey: ((RecordRow, ZoneKey) throws -> [UInt8])?
    ) {
        self.scan = scan
        self.zones = zones
        self.indexes = indexes
        self.reader = reader
        self.trace = trace
        self.position = position
        self.fullKey = fullKey
        ring = SortedCandidates([], after: nil)
        inner = position.map { Self.distance(in: $0.key) } ?? 0
    }

    /// The distance that a position's key begins with: at least 0, infinite for what has no location. A ring that began
    /// elsewhere would never reach the farthest.
    private static func distance(in key: [UInt8]) -> Double {
        guard key.count >= 8 else { return 0 }
        let distance = OrderedBytes.coordinate(from: key.prefix(8))
        return distance.isNaN ? .infinity : max(0, distance)
    }

    mutating func next() throws -> Candidate? {
        while true {
            if let candidate = ring.next() { return candidate }
            if isAtEnd { return nil }
            ring = SortedCandidates(try readRing(), after: position)
        }
    }

    private mutating func readRing() throws -> [Candidate] {
        let end = min(scan.radius ?? .infinity, Self.farthest)
        if inner >= Self.farthest || inner > end {
            isAtEnd = true
            return scan.radius == nil ? try candidates([missing], from: inner, to: .infinity) : []
        }
        var outer = min(inner + width, end)
        var cells = LocationCell.covering(scan.center, from: inner, to: outer)
        while width > 20, try count(cells, limit: Self.crowd) == Self.crowd {
            width /= 4
            outer = min(inner + width, end)
            cells = LocationCell.covering(scan.center, from: inner, to: outer)
        }
        // The last ring has its end in it; the others leave it to the next.
        let limit = outer == end ? outer.nextUp : outer
        let found = try candidates(cells, from: inner, to: limit)
        inner = limit
        // Twice as far the next time, unless there is much here.
        width = found.count > 50 ? width : min(width * 4, Self.farthest)
        return found
    }

    private func count(_ cells: [ByteRange], limit: Int) throws -> Int {
        var count = 0
        for zone in zones {
            for range in scan.scan.ranges where range.isIn(zone) {
                guard let id = indexes.ready(range.signature) else { continue }
                let prefix = Array(range.range.from.prefix(range.keyOffset))
                for cell in cells where count < limit {
                    var part = range
                    part.range = cell.behind(prefix)
                    count += try reader.countIndexEntries(part.inIndex(id, zone), limit: limit - count)
                }
            }
        }
        return count
    }

    private var missing: ByteRange { ByteRange(prefix: [OrderedBytes.Tag.missing]) }

    private func candidates(_ cells: [ByteRange], from inner: Double, to limit: Double) throws -> [Candidate] {
        var candidates: [Candidate] = []
        for zone in zones {
            for range in scan.scan.ranges where range.isIn(zone) {
                guard let id = indexes.ready(range.signature) else { continue }
                let prefix = Array(range.range.from.prefix(range.keyOffset))
                for cell in cells {
                    var part = range
                    part.range = cell.behind(prefix)
                    try read(part.inIndex(id, zone), part.keyOffset, trace.began(range)) { entry in
                        let location = LocationCell.location(of: entry.value[part.keyOffset...])
                        let distance = location.map { scan.center.distance(to: $0) } ?? .infinity
                        guard distance >= inner && (distance < limit || distance == .infinity) else { return }
                        candidates.append(try candidate(entry, zone.key, OrderedBytes.coordinate(distance)))
                    }
                }
            }
        }
        var seen: Set<QueryPosition> = []
        return scan.scan.mayRepeat ? candidates.filter { seen.insert($0.position).inserted } : candidates
    }

    private func candidate(_ entry: IndexPosition, _ zone: ZoneKey, _ key: [UInt8]) throws -> Candidate {
        var candidate = Candidate(
            position: QueryPosition(key: key, name: entry.name, zone: zone.id), number: entry.record)
        if let fullKey, let row = try reader.record(entry.record, zone: zone) {
            trace.readRecord()
            candidate.row = row
            if !row.isDamaged { candidate.position.key = try fullKey(row, zone) }
        }
        return candidate
    }

    private func read(
        _ range: IndexRange, _ keyOffset: Int, _ place: Int, _ body: (IndexPosition) throws -> Void
    ) throws {
        var last: IndexPosition?
        while true {
            let entries = try reader.indexEntries(range, after: last, limit: 512)
            trace.read(entries.count, at: place)
            for entry in entries { try body(entry) }
            guard entries.count == 512 else { return }
            last = entries.last
        }
    }
}
