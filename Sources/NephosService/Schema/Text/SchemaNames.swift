/// The spelling of names in the text of the CloudKit Schema Language.
enum SchemaNames {
    /// The keywords that need double quotes when used as names, because a name may stand in their position.
    static let reserved = ["GRANT", "PREFERRED", "QUERYABLE", "SEARCHABLE", "SORTABLE"]

    static func isReserved(_ word: String) -> Bool {
        reserved.contains { ASCIIFolding.equal($0, word) }
    }

    /// The name as it is written in a schema, in double quotes if it needs them.
    static func written(_ name: String) -> String { isPlain(name) ? name : "\"\(name)\"" }

    private static func isPlain(_ name: String) -> Bool {
        guard let first = name.utf8.first, SchemaLexer.isLetter(first) else { return false }
        return name.utf8.allSatisfy(SchemaLexer.isNamePart) && !isReserved(name)
    }
}
