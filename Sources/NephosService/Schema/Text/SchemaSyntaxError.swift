/// A position in the text of a schema. Lines and columns count from 1; a column is one Unicode scalar.
package struct SchemaPosition: Hashable, Sendable, CustomStringConvertible {
    package var line: Int
    package var column: Int

    package var description: String { "line \(line), column \(column)" }
}

/// A syntax error, with the token found and the tokens expected.
package struct SchemaSyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
    package var position: SchemaPosition
    /// The token that was found, as written, or `<EOF>`.
    package var found: String
    /// The tokens that were expected: keywords and symbols in quotes, other tokens in angle brackets.
    package var expected: [String]
    /// A remedy; nil if none is known.
    package var advice: String?

    package var description: String {
        var text = "Encountered \(found) at \(position)."
        if let only = expected.first, expected.count == 1 {
            text += " Was expecting: \(only)"
        } else if !expected.isEmpty {
            text += " Was expecting one of: " + expected.joined(separator: ", ")
        }
        if let advice { text += " (\(advice))" }
        return text
    }
}
