/// The strings that stand in a document over and over, such as the names of users: each is made once.
struct RepeatedStrings {
    private var known: [String] = []
    /// Beyond it, looking for a string would cost as much as making it.
    private static let limit = 8
    /// Strings up to this length need no memory of their own.
    private static let smallest = 16

    /// The string that `json` is.
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
