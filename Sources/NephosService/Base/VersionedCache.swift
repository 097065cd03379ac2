import NephosStorage
import Synchronization

/// A cache of store content that must never be stale: the schema, the indexes.
///
/// A change calls `beginChange` before it enqueues its write, and `endChange` after the write is answered. Between
/// these calls nothing is cached, and a transaction reads the content itself; there it sees the writes before it,
/// committed or not. A transaction that finds no change in progress may use the cache: a change that begins later
/// enqueues its write behind that transaction. Content read while no change is in progress is committed, because a
/// write is answered after its commit. Only such content is cached.
///
/// Changes of other processes are noticed by the catalogue's version in the store (`SharedContent`): each change
/// advances that version, and every transaction that uses the cache compares it.
final class VersionedCache<Content: Sendable>: Sendable {
    /// A point in the sequence of changes to the content.
    struct Moment: Equatable, Sendable {
        fileprivate var changes: Int
    }

    private struct State {
        var changing = 0
        /// The number of times that a change began or ended.
        var changes = 0
        var known: (content: Content, version: Int64)?
        /// The number of times that a content was cached.
        var versions = 0
    }

    private let state = Mutex(State())

    func beginChange() {
        state.withLock { state in
            state.changing += 1
            state.changes += 1
            state.known = nil
        }
    }

    func endChange() {
        state.withLock { state in
            state.changing -= 1
            state.changes += 1
        }
    }

    var now: Moment { state.withLock { Moment(changes: $0.changes) } }

    /// The content that a transaction that runs at `moment`, or a snapshot that was taken after it, must see.
    /// - Parameters:
    ///   - remembers: whether the content is cached after a read; false if it may have uncommitted additions.
    ///   - read: reads the content from the store.
    func content(
        asOf moment: Moment, _ reader: StorageReader, remembers: Bool = true, read: () throws -> Content
    ) throws -> Content {
        let known = state.withLock { $0.changing == 0 && $0.changes == moment.changes ? $0.known : nil }
        if let known, try reader.isCurrent(known.version, of: .catalog) { return known.content }
        let version = try reader.version(of: .catalog)
        let content = try read()
        if remembers { remember(content, at: version, asOf: moment) }
        return content
    }

    /// The number of the cached content that is valid at `moment`; nil if none is valid. The number distinguishes a
    /// content from earlier ones.
    func version(asOf moment: Moment, _ reader: StorageReader) throws -> Int? {
        guard let kept = kept(asOf: moment), try reader.isCurrent(kept.version, of: .catalog) else { return nil }
        return kept.count
    }

    /// The number of the cached content, and its catalogue version; nil if no content is cached or a change began since
    /// `moment`.
    func kept(asOf moment: Moment) -> (count: Int, version: Int64)? {
        state.withLock { state in
            guard state.changing == 0, state.changes == moment.changes, let known = state.known else { return nil }
            return (state.versions, known.version)
        }
    }

    /// Caches content that was committed, or that was read while no change was in progress.
    /// - Parameter version: the catalogue's version in the store at the time of that commit or read.
    func remember(_ content: Content, at version: Int64, asOf moment: Moment) {
        state.withLock { state in
            guard state.changing == 0 && state.changes == moment.changes else { return }
            if let known = state.known, known.version > version { return }
            state.known = (content, version)
            state.versions += 1
        }
    }
}
