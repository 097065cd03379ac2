import NephosStorage
import NephosWire

/// The index range of a query that reads all its candidates from one range, in the order of the results. Most queries
/// are of this kind. One statement reads the range's entries together with their records.
struct SingleRange {
    let range: IndexRange
    /// The number of bytes of an entry's value that precede the sort key.
    let keyOffset: Int
    /// The index of the zone in the query.
    let zone: Int
    /// The index of the range in the trace.
    let place: Int

    /// Whether a read can start at the entry after a position. It cannot if the index truncates strings of the
    /// position's key, or if the position is in another zone.
    func canBegin(after position: QueryPosition, _ order: QueryOrder) -> Bool {
        position.zone == range.zone.id && !cuts(position.key, order)
    }

    /// Whether the index truncates the key, so that other records may have the same truncated key.
    private func cuts(_ key: [UInt8], _ order: QueryOrder) -> Bool {
        key.count > OrderedBytes.stringLimit && order.hasStrings && order.run(of: key) != nil
    }

    /// Whether the index truncates the sort key in an entry's value.
    func cuts(_ value: UnsafeRawBufferPointer, _ order: QueryOrder) -> Bool {
        value.count - keyOffset > OrderedBytes.stringLimit && cuts(Array(key(of: value)), order)
    }

    /// The sort key in an entry's value.
    func key(of value: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: value[min(keyOffset, value.count)...])
    }

    func entry(_ position: QueryPosition) -> IndexPosition {
        IndexPosition(value: range.from.prefix(keyOffset) + position.key, name: position.name)
    }
}

extension QueryPage {
    /// The only index range of the plan's candidates; nil if they come from several ranges, or not from a range.
    func singleRange(_ plan: QueryPlan) -> SingleRange? {
        guard case .ordered(let scan, _) = plan, !plan.sortsRuns else { return nil }
        var found: SingleRange?
        for (index, zone) in zones.enumerated() {
            for range in scan.ranges where range.isIn(zone) {
                guard let id = indexes.ready(range.signature) else { continue }
                if found != nil { return nil }
                found = SingleRange(
                    range: range.inIndex(id, zone), keyOffset: range.keyOffset, zone: index, place: trace.began(range))
            }
        }
        return found
    }
}
