/// How a field can be looked for: the field options of the CloudKit Schema Language.
package struct IndexOptions: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Equality, membership, and "has this element" of a list.
    package static let queryable = IndexOptions(rawValue: 1 << 0)
    /// Ranges, prefixes and order.
    package static let sortable = IndexOptions(rawValue: 1 << 1)
    /// Words of a text.
    package static let searchable = IndexOptions(rawValue: 1 << 2)

    /// In the order in which Apple's exports write them.
    static let named: [(option: IndexOptions, name: String)] = [
        (.queryable, "QUERYABLE"), (.searchable, "SEARCHABLE"), (.sortable, "SORTABLE"),
    ]

    /// The options' names in the schema language.
    var names: [String] { Self.named.filter { contains($0.option) }.map(\.name) }
}

extension IndexOptions {
    /// The indexes a field gets when a save makes it ("CloudKit creates indexes for most field types automatically in
    /// development"; `CKQuery`, Apple's documentation).
    static func automatic(for type: SchemaType) -> IndexOptions {
        if type.isEncrypted { return [] }
        switch type.scalar {
        case .asset, .bytes: return []
        case .reference: return .queryable
        case .string: return type.isList ? .queryable : [.queryable, .searchable, .sortable]
        case .double, .int64, .location, .number, .timestamp:
            return type.isList ? .queryable : [.queryable, .sortable]
        }
    }

    /// The indexes a field of the type can have. Options beyond these have no effect where they are allowed at all.
    static func possible(for type: SchemaType) -> IndexOptions {
        if type.isEncrypted { return [] }
        switch type.scalar {
        case .asset, .bytes: return []
        case .string: return type.isList ? [.queryable, .searchable] : [.queryable, .searchable, .sortable]
        case .double, .int64, .location, .number, .reference, .timestamp:
            return type.isList ? .queryable : [.queryable, .sortable]
        }
    }

    /// Options that have no effect and yet are no error: the schemas that Apple exports of apps on Core Data and SwiftData
    /// have `BYTES QUERYABLE SORTABLE`, and a list may be called sortable.
    static func tolerated(for type: SchemaType) -> IndexOptions {
        if type.isEncrypted { return [] }
        if type.scalar == .bytes { return [.queryable, .sortable] }
        return type.isList && type.scalar != .asset ? .sortable : []
    }
}
