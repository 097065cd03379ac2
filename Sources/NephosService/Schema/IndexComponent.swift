import NephosWire

/// The system fields that every record has in queries. (The schema's own list is `SystemField`.)
typealias QuerySystemField = NephosWire.SystemField

/// The part of an index that one field supplies.
struct IndexComponent: Hashable, Sendable {
    enum Kind: Character, Hashable, Sendable {
        /// The value for equality, or each element of a list. A record without a value has no entry.
        case equality = "="
        /// The value in ascending order. A record without a value has an entry that precedes all others.
        case ascending = "+"
        /// The value in descending order. A record without a value has an entry that follows all others.
        case descending = "-"
        /// Each word of a text, or of the texts of a list.
        case token = "~"
        /// The cell of a location, followed by the location. A record without a location has an entry that precedes all
        /// others.
        case cell = "@"
    }

    var kind: Kind
    var key: QueryKey

    init(_ kind: Kind, _ key: QueryKey) {
        self.kind = kind
        self.key = key
    }

    /// The name of the field in the schema.
    var field: String {
        switch key {
        case .field(let name): name
        case .system(let field): field.schemaName
        case .allSearchableFields: ""
        }
    }

    /// The option of the schema language that allows this kind of index.
    var option: String {
        switch kind {
        case .equality: "QUERYABLE"
        case .ascending, .descending: "SORTABLE"
        case .token: "SEARCHABLE"
        case .cell: "LOCATION"
        }
    }
}

/// The components of an index. The value of an index entry is the concatenation of the values that the record has for
/// each component. An index without components lists the records of its type by name.
///
/// At most one component can have several values for a record, such as a list or a text. `IndexEntries` makes one entry
/// per value.
struct IndexSignature: Hashable, Sendable {
    var components: [IndexComponent]

    init(_ components: [IndexComponent]) { self.components = components }

    /// The stored form of the signature, such as `=list,-___modTime`. Field names contain no commas.
    var text: String { components.map { "\($0.kind.rawValue)\($0.field)" }.joined(separator: ",") }

    init?(_ text: String) {
        components = []
        for part in text.split(separator: ",") {
            guard let kind = part.first.flatMap(IndexComponent.Kind.init), part.count > 1 else { return nil }
            components.append(IndexComponent(kind, QueryKey(name: String(part.dropFirst()))))
        }
    }
}
