import NephosWire

/// The system fields of every record in queries. (The schema's own list is `SystemField`.)
typealias QuerySystemField = NephosWire.SystemField

/// One field's part of an index.
struct IndexComponent: Hashable, Sendable {
    enum Kind: Character, Hashable, Sendable {
        /// The value for equality, or each element of a list. A record without a value has no entry.
        case equality = "="
        /// The value in ascending order. A record without a value has an entry, before all others.
        case ascending = "+"
        /// The value in descending order.
        case descending = "-"
        /// The words of a text, or of a list's texts.
        case token = "~"
        /// The cell of a location, and the location. A record without one has an entry, before all others.
        case cell = "@"
    }

    var kind: Kind
    var key: QueryKey

    init(_ kind: Kind, _ key: QueryKey) {
        self.kind = kind
        self.key = key
    }

    /// The field's name in the schema.
    var field: String {
        switch key {
        case .field(let name): name
        case .system(let field): field.schemaName
        case .allSearchableFields: ""
        }
    }

    /// The schema language's option for this kind of index.
    var option: String {
        switch kind {
        case .equality: "QUERYABLE"
        case .ascending, .descending: "SORTABLE"
        case .token: "SEARCHABLE"
        case .cell: "LOCATION"
        }
    }
}

/// The components of an index: an entry's value is the concatenation of the record's component values. Without
/// components, the index lists the records of its type by name.
///
/// At most one component can have several values for a record, such as a list or a text: `IndexEntries` makes an entry
/// for each.
struct IndexSignature: Hashable, Sendable {
    var components: [IndexComponent]

    init(_ components: [IndexComponent]) { self.components = components }

    /// The stored form: `=list,-___modTime`. Field names contain no commas.
    var text: String { components.map { "\($0.kind.rawValue)\($0.field)" }.joined(separator: ",") }

    init?(_ text: String) {
        components = []
        for part in text.split(separator: ",") {
            guard let kind = part.first.flatMap(IndexComponent.Kind.init), part.count > 1 else { return nil }
            components.append(IndexComponent(kind, QueryKey(name: String(part.dropFirst()))))
        }
    }
}
