import NephosWire

/// The parsed declarations of a schema's text.
struct ParsedSchema: Equatable, Sendable {
    var schema = Schema()
    /// The positions of the elements' declarations.
    var positions: [SchemaElement: SchemaPosition] = [:]
    /// The findings about elements that are declared twice. `schema` contains the first declaration.
    var duplicates: [SchemaFinding] = []
}

/// Parses the CloudKit Schema Language:
///
///     schema     :  DEFINE SCHEMA { ( role | type ) ";" }
///     role       :  CREATE ROLE name
///     type       :  RECORD TYPE name "(" item { "," item } ")"
///     item       :  name data-type { QUERYABLE | SORTABLE | SEARCHABLE } | GRANT permission { "," permission } TO name
///     permission :  READ | CREATE | WRITE
///     data-type  :  primitive  |  LIST "<" primitive ">"
///     primitive  :  ASSET | … | TIMESTAMP  |  ENCRYPTED primitive  |  NUMBER [ PREFERRED AS ( INT64 | DOUBLE ) ]
///
/// Between items the text may contain pragmas, which are comments for Apple's tools, each on a line of its own:
///
///     pragma     :  "-- nephos:" INDEX "(" name [ ASC | DESC | NEAR ] { "," name [ ASC | DESC | NEAR ] } ")"
///
/// The parser has one token of lookahead. It does not recurse, so no input is nested too deeply, and its time is linear
/// in the length of the text.
struct SchemaParser {
    private var lexer: SchemaLexer
    private var token: SchemaToken
    private var parsed = ParsedSchema()

    private init(_ text: String) throws(SchemaSyntaxError) {
        lexer = SchemaLexer(text)
        token = try lexer.next()
    }

    static func parse(_ text: String) throws(SchemaSyntaxError) -> ParsedSchema {
        var parser = try SchemaParser(text)
        try parser.schema()
        return parser.parsed
    }

    /// Parses a field's type and options; nil if the text is malformed.
    static func fieldDefinition(_ text: String) -> SchemaField? {
        try? whole(text) { (parser) throws(SchemaSyntaxError) in try parser.definition() }
    }

    /// Parses grants that are separated by commas; nil if the text is malformed.
    static func grants(_ text: String) -> Grants? {
        try? whole(text) { (parser) throws(SchemaSyntaxError) in
            var grants: Grants = [:]
            repeat { try parser.grant(into: &grants) } while try parser.accept(symbol: ",")
            return grants
        }
    }

    private static func whole<T>(
        _ text: String, _ rule: (inout SchemaParser) throws(SchemaSyntaxError) -> T
    ) throws(SchemaSyntaxError) -> T {
        var parser = try SchemaParser(text)
        let value = try rule(&parser)
        guard parser.token.kind == .end else { throw parser.unexpected(["<EOF>"]) }
        return value
    }

    // MARK: - Statements

    private mutating func schema() throws(SchemaSyntaxError) {
        try expect("DEFINE")
        try expect("SCHEMA")
        while token.kind != .end {
            if try accept("CREATE") {
                try role()
            } else if try accept("RECORD") {
                try recordType()
            } else {
                throw unexpected(["\"CREATE\"", "\"RECORD\"", "<EOF>"])
            }
            try expect(symbol: ";", or: [])
        }
    }

    private mutating func role() throws(SchemaSyntaxError) {
        try expect("ROLE")
        let name = try name(or: [])
        if declare(.role(name.text), at: name.position) { parsed.schema.add(role: name.text) }
    }

