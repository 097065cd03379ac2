/// Where something stands in a schema's text. Both count from 1; a column is one Unicode scalar.
package struct SchemaPosition: Hashable, Sendable, CustomStringConvertible {
    package var line: Int
    package var column: Int

    package var description: String { "line \(line), column \(column)" }
}

/// Text that is no schema: what stands there, and what could.
package struct SchemaSyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
    package var position: SchemaPosition
    /// As it is written, or `<EOF>`.
    package var found: String
    /// Keywords and symbols in quotes, everything else in angle brackets.
    package var expected: [String]
    /// What to do about it, where that can be told.
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
