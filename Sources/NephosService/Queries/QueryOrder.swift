import NephosWire

/// The order of a query's results: total, so that a page can begin where another one ended. Records are ordered by the
/// bytes of their keys, then by name, then by zone, whether an index gives them or they are sorted in memory.
struct QueryOrder: Hashable, Sendable {
    enum Key: Hashable, Sendable {
        case component(IndexComponent)
        case distance(QueryKey, from: LocationValue, ascending: Bool)
    }

    var keys: [Key]

    /// By name.
    static let name = QueryOrder(keys: [])

    init(keys: [Key]) { self.keys = keys }

    init(_ components: [IndexComponent]) { keys = components.map(Key.component) }

    init(_ descriptors: [QuerySortDescriptor]) {
        keys = descriptors.map { descriptor in
            if let location = descriptor.relativeLocation {
                return .distance(descriptor.key, from: location, ascending: descriptor.ascending)
            }
            return .component(IndexComponent(descriptor.ascending ? .ascending : .descending, descriptor.key))
        }
        // The name decides last anyway.
        if keys.last == .component(IndexComponent(.ascending, .system(.recordName))) { keys.removeLast() }
    }

    /// What an index needs to have to give the order; nil where none can.
    var components: [IndexComponent]? {
        var components: [IndexComponent] = []
        for key in keys {
            guard case .component(let component) = key else { return nil }
            components.append(component)
        }
        return components
    }

    /// Whether a record can never change its place.
    var isStable: Bool {
        keys.allSatisfy { key in
            if case .component(let component) = key { component.key == .system(.recordName) } else { false }
        }
    }

    /// Whether there may be strings in it that an index cuts. Names are short, but for references every field may have some.
    var hasStrings: Bool {
        keys.contains { key in
            if case .component(let component) = key, case .field = component.key { true } else { false }
        }
    }

    /// The developer's fields it needs, and whether it needs users.
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

    /// A record's place, strings whole.
    func key(of record: StoredRecord) -> [UInt8] {
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

    /// Whether an index may have cut a string of this key: then it does not tell its records apart.
    static func mayBeCut(_ key: [UInt8]) -> Bool { key.count > OrderedBytes.stringLimit }

    /// The key as an index has it, which cuts long strings; nil where that is the same.
    func indexKey(of key: [UInt8]) -> [UInt8]? {
        guard Self.mayBeCut(key), let components else { return nil }
        var index: [UInt8] = []
        var rest = key[...]
        for component in components {
            guard component.kind == .descending else {
                OrderedBytes.cutFirst(of: &rest, to: &index)
                continue
            }
            var turned = OrderedBytes.complement(Array(rest))[...]
            let count = turned.count
            var cut: [UInt8] = []
            OrderedBytes.cutFirst(of: &turned, to: &cut)
            index += OrderedBytes.complement(cut)
            rest = rest.dropFirst(count - turned.count)
        }
        return index
    }

    /// A record without a location is farther away than all others.
    static func distance(of location: LocationValue?, from center: LocationValue, ascending: Bool = true) -> [UInt8] {
        let bytes = OrderedBytes.coordinate(location.map { center.distance(to: $0) } ?? .infinity)
        return ascending ? bytes : OrderedBytes.complement(bytes)
    }
}

/// A place among results: behind the record that it names.
struct QueryPosition: Hashable, Sendable {
    var key: [UInt8]
    var name: String
    /// The zone's id.
    var zone: Int64

    func precedes(_ other: QueryPosition) -> Bool {
        if key != other.key { return key.lexicographicallyPrecedes(other.key) }
        if name != other.name { return name.utf8.lexicographicallyPrecedes(other.name.utf8) }
        return zone < other.zone
    }
}
