/// The defect in a message and the path of the defect, for the sender of the request.
package struct WireError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The defect's path, such as `operations[3].record.fields.title.value`; empty for the message as a whole.
    package var path: String
    /// The expected value and the found value.
    package var reason: String

    package init(path: String = "", reason: String) {
        self.path = path
        self.reason = reason
    }

    package var description: String { path.isEmpty ? reason : "\(path): \(reason)" }
}

/// Builds the path of a value member by member.
enum WirePath {
    /// The maximum length of a name or value in an error, in Unicode scalars. Longer ones are truncated, because an
    /// error must not repeat a megabyte.
    private static let longestShown = 64

    static func appending(member name: String, to path: String) -> String {
        let isPlain = name.utf8.allSatisfy { $0 > 0x20 && $0 != 0x2E && $0 != 0x5B && $0 != 0x5D && $0 != 0x22 }
        guard isPlain, !name.isEmpty, name.utf8.count <= longestShown else { return "\(path)[\(quoted(name))]" }
        return path.isEmpty ? name : "\(path).\(name)"
    }

    static func appending(index: Int, to path: String) -> String { "\(path)[\(index)]" }

    /// Returns `text` in quotes, truncated to a readable length and without control characters.
    static func quoted(_ text: String) -> String { "\"\(shortened(text))\"" }

    /// Returns `text` truncated to a readable length and without control characters.
    static func shortened(_ text: String) -> String {
        let scalars = text.unicodeScalars
        let shown = String(String.UnicodeScalarView(scalars.prefix(longestShown).filter { $0.value >= 0x20 }))
        return scalars.dropFirst(longestShown).isEmpty ? shown : shown + "…"
    }
}
