/// The ID of an account of the installation, which each store keeps in place of a name: `id:` and 32 hexadecimal digits.
/// It is random, so it shows nothing of the person.
package enum AccountID {
    private static let prefix = "id:"
    private static let digitCount = 32

    static func make(_ environment: ServiceEnvironment) -> String {
        prefix + environment.makeUUID().filter { $0 != "-" }.lowercased()
    }

    /// Whether the name is of the form of an ID, which no name of an account has.
    package static func isOne(_ name: String) -> Bool { name.utf8.starts(with: prefix.utf8) }

    /// Whether the name is an ID, and does not only begin as one.
    static func isValid(_ name: String) -> Bool { firstRange(in: name[...]) == name.startIndex..<name.endIndex }

    /// Returns where the first ID is in a text; nil if there is none.
    static func firstRange(in text: Substring) -> Range<Substring.Index>? {
        var start = text.startIndex
        while start < text.endIndex {
            let candidate = text[start...].utf8
            let digits = candidate.dropFirst(prefix.utf8.count).prefix(digitCount)
            let isID =
                candidate.starts(with: prefix.utf8) && digits.count == digitCount
                && digits.allSatisfy { digit in
                    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit)
                        || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(digit)
                }
            if isID { return start..<digits.endIndex }
            start = text.utf8.index(after: start)
        }
        return nil
    }
}
