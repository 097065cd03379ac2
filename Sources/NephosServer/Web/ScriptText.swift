/// The text of a script as it is served: without comments and indentation, which are a third of the sources.
enum ScriptText {
    /// Removes comments that begin a line, and the spaces around lines. Statements stay on their lines. The source has no
    /// literal that spans lines.
    static func withoutComments(_ bytes: UnsafeRawBufferPointer) -> String {
        var isInComment = false
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").compactMap { line -> Substring? in
            var line = trimmed(line)
            if line.hasPrefix("/**") { isInComment = true }
            if isInComment {
                guard let end = line.firstRange(of: "*/") else { return nil }
                isInComment = false
                line = trimmed(line[end.upperBound...])
            }
            return line.isEmpty || line.hasPrefix("//") ? nil : line
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func trimmed(_ line: Substring) -> Substring {
        guard let last = line.lastIndex(where: { $0 != " " }) else { return "" }
        return line[...last].drop { $0 == " " }
    }
}
