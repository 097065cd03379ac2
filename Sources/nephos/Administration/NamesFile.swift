import FoundationEssentials

/// The file of sign-in names for the names of `nephos dev`: a line such as `ada = ada@example.org` for each. A name may hold
/// `=` without spaces around it. Empty lines, and those that begin with `#`, have no effect.
enum NamesFile {
    /// - Throws: `UsageError` for a file that cannot be read, and for the first line that has another form.
    static func read(_ path: String) throws(UsageError) -> [String: String] {
        guard let data = try? Data(contentsOf: URL(fileURLWithPath: path)),
            let text = String(bytes: data, encoding: .utf8)
        else { throw UsageError("'\(path)' cannot be read as text: '--names' takes a file with lines such as a = b.") }
        return try parse(text, of: path)
    }

    static func parse(_ text: String, of path: String) throws(UsageError) -> [String: String] {
        var names: [String: String] = [:]
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let line = String(line).trimmingSpaces
            if line.isEmpty || line.hasPrefix("#") { continue }
            guard let (name, signInName) = parts(of: line), !name.isEmpty, !signInName.isEmpty else {
                throw UsageError("line \(index + 1) of '\(path)' is not of the form ada = ada@example.org.")
            }
            guard names.updateValue(signInName, forKey: name) == nil else {
                throw UsageError("line \(index + 1) of '\(path)' names '\(name)' once more.")
            }
        }
        return names
    }

    private static func parts(of line: String) -> (String, String)? {
        guard let mark = line.firstRange(of: " = ") ?? line.firstRange(of: "=") else { return nil }
        return (String(line[..<mark.lowerBound]).trimmingSpaces, String(line[mark.upperBound...]).trimmingSpaces)
    }
}
