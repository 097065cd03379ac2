/// A cache of the strings that recur in a document, such as users' names. The cache allocates each string once
/// (interning).
struct RepeatedStrings {
    private var known: [String] = []
    /// The maximum number of entries: with more, a lookup would cost as much as an allocation.
    private static let limit = 8
    /// The minimum size in bytes of a cached string, because shorter strings need no allocation.
    private static let smallest = 16

    /// Returns the string value of `json`, from the cache if possible.
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
