import NephosStorage
import NephosWire
import Synchronization

/// Has the long reads of an account take turns: an account that asks for much at a time waits for itself.
///
/// Callers without an account share nothing but the query that they ask.
final class LongReads: Sendable {
    enum Reader: Hashable {
        case account(Int64)
        /// A query of callers without one.
        case query(Int)
        /// What else they read.
        case anyone
    }

    /// Readers of which one reads, and who waits until it is done, oldest first.
    private let turns = Mutex<[Reader: [CheckedContinuation<Bool, Never>]]>([:])

    /// Reads once it is the reader's turn.
    /// - Throws: `requestRateLimited` where `Limits.waitingLongReads` wait.
    func read<T>(by reader: Reader, _ body: () async throws -> T) async throws -> T {
        guard await begin(reader) else { throw ServiceError.tooManyLongReads }
        defer { end(reader) }
        return try await body()
    }

    /// How many of a reader's reads wait for their turn.
    func waiting(of reader: Reader) -> Int { turns.withLock { $0[reader]?.count ?? 0 } }

    /// - Returns: false where too many wait.
    private func begin(_ reader: Reader) async -> Bool {
        await withCheckedContinuation { continuation in
            let answer = turns.withLock { turns -> Bool? in
                guard let waiting = turns[reader] else {
                    turns[reader] = []
                    return true
                }
                if waiting.count >= Limits.waitingLongReads { return false }
                turns[reader]?.append(continuation)
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    private func end(_ reader: Reader) {
        let next = turns.withLock { turns -> CheckedContinuation<Bool, Never>? in
            guard turns[reader]?.isEmpty == false else {
                turns[reader] = nil
                return nil
            }
            return turns[reader]?.removeFirst()
        }
        next?.resume(returning: true)
    }
}

extension ServiceError {
    static let tooManyLongReads = ServiceError(
        .throttled, .requestRateLimited, "too many requests of this account wait that read much", retryAfter: 5)
}
