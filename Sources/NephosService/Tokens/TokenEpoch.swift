import NephosStorage
import Synchronization

/// The cached content that decides which opaque strings are valid: the store's epoch, and the change sequences that the
/// store assigned and lost. Changes by other processes are noticed by the version in the store: a read that takes such
/// a string calls `refresh` first.
final class TokenEpoch: Sendable {
    struct Content: Sendable {
        var epoch: Int64 = 0
        var lost: [ClosedRange<Int64>] = []
    }

    private let state: Mutex<(content: Content, version: Int64)>

    init() { state = Mutex((Content(), 0)) }

    init(_ reader: StorageReader) throws {
        state = Mutex(try Self.read(reader))
    }

    var content: Content { state.withLock { $0.content } }

    /// Reloads the content if its version in the store has changed.
    func refresh(_ reader: StorageReader) throws {
        let known = state.withLock { $0.version }
        if try reader.isCurrent(known, of: .tokenValidity) { return }
        let found = try Self.read(reader)
        state.withLock { if $0.version < found.version { $0 = found } }
    }

    private static func read(_ reader: StorageReader) throws -> (content: Content, version: Int64) {
        let version = try reader.version(of: .tokenValidity)
        return (Content(epoch: try reader.tokenEpoch(), lost: try reader.lostSequences()), version)
    }
}
