/// How names are written in the CloudKit Schema Language.
enum SchemaNames {
    /// The keywords that are no names without double quotes, because a name may stand where they stand.
    static let reserved = ["GRANT", "PREFERRED", "QUERYABLE", "SEARCHABLE", "SORTABLE"]

    static func isReserved(_ word: String) -> Bool {
        reserved.contains { ASCIIFolding.equal($0, word) }
    }

    /// The name, in double quotes where it needs them.
    static func written(_ name: String) -> String { isPlain(name) ? name : "\"\(name)\"" }

    private static func isPlain(_ name: String) -> Bool {
        guard let first = name.utf8.first, SchemaLexer.isLetter(first) else { return false }
        return name.utf8.allSatisfy(SchemaLexer.isNamePart) && !isReserved(name)
    }
}
