import NephosStorage
import NephosWire

/// A zone that a query searches.
struct QueryZone: Sendable {
    var key: ZoneKey
    var zoneID: ZoneIDDictionary
    /// The caller's view of the zone if another account owns it; nil in the caller's own databases.
    var shared: SharedZone?

    /// Whether the zone may contain records that the caller may not read: another account owns the zone, and it is not
    /// shared as a whole.
    var hidesRecords: Bool { shared.map { $0.zoneWide == nil } ?? false }

    init(_ row: ZoneRow, _ zoneID: ZoneIDDictionary, _ shared: SharedZone? = nil) {
        self.shared = shared
        key = row.key
        self.zoneID = zoneID
    }
}

/// A record that may match the query, with the record's position in the order.
struct Candidate {
    var position: QueryPosition
    /// The record's number, if it came from an index entry.
    var number = RowNumber()
    /// The record, if it has already been read; otherwise nil.
    var row: RecordRow?
    /// Whether this is not a record but a position at which the page may end, because all candidates before it were
    /// returned.
    var isPlace = false
    /// The cost of examining the candidate, in candidates besides itself.
    var cost = 0
}

/// A stream of distinct candidates in the order of the results.
protocol CandidateStream {
    mutating func next() throws -> Candidate?
}

/// A stream over candidates in memory.
struct SortedCandidates: CandidateStream {
    private let candidates: [Candidate]
    private var index = 0

    /// - Parameter position: the position after which the stream begins; nil begins with the first candidate.
    init(_ candidates: [Candidate], after position: QueryPosition?) {
        var sorted = candidates.sorted { $0.position.precedes($1.position) }
        if let position { sorted.removeAll { !position.precedes($0.position) } }
        self.candidates = sorted
    }

    /// The position of the last candidate; nil without candidates.
    var end: QueryPosition? { candidates.last?.position }

    mutating func next() -> Candidate? {
        guard index < candidates.count else { return nil }
        index += 1
        return candidates[index - 1]
    }
}

/// Completes the order of an index that has only prefixes of the sort keys, because it truncates long strings or has
/// only the first fields of the order. The stream reads and sorts one run at a time. A run is the candidates with the
/// same prefix.
struct WholeKeys<Base: CandidateStream>: CandidateStream {
    private var base: Base
    private let position: QueryPosition?
    private let runKey: ([UInt8]) -> [UInt8]?
    private let limit: Int
    private let budget: Int
    private let tooMany: () -> any Error
    private let whole: (Candidate) throws -> Candidate?
    private var run = SortedCandidates([], after: nil)
    /// The first candidate after the run, which has already been read; nil if it has not.
    private var following: Candidate?
    /// The number of candidates examined since the first run, or since the last position at which the page could end.
    private var examined = 0
    /// The last position of the runs that were read so far.
    private var end: QueryPosition?

    /// - Parameters:
    ///   - base: the candidates, from the start of the run that contains the position.
    ///   - position: the position after which the stream begins; nil begins with the first candidate.
    ///   - limit: the maximum number of candidates per run.
    ///   - budget: the number of candidates after which the page may end before the next run.
    ///   - runKey: returns the key prefix that the candidates of a run share; nil for a candidate without a run.
    ///   - tooMany: makes the error for a run that is too long.
    ///   - whole: reads a candidate and completes its key; returns nil if the record does not exist.
    init(
        _ base: Base, after position: QueryPosition?, limit: Int, budget: Int, runKey: @escaping ([UInt8]) -> [UInt8]?,
        orThrow tooMany: @escaping () -> any Error, whole: @escaping (Candidate) throws -> Candidate?
    ) {
        self.base = base
        self.position = position
        self.limit = limit
        self.budget = budget
        self.runKey = runKey
        self.tooMany = tooMany
        self.whole = whole
    }

    mutating func next() throws -> Candidate? {
        while true {
            if let candidate = run.next() { return candidate }
            let read = if let following { following } else { try base.next() }
            following = nil
            guard let first = read else { return nil }
            guard let shared = runKey(first.position.key) else { return first }
            if examined >= budget, let end {
                following = first
                defer { examined = 0 }
                return Candidate(position: end, isPlace: true, cost: examined)
            }
            var candidates: [Candidate] = []
            var count = 1
            if let candidate = try whole(first) { candidates.append(candidate) }
            while let other = try base.next() {
                guard other.position.key.starts(with: shared) else {
                    following = other
                    break
                }
                count += 1
                if count > limit { throw tooMany() }
                if let candidate = try whole(other) { candidates.append(candidate) }
            }
            run = SortedCandidates(candidates, after: position)
            // The first run does not count: a page that follows an early end reads the run before its position again.
            if end != nil { examined += count }
            end = run.end ?? end
        }
    }
}

