import Synchronization

/// What requests to development did that production or Apple's service may refuse, and that no schema shows: each
/// finding once, in memory, since the server's start.
final class PreflightNotes: Sendable {
    private let notes = Mutex<[String: [String]]>([:])

    /// - Returns: whether the note is new.
    func add(_ note: String, to container: String) -> Bool {
        notes.withLock { notes in
            if notes[container] == nil, notes.count >= Limits.preflightContainers { return false }
            var known = notes[container] ?? []
            if known.count >= Limits.preflightNotes || known.contains(note) { return false }
            known.append(note)
            notes[container] = known
            return true
        }
    }

    func of(_ container: String) -> [String] { notes.withLock { $0[container] ?? [] } }
}
