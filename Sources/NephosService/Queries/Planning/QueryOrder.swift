import NephosWire

/// The order of a query's results. The order is total, so that a page can begin at the end of another page. Records
/// sort by the bytes of their keys, then by name, then by zone, both in an index and in memory.
struct QueryOrder: Hashable, Sendable {
    enum Key: Hashable, Sendable {
        case component(IndexComponent)
        case distance(QueryKey, from: LocationValue, ascending: Bool)
    }

    var keys: [Key]

    /// The order by record name.
    static let name = QueryOrder(keys: [])

    init(keys: [Key]) { self.keys = keys }

    init(_ components: [IndexComponent]) { keys = components.map(Key.component) }

    init(_ descriptors: [QuerySortDescriptor]) {
        var fields: Set<QueryKey> = []
        keys = descriptors.compactMap { descriptor in
            if let location = descriptor.relativeLocation {
                return .distance(descriptor.key, from: location, ascending: descriptor.ascending)
            }
            // A field's second order changes nothing, and an index names a field once.
            guard fields.insert(descriptor.key).inserted else { return nil }
            return .component(IndexComponent(descriptor.ascending ? .ascending : .descending, descriptor.key))
        }
        // The record name is the final tie-breaker in any case.
        if keys.last == .component(IndexComponent(.ascending, .system(.recordName))) { keys.removeLast() }
    }

    /// The index components that give the order; nil if no index can give it.
    var components: [IndexComponent]? {
        var components: [IndexComponent] = []
        for key in keys {
            guard case .component(let component) = key else { return nil }
            components.append(component)
        }
        return components
    }

    /// Whether a record can never change its position in the order.
    var isStable: Bool {
        keys.allSatisfy { key in
            if case .component(let component) = key { component.key == .system(.recordName) } else { false }
        }
    }

    /// Whether the sort keys may contain strings that an index truncates. Record names are short, but any developer's
    /// field may have long strings.
    var hasStrings: Bool { hasStrings(besides: []) }

    /// - Parameter numeric: the fields that contain no strings.
    func hasStrings(besides numeric: Set<String>) -> Bool {
        keys.contains { key in
            if case .component(let component) = key, case .field(let name) = component.key {
                component.kind != .cell && !numeric.contains(name)
            } else {
                false
            }
        }
    }

    /// The developer's fields in the order.
    var fields: [String] {
        keys.compactMap { key in
            switch key {
            case .component(let component): if case .field(let name) = component.key { name } else { nil }
            case .distance(let key, _, _): if case .field(let name) = key { name } else { nil }
            }
        }
    }

    var needsUsers: Bool {
        keys.contains { key in
            if case .component(let component) = key, case .system(let field) = component.key {
                field.isUser
            } else {
                false
            }
        }
    }

    /// The sort key of a record, with untruncated strings.
    func key(of record: QueryableRow) -> [UInt8] {
        var bytes: [UInt8] = []
        for key in keys {
            switch key {
            case .component(let component):
                let value = OrderedBytes.order(component.key.value(in: record), limit: OrderedBytes.comparedLimit)
                bytes += component.kind == .descending ? OrderedBytes.complement(value) : value
            case .distance(let key, let center, let ascending):
                var location: LocationValue?
                if case .location(let value) = key.value(in: record) { location = value }
                bytes += Self.distance(of: location, from: center, ascending: ascending)
            }
        }
        return bytes
    }

    /// The prefix of a sort key up to and including the first truncated string, in index form; nil if the index
    /// truncates nothing. The index cannot distinguish the records that share this prefix.
    func run(of key: [UInt8]) -> [UInt8]? {
        guard key.count > OrderedBytes.stringLimit, let components else { return nil }
        var run: [UInt8] = []
        var rest = key[...]
        for component in components {
            guard component.kind == .descending else {
                if OrderedBytes.cutFirst(of: &rest, to: &run) { return run }
                continue
            }
            var turned = OrderedBytes.complement(Array(rest))[...]
            let count = turned.count
            var value: [UInt8] = []
            let isCut = OrderedBytes.cutFirst(of: &turned, to: &value)
            run += OrderedBytes.complement(value)
            if isCut { return run }
            rest = rest.dropFirst(count - turned.count)
        }
        return nil
    }

    /// The prefix of a sort key in an index of the first components of the order, with strings truncated as in the
    /// index.
    func indexKey(of key: [UInt8], _ components: [IndexComponent]) -> [UInt8] {
        var index: [UInt8] = []
        var rest = key[...]
        for component in components {
            let isDescending = component.kind == .descending
            var plain = isDescending ? OrderedBytes.complement(Array(rest))[...] : rest
            let count = plain.count
            var value: [UInt8] = []
            _ = OrderedBytes.cutFirst(of: &plain, to: &value)
            index += isDescending ? OrderedBytes.complement(value) : value
            rest = rest.dropFirst(count - plain.count)
        }
        return index
    }

    /// The sort key of a distance. A record without a location counts as farther away than all others.
    static func distance(of location: LocationValue?, from center: LocationValue, ascending: Bool = true) -> [UInt8] {
        let bytes = OrderedBytes.coordinate(location.map { center.distance(to: $0) } ?? .infinity)
        return ascending ? bytes : OrderedBytes.complement(bytes)
    }
}

/// A position among the results, after the record with this key, name and zone.
struct QueryPosition: Hashable, Sendable {
    var key: [UInt8]
    var name: String
    /// The ID of the zone.
    var zone: Int64

    func precedes(_ other: QueryPosition) -> Bool {
        if key != other.key { return key.lexicographicallyPrecedes(other.key) }
        if name != other.name { return name.utf8.lexicographicallyPrecedes(other.name.utf8) }
        return zone < other.zone
    }
}
