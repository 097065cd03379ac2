import NephosStorage
import NephosWire

/// An index range that a query reads.
struct ScanRange: Hashable, Sendable {
    var signature: IndexSignature
    var range: ByteRange
    /// The number of bytes of an entry's value that precede the sort key.
    var keyOffset: Int
    /// The zones in which the range is read; empty for all zones of the query.
    var zoneIDs: [ZoneIDDictionary] = []
}

/// Index ranges that together contain all records that match some of a query's conditions.
struct QueryScan: Sendable {
    var ranges: [ScanRange]
    /// The order of the records within each range.
    var order: [IndexComponent]
    /// The conditions that the scan covers, by their index in the query.
    var covers: Set<Int>
    /// Whether the scan may find a record more than once.
    var mayRepeat = false
    /// Whether a record has only one position in the order. If not, the results must be collected and sorted.
    var isOrdered = true

    var signatures: [IndexSignature] {
        var unique: [IndexSignature] = []
        for range in ranges where !unique.contains(range.signature) { unique.append(range.signature) }
        return unique
    }
}

/// The way to find a query's results.
enum QueryPlan: Sendable {
    case nothing
    /// Reads indexes in the order of the results.
    case ordered(QueryScan, QueryOrder)
    /// Reads a few records and sorts them.
    case collected(QueryScan, QueryOrder)
    /// Reads the records with these names and sorts them.
    case named([ReferenceValue], QueryOrder, covers: Set<Int>)
    /// Reads the records that are shared with a participant, and sorts them unless the order is by name.
    case shared(QueryOrder)
    /// Reads a location index in rings around a point, up to a radius in metres, for the values with each prefix.
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
    /// Whether the plan's index has only the first fields of the order, so that runs of records with the same index key
    /// are sorted.
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

    /// The number of fields in the plan's index.
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
            // The last ring ends exactly at the radius of the filter.
            return covers.contains(index)
        }
        return conjuncts[index].isExact && covers.contains(index)
    }

    /// The radius filter of a condition, if the index is in the order of the filtered field's locations; otherwise nil.
    /// An entry of that index has the exact location after the cell.
    func circle(of conjunct: QueryConjunct) -> Circle? {
        guard case .ordered(let scan, _) = self, let first = scan.order.first, first.kind == .cell,
            case .circle(first.key, let center, let metres) = conjunct.access
        else { return nil }
        return Circle(center: center, metres: metres)
    }

    /// The area of a radius filter: a centre and a radius.
    struct Circle: Sendable {
        let center: LocationValue
        let metres: Double

        /// Whether a location is in the area.
        /// - Parameter key: a sort key of the index, which begins with the location.
        func holds(_ key: [UInt8]) -> Bool {
            LocationCell.location(of: key[...]).map { center.distance(to: $0) <= metres } ?? false
        }
    }
}

/// The error of the planner for indexes that must be built before the query can run.
struct MissingIndexes: Error {
    var signatures: [IndexSignature]
}

/// The error for records that are too large to be sorted in memory.
struct RecordsTooLarge: Error {}

/// A scan of a location index in rings around a point.
struct DistanceScan: Sendable {
    /// The scan, with one range for each prefix. In an index key the cell comes after the prefix.
    var scan: QueryScan
    var center: LocationValue
    /// The radius in metres; nil for the whole globe, followed by the records without a location.
    var radius: Double?
}
