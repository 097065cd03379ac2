/// A record's change tag: its change sequence in base 36. Sequences are unique in a store and only grow, so every save
/// gives a record a tag that it never had (`recordChangeTag`, Apple's documentation).
enum ChangeTag {
    static func make(sequence: Int64) -> String {
        String(sequence, radix: 36)
    }

    static func matches(_ tag: String, sequence: Int64) -> Bool {
        tag == make(sequence: sequence)
    }
}
