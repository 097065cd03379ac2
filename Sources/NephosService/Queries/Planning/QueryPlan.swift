import NephosStorage
import NephosWire

/// An index range that a query reads.
struct ScanRange: Hashable, Sendable {
    var signature: IndexSignature
    var range: ByteRange
    /// Bytes of an entry's value before the sort key.
    var keyOffset: Int
    /// The range's zones; empty means all.
    var zoneIDs: [ZoneIDDictionary] = []
}

/// Ranges that together hold the records matching some of a query's conditions.
struct QueryScan: Sendable {
    var ranges: [ScanRange]
    /// The order within each range.
    var order: [IndexComponent]
    /// The conditions that the scan answers, by their index in the query.
    var covers: Set<Int>
    /// Whether a record can occur more than once.
    var mayRepeat = false
    /// False if a record can occur at several positions of the order: then the results must be collected.
    var isOrdered = true

    var signatures: [IndexSignature] {
        var unique: [IndexSignature] = []
        for range in ranges where !unique.contains(range.signature) { unique.append(range.signature) }
        return unique
    }
}

/// How to find a query's results.
enum QueryPlan: Sendable {
    case nothing
    /// Reads indexes in the order of the results.
    case ordered(QueryScan, QueryOrder)
    /// Reads a few records and sorts them.
    case collected(QueryScan, QueryOrder)
    /// Reads the records of these names and sorts them.
    case named([ReferenceValue], QueryOrder, covers: Set<Int>)
    /// Reads the records shared with a participant, and sorts them unless the order is by name.
    case shared(QueryOrder)
    /// Reads a location index in rings around a point up to a radius in metres, for the values with each prefix.
    case distance(DistanceScan, QueryOrder)

    /// The number of index ranges that the plan reads.
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
    /// Whether the index has only the first fields of the order, so that runs with the same index key are sorted.
    var sortsRuns: Bool {
        if case .ordered(let scan, let order) = self { scan.order.count < order.keys.count } else { false }
    }

    /// The order of the plan's index.
    var indexOrder: [IndexComponent] {
        switch self {
        case .nothing, .named, .collected, .shared: []
        case .ordered(let scan, _): scan.order
        case .distance(let scan, _): scan.scan.order
        }
    }

    /// The number of fields of the plan's index.
    var indexedFields: Int {
        switch self {
        case .nothing, .named, .shared: 0
        case .ordered(let scan, _), .collected(let scan, _): scan.ranges.first?.signature.components.count ?? 0
        case .distance(let scan, _): scan.scan.ranges.first?.signature.components.count ?? 0
        }
    }

    /// Whether the index position of a candidate decides the condition at `index`.
    func decides(_ index: Int, of conjuncts: [QueryConjunct]) -> Bool {
        if circle(of: conjuncts[index]) != nil { return true }
        if case .distance = self, case .circle = conjuncts[index].access {
            // The last ring ends exactly at the radius.
            return covers.contains(index)
        }
        return conjuncts[index].isExact && covers.contains(index)
    }

    /// The radius filter of a condition, if the index is in the order of its field's locations: an entry has the exact
    /// location after the cell.
    func circle(of conjunct: QueryConjunct) -> Circle? {
        guard case .ordered(let scan, _) = self, let first = scan.order.first, first.kind == .cell,
            case .circle(first.key, let center, let metres) = conjunct.access
        else { return nil }
        return Circle(center: center, metres: metres)
    }

    /// A radius filter's area: a centre and a radius.
    struct Circle: Sendable {
        let center: LocationValue
        let metres: Double

        /// - Parameter key: a sort key of the index.
        func holds(_ key: [UInt8]) -> Bool {
            LocationCell.location(of: key[...]).map { center.distance(to: $0) <= metres } ?? false
        }
    }
}

/// Thrown by the planner: these indexes must be built first.
struct MissingIndexes: Error {
    var signatures: [IndexSignature]
}

/// Thrown while reading records to sort: they are too large.
struct RecordsTooLarge: Error {}

/// A location index to read in rings.
struct DistanceScan: Sendable {
    /// One range for each prefix, which the cells follow.
    var scan: QueryScan
    var center: LocationValue
    /// Metres; nil means the whole globe, then the records without a location.
    var radius: Double?
}
