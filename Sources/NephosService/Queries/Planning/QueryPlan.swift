import NephosStorage
import NephosWire

/// A range of an index that a query reads.
struct ScanRange: Hashable, Sendable {
    var signature: IndexSignature
    var range: ByteRange
    /// Bytes of the values before those that order the results.
    var keyOffset: Int
    /// The zones it is in; empty is all.
    var zoneIDs: [ZoneIDDictionary] = []
}

/// Ranges that together hold the records of some of a query's conditions.
struct QueryScan: Sendable {
    var ranges: [ScanRange]
    /// The order that each range is in.
    var order: [IndexComponent]
    /// The conditions it answers, by their place among the query's.
    var covers: Set<Int>
    /// Whether a record can be in it more than once.
    var mayRepeat = false
    /// False where a record can be in it at several places of the order: then it can only be collected.
    var isOrdered = true

    var signatures: [IndexSignature] {
        var unique: [IndexSignature] = []
        for range in ranges where !unique.contains(range.signature) { unique.append(range.signature) }
        return unique
    }
}

/// How a query's answer is found.
enum QueryPlan: Sendable {
    case nothing
    /// Reads indexes in the order of the results.
    case ordered(QueryScan, QueryOrder)
    /// Reads a few records whole and sorts them.
    case collected(QueryScan, QueryOrder)
    /// Reads the records of these names and sorts them.
    case named([ReferenceValue], QueryOrder, covers: Set<Int>)
    /// Reads the records that are shared with a participant, and sorts them where the order is not by name.
    case shared(QueryOrder)
    /// Reads a location index in rings around a place, up to so many metres, of the values behind each prefix.
    case distance(DistanceScan, QueryOrder)

    /// How many ranges of indexes it reads.
    var rangeCount: Int {
        switch self {
        case .nothing, .named, .shared: 0
        case .ordered(let scan, _), .collected(let scan, _): scan.ranges.count
        case .distance(let scan, _): scan.scan.ranges.count
        }
    }

    var covers: Set<Int> {
        switch self {
        case .nothing, .shared: []
        case .ordered(let scan, _), .collected(let scan, _): scan.covers
        case .named(_, _, let covers): covers
        case .distance(let scan, _): scan.scan.covers
        }
    }
}

extension QueryPlan {
    /// Whether the index has only the first of the fields that order the results: what it does not tell apart is sorted.
    var sortsRuns: Bool {
        if case .ordered(let scan, let order) = self { scan.order.count < order.keys.count } else { false }
    }

    /// The order that its index is in.
    var indexOrder: [IndexComponent] {
        switch self {
        case .nothing, .named, .collected, .shared: []
        case .ordered(let scan, _): scan.order
        case .distance(let scan, _): scan.scan.order
        }
    }

    /// How many fields its index has.
    var indexedFields: Int {
        switch self {
        case .nothing, .named, .shared: 0
        case .ordered(let scan, _), .collected(let scan, _): scan.ranges.first?.signature.components.count ?? 0
        case .distance(let scan, _): scan.scan.ranges.first?.signature.components.count ?? 0
        }
    }

    /// Whether a candidate's place in the index decides about a condition, which is given by its place among the query's.
    func decides(_ index: Int, of conjuncts: [QueryConjunct]) -> Bool {
        if circle(of: conjuncts[index]) != nil { return true }
        if case .distance = self, case .circle = conjuncts[index].access {
            // The last ring ends at the radius to the bit.
            return covers.contains(index)
        }
        return conjuncts[index].isExact && covers.contains(index)
    }

    /// The circle of a condition, where the index is in the order of its field's locations: an entry has the location
    /// itself behind the cell.
    func circle(of conjunct: QueryConjunct) -> Circle? {
        guard case .ordered(let scan, _) = self, let first = scan.order.first, first.kind == .cell,
            case .circle(first.key, let center, let metres) = conjunct.access
        else { return nil }
        return Circle(center: center, metres: metres)
    }

    /// A part of the globe.
    struct Circle: Sendable {
        let center: LocationValue
        let metres: Double

        /// - Parameter key: a place in the index.
        func holds(_ key: [UInt8]) -> Bool {
            LocationCell.location(of: key[...]).map { center.distance(to: $0) <= metres } ?? false
        }
    }
}

/// Thrown by the planner: there have to be these indexes first.
struct MissingIndexes: Error {
    var signatures: [IndexSignature]
}

/// Thrown while records are read to be sorted: they are too large for it.
struct RecordsTooLarge: Error {}

/// A location index, to be read in rings.
struct DistanceScan: Sendable {
    /// One range for each prefix; the cells stand behind it.
    var scan: QueryScan
    var center: LocationValue
    /// Metres; nil is the whole globe, and then the records without a location.
    var radius: Double?
}
