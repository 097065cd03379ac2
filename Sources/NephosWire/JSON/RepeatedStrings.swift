/// A cache of the strings that recur in a document, such as users' names: each is allocated once (interning).
struct RepeatedStrings {
    private var known: [String] = []
    /// The maximum number of entries: beyond it a lookup would cost as much as an allocation.
    private static let limit = 8
    /// Strings up to this length need no allocation.
    private static let smallest = 16

    /// The string value of `json`.
    mutating func string(_ json: JSONValue) throws(WireError) -> String {
        guard json.tag == JSONValue.Tag.string else { throw json.mismatch("a string") }
        let text = json.text
        guard text.count >= Self.smallest else { return text.string }
        for string in known where string.utf8.count == text.count {
            if string.withUTF8Bytes({ compareBytes($0, text.bytes) }) == 0 { return string }
        }
        let string = text.string
        if known.count < Self.limit { known.append(string) }
        return string
    }
}
