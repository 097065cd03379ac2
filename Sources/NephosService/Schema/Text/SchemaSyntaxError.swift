/// A position in a schema's text. Both numbers count from 1; a column is one Unicode scalar.
package struct SchemaPosition: Hashable, Sendable, CustomStringConvertible {
    package var line: Int
    package var column: Int

    package var description: String { "line \(line), column \(column)" }
}

/// A syntax error: the found token, and the expected ones.
package struct SchemaSyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
    package var position: SchemaPosition
    /// As written, or `<EOF>`.
    package var found: String
    /// Keywords and symbols in quotes, others in angle brackets.
    package var expected: [String]
    /// A remedy, if one is known.
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
