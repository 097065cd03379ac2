import NephosStorage
import NephosWire

/// Serialises the long reads of each account, so that an account that reads much delays only itself.
///
/// Callers without an account are serialised by their network address.
struct LongReads: Sendable {
    enum Reader: Hashable {
        case account(Int64)
        /// The network address of callers without an account; empty if unknown.
        case address([UInt8])
    }

    private let turns = Turns<Reader>(limit: Limits.waitingLongReads)

    /// Runs the read after the reader's earlier reads.
    /// - Throws: `requestRateLimited` if the reader has `Limits.waitingLongReads` queued reads.
    func read<T>(by reader: Reader, _ body: () async throws -> T) async throws -> T {
        guard await turns.begin(reader) else { throw ServiceError.tooManyLongReads }
        defer { turns.end(reader) }
        return try await body()
    }

    /// The number of queued reads of a reader.
    func waiting(of reader: Reader) -> Int { turns.waiting(of: reader) }
}

extension ServiceError {
    static let tooManyLongReads = ServiceError(
        .throttled, .requestRateLimited, "too many long reads of this account or address wait", retryAfter: 5)
    package static let tooManyLargeBodies = ServiceError(
        .throttled, .requestRateLimited, "too many large requests of this account wait", retryAfter: 5)
}
