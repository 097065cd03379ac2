/// The number of a store among those of a database, and the keys of its owners and accounts: 24 bits of the store's number,
/// and 40 of theirs, which may be negative.
struct StoreNumber: Hashable, Sendable {
    let value: Int64

    private static let bits: Int64 = 40
    private static let half: Int64 = 1 << (bits - 1)

    /// The most stores that a database may have.
    static let most: Int64 = 1 << 23 - 1

    func key(_ number: Int64) -> Int64 {
        (value << Self.bits) + Self.half + min(max(number, -Self.half), Self.half - 1)
    }

    /// Null, and the number 0 for no account, are kept as they are.
    func number(_ key: Int64) -> Int64 { key == 0 ? 0 : key - (value << Self.bits) - Self.half }

    /// The number of the store of a key, in SQL.
    static func sql(ofKey key: String) -> String { "\(key) >> \(bits)" }

    /// What a word of a template stands for, where the text of the store's number is `store`.
    static func sql(_ word: Substring, _ argument: String, store: String) -> String {
        switch word {
        // The column of tables without such keys is named like it.
        case "store" where argument == "store" || argument.hasSuffix(".store"): "\(argument) = \(store)"
        case "store" where !argument.isEmpty: "\(sql(ofKey: argument)) = \(store)"
        case "range":
            "\(argument) >= (\(store) << \(bits)) AND \(argument) < ((\(store) + 1) << \(bits))"
        case "number": "(\(argument) - (\(store) << \(bits)) - \(half))"
        case "key": "(\(argument) + (\(store) << \(bits)) + \(half))"
        default: store
        }
    }
}
