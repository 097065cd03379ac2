import NephosStorage
import Synchronization

/// Something of the store's that is kept in memory and must never be older than the store: the schema, the indexes.
///
/// A change calls `beginChange` before handing in the write, and `endChange` after its answer. Between the two
/// nothing is kept, and a transaction reads what it needs itself, where it sees the writes before it, committed or not. A
/// transaction that finds nothing changing may use what is kept: a change that begins only now has its write behind the
/// transaction's. What is read while nothing changes is committed, as a write is answered after its commit; so that is
/// what is kept.
///
/// Changes of other processes are noticed by the version of the catalogue in the store (`SharedContent`), which a change
/// advances and every transaction that uses what is kept compares.
final class VersionedCache<Content: Sendable>: Sendable {
    /// A moment in the life of the content.
    struct Moment: Equatable, Sendable {
        fileprivate var changes: Int
    }

    private struct State {
        var changing = 0
        /// How many changes began or ended.
        var changes = 0
        var known: (content: Content, version: Int64)?
        /// How many contents were kept.
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

    /// The content as a transaction that runs at `moment`, or a snapshot that was taken after it, has to see it.
    /// - Parameter read: reads it from the store.
    func content(
        asOf moment: Moment, _ reader: StorageReader, read: () throws -> Content
    ) throws -> Content {
        let known = state.withLock { $0.changing == 0 && $0.changes == moment.changes ? $0.known : nil }
        if let known, try reader.isCurrent(known.version, of: .catalog) { return known.content }
        let version = try reader.version(of: .catalog)
        let content = try read()
        remember(content, at: version, asOf: moment)
        return content
    }

    /// Tells what is kept, and may be used at `moment`, from what was kept before; nil where nothing is.
    func version(asOf moment: Moment, _ reader: StorageReader) throws -> Int? {
        guard let kept = kept(asOf: moment), try reader.isCurrent(kept.version, of: .catalog) else { return nil }
        return kept.count
    }

    /// What tells apart what is kept, and the catalogue's version that it is of.
    func kept(asOf moment: Moment) -> (count: Int, version: Int64)? {
        state.withLock { state in
            guard state.changing == 0, state.changes == moment.changes, let known = state.known else { return nil }
            return (state.versions, known.version)
        }
    }

    /// Keeps what was committed, or read while nothing changed.
    /// - Parameter version: the catalogue's in the store then.
    func remember(_ content: Content, at version: Int64, asOf moment: Moment) {
        state.withLock { state in
            guard state.changing == 0 && state.changes == moment.changes else { return }
            if let known = state.known, known.version > version { return }
            state.known = (content, version)
            state.versions += 1
        }
    }
}
