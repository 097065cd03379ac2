import NephosWire

/// The fields that a query knows of every record. (The schema's own list is `SystemField`.)
typealias QuerySystemField = NephosWire.SystemField

/// What an index holds of one field.
struct IndexComponent: Hashable, Sendable {
    enum Kind: Character, Hashable, Sendable {
        /// The value, as equality sees it; of a list each element. A record without a value is not in the index.
        case equality = "="
        /// The value, in its order. A record without one is in the index too, before all others.
        case ascending = "+"
        /// The same in reverse.
        case descending = "-"
        /// The words of a text, or of a list's texts.
        case token = "~"
        /// The cell of a location, and the location. A record without one is in the index too, before all others.
        case cell = "@"
    }

    var kind: Kind
    var key: QueryKey

    init(_ kind: Kind, _ key: QueryKey) {
        self.kind = kind
        self.key = key
    }

    /// The name of its field in the schema.
    var field: String {
        switch key {
        case .field(let name): name
        case .system(let field): field.schemaName
        case .allSearchableFields: ""
        }
    }

    /// How the schema language calls such an index.
    var option: String {
        switch kind {
        case .equality: "QUERYABLE"
        case .ascending, .descending: "SORTABLE"
        case .token: "SEARCHABLE"
        case .cell: "LOCATION"
        }
    }
}

/// What an index is of: its entries' values are what the components have of a record, joined. Without components it lists
/// the records of its type by name.
///
/// At most one component can have several values for a record, as a list or a text has: `IndexEntries` makes an entry for
/// each.
struct IndexSignature: Hashable, Sendable {
    var components: [IndexComponent]

    init(_ components: [IndexComponent]) { self.components = components }

    /// How it is stored: `=list,-___modTime`. The names of fields have no commas.
    var text: String { components.map { "\($0.kind.rawValue)\($0.field)" }.joined(separator: ",") }

    init?(_ text: String) {
        components = []
        for part in text.split(separator: ",") {
            guard let kind = part.first.flatMap(IndexComponent.Kind.init), part.count > 1 else { return nil }
            components.append(IndexComponent(kind, QueryKey(name: String(part.dropFirst()))))
        }
    }
}
