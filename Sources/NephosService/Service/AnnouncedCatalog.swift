import Synchronization

/// Something of the store's that is kept in memory and must never be older than the store: the schema, the indexes.
///
/// Whoever changes it calls `beginChange` before handing in the write, and `endChange` after its answer. Between the two
/// nothing is kept, and a transaction reads what it needs itself, where it sees the writes before it, committed or not. A
/// transaction that finds nothing changing may use what is kept: a change that begins only now has its write behind the
/// transaction's. What is read while nothing changes is committed, as a write is answered after its commit; so that is
/// what is kept.
///
/// This takes one process that writes the store. Where there are several, the content needs a version in the store that
/// each transaction reads.
final class AnnouncedCatalog<Content: Sendable>: Sendable {
    /// A moment in the life of the content.
    struct Moment: Equatable, Sendable {
        fileprivate var changes: Int
    }

    private struct State {
        var changing = 0
        /// How many changes began or ended.
        var changes = 0
        var known: Content?
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
    func content(asOf moment: Moment, read: () throws -> Content) rethrows -> Content {
        let known = state.withLock { $0.changing == 0 && $0.changes == moment.changes ? $0.known : nil }
        if let known { return known }
        let content = try read()
        remember(content, asOf: moment)
        return content
    }

    /// Tells what is kept, and may be used at `moment`, from what was kept before; nil where nothing is.
    func version(asOf moment: Moment) -> Int? {
        state.withLock { state in
            state.changing == 0 && state.changes == moment.changes && state.known != nil ? state.versions : nil
        }
    }

    /// Keeps what was committed, or read while nothing changed.
    func remember(_ content: Content, asOf moment: Moment) {
        state.withLock { state in
            guard state.changing == 0 && state.changes == moment.changes else { return }
            state.known = content
            state.versions += 1
        }
    }
}