    private mutating func recordType() throws(SchemaSyntaxError) {
        try expect("TYPE")
        let name = try name(or: [])
        let isFirst = declare(.recordType(name.text), at: name.position)
        try expect(symbol: "(", or: [])
        var fields: [String: SchemaField] = [:]
        var grants: Grants = [:]
        var indexes: Set<IndexSignature> = []
        var hasMore = true
        while hasMore {
            try pragmas(into: &indexes, of: isFirst ? name.text : nil)
            let position = token.position
            var continuations = ["\",\""]
            if token.isKeyword("GRANT") {
                let role = try grant(into: &grants)
                if isFirst { parsed.positions[.grant(recordType: name.text, role: role)] = position }
            } else {
                let field = try self.name(or: ["\"GRANT\""])
                let definition = try definition()
                if fields[field.text] == nil { fields[field.text] = definition }
                continuations = Self.continuations(definition) + continuations
                if isFirst { _ = declare(.field(recordType: name.text, name: field.text), at: position) }
            }
            try pragmas(into: &indexes, of: isFirst ? name.text : nil)
            hasMore = try accept(symbol: ",")
            if !hasMore { try expect(symbol: ")", or: continuations) }
        }
        if isFirst {
            parsed.schema.set(RecordTypeSchema(fields: fields, grants: grants, indexes: indexes), named: name.text)
        }
    }

    // MARK: - Pragmas

    /// Parses the index declarations between two items.
    /// - Parameter recordType: the name of the record type; nil for a duplicate declaration of the type.
    private mutating func pragmas(
        into indexes: inout Set<IndexSignature>, of recordType: String?
    ) throws(SchemaSyntaxError) {
        while token.kind == .pragma {
            let position = token.position
            try advance()
            try expect("INDEX")
            let index = try indexComponents()
            indexes.insert(index)
            if let recordType { _ = declare(.index(recordType: recordType, fields: index.fieldList), at: position) }
        }
    }

    /// Parses the fields of a composite index, such as `(list, due DESC)`.
    private mutating func indexComponents() throws(SchemaSyntaxError) -> IndexSignature {
        let line = token.position.line
        try expect(symbol: "(", or: [])
        var components: [IndexComponent] = []
        repeat {
            let field = try name(or: [])
            var kind = IndexComponent.Kind.equality
            for (option, word) in IndexComponent.written where try accept(word) {
                kind = option
                break
            }
            components.append(IndexComponent(kind, QueryKey(name: field.text)))
        } while try accept(symbol: ",")
        guard token.isSymbol(")") else {
            throw unexpected(IndexComponent.written.map { "\"\($0.word)\"" } + ["\",\"", "\")\""])
        }
        if token.position.line != line {
            throw SchemaSyntaxError(
                position: token.position, found: "the end of the line", expected: ["\")\""],
                advice: "to Apple's tools the line is a comment, so the index has to end where it does")
        }
        try advance()
        return IndexSignature(components).canonical
    }

    // MARK: - Items

    /// The tokens that may follow a field, besides the end of the item.
    private static func continuations(_ field: SchemaField) -> [String] {
        let options = IndexOptions.named.filter { !field.options.contains($0.option) }.map { "\"\($0.name)\"" }
        let isOpenNumber = field.type == SchemaType(.number) && field.options.isEmpty
        return (isOpenNumber ? ["\"PREFERRED\""] : []) + options
    }

    private mutating func definition() throws(SchemaSyntaxError) -> SchemaField {
        var field = SchemaField(try dataType())
        while let option = IndexOptions.named.first(where: { token.isKeyword($0.name) }) {
            field.options.insert(option.option)
            try advance()
        }
        return field
    }

    private mutating func dataType() throws(SchemaSyntaxError) -> SchemaType {
        guard try accept("LIST") else { return try primitive(or: ["\"LIST\""]) }
        try expect(symbol: "<", or: [])
        var type = try primitive(or: [])
        type.isList = true
        let isOpenNumber = type.scalar == .number && type.preference == nil
        try expect(symbol: ">", or: isOpenNumber ? ["\"PREFERRED\""] : [])
        return type
    }