/// Merges sorted index ranges, zone by zone.
struct MergedRanges: CandidateStream {
    private var sources: [Source] = []
    /// A heap of the indexes into `sources` of the sources with a candidate. The source whose candidate is first in the
    /// order is at the top.
    private var heap: [Int] = []
    private var last: QueryPosition?
    /// Whether the candidate at the top of the heap has been returned.
    private var isTopGiven = false

    init(
        _ scan: QueryScan, in zones: [QueryZone], _ indexes: TypeIndexes, after position: QueryPosition?,
        expecting: Int,
        reader: StorageReader, trace: QueryTrace
    ) throws {
        for zone in zones {
            for range in scan.ranges where range.isIn(zone) {
                guard let id = indexes.ready(range.signature) else { continue }
                sources.append(
                    Source(
                        range.inIndex(id, zone), keyOffset: range.keyOffset, after: position, reader: reader,
                        trace: trace, place: trace.began(range)))
            }
        }
        // Sources share the expected number of candidates.
        let chunk = max(8, min(expecting, 256) / max(1, sources.count / 2))
        for index in sources.indices {
            if try sources[index].begin(chunk: chunk, after: position) { push(index) }
        }
    }

    mutating func next() throws -> Candidate? {
        while true {
            if isTopGiven { try replaceTop() }
            isTopGiven = false
            guard let top = heap.first else { return nil }
            isTopGiven = true
            let position = sources[top].current
            if position == last { continue }
            last = position
            return Candidate(position: position, number: sources[top].number)
        }
    }

    /// Advances the source at the top to its next candidate.
    private mutating func replaceTop() throws {
        if try !sources[heap[0]].advance() {
            heap.swapAt(0, heap.count - 1)
            heap.removeLast()
        }
        if heap.count > 1 { sinkTop() }
    }

    private mutating func push(_ source: Int) {
        heap.append(source)
        var child = heap.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard precedes(child, parent) else { return }
            heap.swapAt(child, parent)
            child = parent
        }
    }

    private mutating func sinkTop() {
        var parent = 0
        while true {
            var first = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && precedes(child, first) {
                first = child
            }
            if first == parent { return }
            heap.swapAt(first, parent)
            parent = first
        }
    }

    private func precedes(_ left: Int, _ right: Int) -> Bool {
        sources[heap[left]].current.precedes(sources[heap[right]].current)
    }

    /// One index range, which is read in chunks.
    private struct Source {
        let range: IndexRange
        let keyOffset: Int
        let reader: StorageReader
        let trace: QueryTrace
        let place: Int
        private var entries: [IndexPosition] = []
        private var index = 0
        private var chunk = 0
        private var isAtEnd = false
        private(set) var current = QueryPosition(key: [], name: "", zone: 0)
        /// The record number of the current candidate.
        private(set) var number = RowNumber()

        init(
            _ range: IndexRange, keyOffset: Int, after position: QueryPosition?, reader: StorageReader,
            trace: QueryTrace, place: Int
        ) {
            self.range = range
            self.keyOffset = keyOffset
            self.reader = reader
            self.trace = trace
            self.place = place
        }

        /// Reads the first chunk after the position.
        /// - Returns: whether the source has a candidate.
        mutating func begin(chunk: Int, after position: QueryPosition?) throws -> Bool {
            self.chunk = chunk
            guard let position else {
                try read(after: nil)
                return try advance()
            }
            let value = range.from.prefix(keyOffset) + position.key
            // A later zone in the order may have a record of the same name, so the read begins slightly before that
            // name.
            let name = range.zone.id > position.zone ? String(position.name.dropLast()) : position.name
            try read(after: IndexPosition(value: Array(value), name: name))
            while try advance() {
                if position.precedes(current) { return true }
            }
            return false
        }

        mutating func advance() throws -> Bool {
            if index == entries.count {
                guard !isAtEnd, let last = entries.last else { return false }
                chunk = min(2 * chunk, 512)
                try read(after: last)
                if entries.isEmpty { return false }
            }
            let entry = entries[index]
            index += 1
            number = entry.record
            current = QueryPosition(
                key: keyOffset == entry.value.count ? [] : Array(entry.value[keyOffset...]), name: entry.name,
                zone: range.zone.id)
            return true
        }

        private mutating func read(after position: IndexPosition?) throws {
            entries = try reader.indexEntries(range, after: position, limit: chunk)
            trace.read(entries.count, at: place)
            isAtEnd = entries.count < chunk
            index = 0
        }
    }
}
