import NephosStorage
import NephosWire
import Synchronization

/// Serialises the long reads of each account, so that an account that reads much delays only itself.
///
/// Callers without an account are serialised by their network address.
final class LongReads: Sendable {
    enum Reader: Hashable {
        case account(Int64)
        /// The network address of callers without an account; empty if unknown.
        case address([UInt8])
    }

    /// The readers with a running read, each with its queue of waiting reads, oldest first.
    private let turns = Mutex<[Reader: [CheckedContinuation<Bool, Never>]]>([:])

    /// Runs the read after the reader's earlier reads.
    /// - Throws: `requestRateLimited` if the reader has `Limits.waitingLongReads` queued reads.
    func read<T>(by reader: Reader, _ body: () async throws -> T) async throws -> T {
        guard await begin(reader) else { throw ServiceError.tooManyLongReads }
        defer { end(reader) }
        return try await body()
    }

    /// The number of queued reads of a reader.
    func waiting(of reader: Reader) -> Int { turns.withLock { $0[reader]?.count ?? 0 } }

    /// - Returns: whether the read may run; false if the reader's queue is full.
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
        .throttled, .requestRateLimited, "too many long reads of this account or address wait", retryAfter: 5)
}