    private mutating func primitive(or alternatives: [String]) throws(SchemaSyntaxError) -> SchemaType {
        if try accept("ENCRYPTED") {
            let scalars = SchemaType.Scalar.allCases.filter(SchemaType.canBeEncrypted)
            return SchemaType(try scalar(of: scalars, or: []), isEncrypted: true)
        }
        var type = SchemaType(try scalar(of: SchemaType.Scalar.allCases, or: alternatives + ["\"ENCRYPTED\""]))
        if type.scalar == .number, try accept("PREFERRED") {
            try expect("AS")
            let preferences = SchemaType.NumberPreference.allCases
            guard let preference = preferences.first(where: { token.isKeyword($0.rawValue) }) else {
                throw unexpected(preferences.map { "\"\($0.rawValue)\"" })
            }
            type.preference = preference
            try advance()
        }
        return type
    }

    private mutating func scalar(
        of scalars: [SchemaType.Scalar], or alternatives: [String]
    ) throws(SchemaSyntaxError) -> SchemaType.Scalar {
        guard let scalar = scalars.first(where: { token.isKeyword($0.rawValue) }) else {
            throw unexpected((scalars.map { "\"\($0.rawValue)\"" } + alternatives).sorted())
        }
        try advance()
        return scalar
    }

    /// Parses a grant and adds its permissions to `grants`.
    /// - Returns: the role of the grant.
    @discardableResult
    private mutating func grant(into grants: inout Grants) throws(SchemaSyntaxError) -> String {
        try expect("GRANT")
        var permissions: Permissions = []
        repeat {
            guard let permission = Permissions.named.first(where: { token.isKeyword($0.name) }) else {
                throw unexpected(Permissions.named.map { "\"\($0.name)\"" })
            }
            permissions.insert(permission.permission)
            try advance()
        } while try accept(symbol: ",")
        guard try accept("TO") else { throw unexpected(["\",\"", "\"TO\""]) }
        let role = try name(or: []).text
        grants[role, default: []].formUnion(permissions)
        return role
    }

    // MARK: - Tokens

    private mutating func advance() throws(SchemaSyntaxError) { token = try lexer.next() }

    private mutating func accept(_ keyword: String) throws(SchemaSyntaxError) -> Bool {
        guard token.isKeyword(keyword) else { return false }
        try advance()
        return true
    }

    private mutating func accept(symbol: String) throws(SchemaSyntaxError) -> Bool {
        guard token.isSymbol(symbol) else { return false }
        try advance()
        return true
    }

    private mutating func expect(_ keyword: String) throws(SchemaSyntaxError) {
        guard try accept(keyword) else { throw unexpected(["\"\(keyword)\""]) }
    }

    private mutating func expect(symbol: String, or alternatives: [String]) throws(SchemaSyntaxError) {
        guard try accept(symbol: symbol) else { throw unexpected(alternatives + ["\"\(symbol)\""]) }
    }

    private mutating func name(or alternatives: [String]) throws(SchemaSyntaxError) -> SchemaToken {
        let name = token
        guard name.kind == .quoted || (name.kind == .word && !SchemaNames.isReserved(name.text)) else {
            throw unexpected(alternatives + ["<name>"])
        }
        try advance()
        return name
    }

    private func unexpected(_ expected: [String]) -> SchemaSyntaxError {
        var found = "\"\(Identifier.excerpt(token.text))\""
        if token.kind == .quoted { found = "the name " + found }
        if token.kind == .end { found = "<EOF>" }
        let needsQuotes =
            expected.contains("<name>")
            && ((token.kind == .word && SchemaNames.isReserved(token.text)) || token.text.hasPrefix("_"))
        return SchemaSyntaxError(
            position: token.position, found: found, expected: expected,
            advice: needsQuotes ? "as a name it needs double quotes" : nil)
    }

    /// Records the position of an element's declaration.
    /// - Returns: false if the element was already declared.
    private mutating func declare(_ element: SchemaElement, at position: SchemaPosition) -> Bool {
        if let first = parsed.positions[element] {
            parsed.duplicates.append(
                SchemaFinding(.error, element, at: position, "is declared twice, first at \(first)"))
            return false
        }
        parsed.positions[element] = position
        return true
    }
}
