/// The query options of a field: the field options of the CloudKit Schema Language.
package struct IndexOptions: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Allows equality, membership, and list containment.
    package static let queryable = IndexOptions(rawValue: 1 << 0)
    /// Allows ranges, prefixes and sort order.
    package static let sortable = IndexOptions(rawValue: 1 << 1)
    /// Allows full-text search by words.
    package static let searchable = IndexOptions(rawValue: 1 << 2)

    /// The options with their names in the schema language, in the order of Apple's exports.
    static let named: [(option: IndexOptions, name: String)] = [
        (.queryable, "QUERYABLE"), (.searchable, "SEARCHABLE"), (.sortable, "SORTABLE"),
    ]

    /// The names of the options in the schema language.
    var names: [String] { Self.named.filter { contains($0.option) }.map(\.name) }
}

extension IndexOptions {
    /// The options of a field that a save creates ("CloudKit creates indexes for most field types automatically in
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

    /// The options that take effect on a field of the type. Other options have no effect, even where they are
    /// tolerated.
    static func possible(for type: SchemaType) -> IndexOptions {
        if type.isEncrypted { return [] }
        switch type.scalar {
        case .asset, .bytes: return []
        case .string: return type.isList ? [.queryable, .searchable] : [.queryable, .searchable, .sortable]
        case .double, .int64, .location, .number, .reference, .timestamp:
            return type.isList ? .queryable : [.queryable, .sortable]
        }
    }

    /// The options without effect on the type that are no errors: Apple's exported schemas of apps on Core Data and
    /// SwiftData have `BYTES QUERYABLE SORTABLE`, and a list may be declared sortable.
    static func tolerated(for type: SchemaType) -> IndexOptions {
        if type.isEncrypted { return [] }
        if type.scalar == .bytes { return [.queryable, .sortable] }
        return type.isList && type.scalar != .asset ? .sortable : []
    }
}
