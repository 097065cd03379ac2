import Synchronization

/// Keeps what queries came to. Each has its place by a hash, and takes it from the one before.
///
/// There are places for the parameters that an app's screens are seen with: a query that is kept takes two kilobytes or so
/// for most, and no long one is kept.
final class KeptQueries<Entry: AnyObject & Sendable>: Sendable {
    /// Bytes of a request that is kept.
    static var longest: Int { 1024 }
    static var count: Int { 4096 }

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
