/// The order of a query's records. It is a total order, so that the start of each page is well-defined.
///
/// Values compare as in conditions, strings by their UTF-8 bytes. A record without a value for a key, or with a value
/// that has no order, such as a list, comes first in ascending and last in descending order. In an order by distance
/// such a record comes last. Ties are broken by record name, then by zone.
package struct SortOrder: Sendable {
    package let descriptors: [QuerySortDescriptor]

    package init(_ descriptors: [QuerySortDescriptor]) { self.descriptors = descriptors }

    /// Returns whether `left` comes before `right`.
    package func precedes<Record: QueryableRecord>(_ left: Record, _ right: Record) -> Bool {
        order(left, right) < 0
    }

    /// Compares two records: negative, zero or positive if `left` comes before, with or after `right`. Zero only for
    /// the same record.
    package func order<Record: QueryableRecord>(_ left: Record, _ right: Record) -> Int {
        for descriptor in descriptors {
            let order = Self.order(left.value(of: descriptor.key), right.value(of: descriptor.key), by: descriptor)
            if order != 0 { return order }
        }
        let names = [
            (left.recordName, right.recordName), (left.zoneID.zoneName, right.zoneID.zoneName),
            (left.zoneID.ownerRecordName ?? "", right.zoneID.ownerRecordName ?? ""),
        ]
        for (left, right) in names {
            if let order = ValueComparison.order(.string(left), .string(right)), order != 0 { return order }
        }
        return 0
    }

    /// Compares two values of one key by the descriptor, its direction included.
    package static func order(_ left: FieldValue?, _ right: FieldValue?, by descriptor: QuerySortDescriptor) -> Int {
        if let center = descriptor.relativeLocation {
            let left = distance(of: left, to: center)
            let right = distance(of: right, to: center)
            let order = left < right ? -1 : left == right ? 0 : 1
            return descriptor.ascending ? order : -order
        }
        let order = ascendingOrder(orderable(left), orderable(right))
        return descriptor.ascending ? order : -order
    }

    private static func distance(of value: FieldValue?, to center: LocationValue) -> Double {
        guard case .location(let location) = value else { return .infinity }
        return center.distance(to: location)
    }

    /// Returns the value by which the order compares: for a reference, the record name of its target.
    private static func orderable(_ value: FieldValue?) -> FieldValue? {
        switch value {
        case .reference(let reference): .string(reference.recordName)
        case .string, .int64, .double, .timestamp: value
        default: nil
        }
    }

    private static func ascendingOrder(_ left: FieldValue?, _ right: FieldValue?) -> Int {
        switch (left, right) {
        case (nil, nil): return 0
        case (nil, _): return -1
        case (_, nil): return 1
        case (let left?, let right?):
            // All values of a field have one type, except in records that were saved before the field had a type.
            return ValueComparison.order(left, right) ?? Int(left.type.scalar.rawValue)
                - Int(right.type.scalar.rawValue)
        }
    }
}
