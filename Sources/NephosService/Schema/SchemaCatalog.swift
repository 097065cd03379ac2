import NephosStorage
import Synchronization

/// The store's schema, kept in memory, by the same rule as `IndexCatalog`: who changes or drops something calls
/// `beginChange` before handing in the write and `endChange` after its answer; between the two every transaction reads
/// the schema itself. So no save and no query is decided on something that was dropped.
///
/// What saves add needs no announcement: what is kept may lack it, so what it lacks is looked for in the store. A type
/// that it lacks was made by a save, and therefore has the standard grants.
final class SchemaCatalog: Sendable {
    /// A moment in the life of the schema.
    struct Moment: Equatable, Sendable {
        fileprivate var changes: Int
    }

    private struct State {
        var changing = 0
        /// How many changes began or ended.
        var changes = 0
        var known: Schema?
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

    /// The schema as a transaction that runs at `moment`, or a snapshot that was taken after it, has to see it.
    func schema(asOf moment: Moment, _ reader: any StorageReader) throws -> Schema {
        let known = state.withLock { $0.changing == 0 && $0.changes == moment.changes ? $0.known : nil }
        if let known { return known }
        let read = try Schema(reader)
        remember(read, asOf: moment)
        return read
    }

    /// Keeps a schema that was committed, or read while nothing changed.
    func remember(_ schema: Schema, asOf moment: Moment) {
        state.withLock { state in
            if state.changing == 0 && state.changes == moment.changes { state.known = schema }
        }
    }
}
