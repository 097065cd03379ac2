import Synchronization

/// Keeps what queries came to. Each has its place by a hash, and takes it from the one before.
///
/// There are places for the parameters that an app's screens are seen with. Most queries take two kilobytes or so, and one
/// that takes more than some ten is not kept: a client that fills all places on purpose takes tens of megabytes.
final class KeptQueries<Entry: AnyObject & Sendable>: Sendable {
    private static var longest: Int { 1024 }
    private static var mostParts: Int { 64 }
    private static var count: Int { 4096 }

    /// Whether a request is short enough to be kept: in bytes, and in values, names and members, which take more decoded.
    static func isShort(_ json: [UInt8]) -> Bool {
        json.count <= longest && json.count { $0 == UInt8(ascii: ",") } < mostParts
    }

    private let entries = Mutex([Entry?](repeating: nil, count: count))

    /// What has the place of `hash`; whether it is what is looked for, the caller tells.
    func entry(at hash: UInt64) -> Entry? { entries.withLock { $0[Self.place(hash)] } }

    func keep(_ entry: Entry, at hash: UInt64) {
        // What had the place is freed without the lock.
        _ = entries.withLock { entries in
            let old = entries[Self.place(hash)]
            entries[Self.place(hash)] = entry
            return old
        }
    }

    private static func place(_ hash: UInt64) -> Int { Int(hash % UInt64(count)) }
}
