import NephosWire
import Synchronization

/// Whose queries lately looked at many records. Their next ones are taken to do so again: they are read where they hold up
/// nothing short, and one after another. So an account that asks for much at a time waits for itself, and takes its turn among
/// others that do.
///
/// Callers without an account share nothing but the query that they ask.
final class LongQueries: Sendable {
    enum Reader: Hashable {
        case account(Int64)
        /// A query of callers without one.
        case query(Int)
    }

    private struct Turn {
        /// Milliseconds since 1970.
        var longUntil: Int64
        var isReading = false
        /// To be told that it is their turn.
        var waiting: [CheckedContinuation<Bool, Never>] = []

        func isOver(at now: Int64) -> Bool { longUntil <= now && !isReading }
    }

    private let turns = Mutex<[Reader: Turn]>([:])

    /// Reads once it is the reader's turn.
    /// - Parameters:
    ///   - now: milliseconds since 1970.
    ///   - body: reads; it is told whether to expect that this takes long.
    /// - Throws: `requestRateLimited` where too many wait.
    func read<T>(
        by reader: Reader, at now: Int64, _ body: (_ isLong: Bool) async throws -> T
    ) async throws -> T {
        let isLong = turns.withLock { turns in
            // Whoever waits is before the next, also where the time is over.
            turns[reader].map { !$0.isOver(at: now) } ?? false
        }
        if !isLong { return try await body(false) }
        guard await begin(reader) else { throw ServiceError.tooManyLongQueries }
        defer { end(reader, at: now) }
        return try await body(true)
    }

    /// A query looked at so many records, and entries of indexes.
    func note(records: Int, entries: Int, by reader: Reader, at now: Int64) {
        guard records + entries / Limits.entriesPerLongQueryRecord > Limits.recordsOfShortQuery else { return }
        turns.withLock { turns in
            if turns[reader] == nil, turns.count >= Limits.longQueryReaders {
                turns = turns.filter { !$0.value.isOver(at: now) }
                if turns.count >= Limits.longQueryReaders { return }
            }
            turns[reader, default: Turn(longUntil: 0)].longUntil = now + Limits.longQueryMemory
        }
    }

    /// How many of a reader's queries wait for their turn.
    func waiting(of reader: Reader) -> Int { turns.withLock { $0[reader]?.waiting.count ?? 0 } }

    /// - Returns: false where too many wait.
    private func begin(_ reader: Reader) async -> Bool {
        await withCheckedContinuation { continuation in
            let answer = turns.withLock { turns -> Bool? in
                var turn = turns[reader] ?? Turn(longUntil: 0)
                defer { turns[reader] = turn }
                if !turn.isReading {
                    turn.isReading = true
                    return true
                }
                if turn.waiting.count >= Limits.waitingLongQueries { return false }
                turn.waiting.append(continuation)
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    private func end(_ reader: Reader, at now: Int64) {
        let next = turns.withLock { turns -> CheckedContinuation<Bool, Never>? in
            guard var turn = turns[reader] else { return nil }
            if turn.waiting.isEmpty {
                turn.isReading = false
                turns[reader] = turn.isOver(at: now) ? nil : turn
                return nil
            }
            defer { turns[reader] = turn }
            return turn.waiting.removeFirst()
        }
        next?.resume(returning: true)
    }
}

extension ServiceError {
    static let tooManyLongQueries = ServiceError(
        .throttled, .requestRateLimited, "too many queries of this account wait that look at many records",
        retryAfter: 5)
}
