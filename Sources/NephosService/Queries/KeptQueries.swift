import Synchronization

/// Keeps what queries came to. Each has two places by a hash, and where neither is free takes one from the one before.
///
/// There are places for the parameters that an app's screens are seen with. Most queries take two kilobytes or so, and one
/// that takes more than some ten is not kept: a client that fills all places on purpose takes tens of megabytes.
final class KeptQueries<Entry: AnyObject & Sendable>: Sendable {
    /// Bytes of the longest request that is kept.
    static var longest: Int { 1024 }
    /// Commas in it.
    private static var mostParts: Int { 64 }
    private static var count: Int { 4096 }

    /// Whether a request is short enough to be kept: in bytes, and in values, names and members, which take more decoded.
    static func isShort(_ json: [UInt8]) -> Bool {
        json.count <= longest && json.count { $0 == UInt8(ascii: ",") } < mostParts
    }

    private let entries = Mutex([Entry?](repeating: nil, count: count))

    /// What has a place of `hash` and is what is looked for.
    func first(at hash: UInt64, where isMatch: (Entry) -> Bool) -> Entry? {
        let (first, second) = Self.places(hash)
        if let entry = entries.withLock({ $0[first] }), isMatch(entry) { return entry }
        if let entry = entries.withLock({ $0[second] }), isMatch(entry) { return entry }
        return nil
    }

    func keep(_ entry: Entry, at hash: UInt64) {
        let (first, second) = Self.places(hash)
        // What had the place is freed without the lock.
        _ = entries.withLock { entries in
            let place = entries[first] != nil && entries[second] == nil ? second : first
            let old = entries[place]
            entries[place] = entry
            return old
        }
    }

    private static func places(_ hash: UInt64) -> (Int, Int) {
        (Int(hash % UInt64(count)), Int((hash >> 32) % UInt64(count)))
    }
}
