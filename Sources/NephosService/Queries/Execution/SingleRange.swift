import NephosStorage
import NephosWire

/// The one range of an index that holds a query's candidates, in order: the shape of most queries. Its records are read
/// together with its entries, in one statement.
struct SingleRange {
    let range: IndexRange
    /// Bytes of the values before those that order the results.
    let keyOffset: Int
    /// The zone's place among the query's.
    let zone: Int
    /// The range's place in the trace.
    let place: Int

    /// Whether the entries behind a position are what follows it. They are not where the index truncates strings that the
    /// position has whole, or where the position is in another zone.
    func canBegin(after position: QueryPosition, _ order: QueryOrder) -> Bool {
        position.zone == range.zone.id && !cuts(position.key, order)
    }

    /// Whether the index holds only the beginning of a key, and others may share it.
    private func cuts(_ key: [UInt8], _ order: QueryOrder) -> Bool {
        key.count > OrderedBytes.stringLimit && order.hasStrings && order.run(of: key) != nil
    }

    /// The same of an entry's value.
    func cuts(_ value: UnsafeRawBufferPointer, _ order: QueryOrder) -> Bool {
        value.count - keyOffset > OrderedBytes.stringLimit && cuts(Array(key(of: value)), order)
    }

    /// What of an entry's value orders the results.
    func key(of value: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: value[min(keyOffset, value.count)...])
    }

    func entry(_ position: QueryPosition) -> IndexPosition {
        IndexPosition(value: range.from.prefix(keyOffset) + position.key, name: position.name)
    }
}

extension QueryPage {
    /// Nil where the candidates come from several ranges, or in another way.
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
