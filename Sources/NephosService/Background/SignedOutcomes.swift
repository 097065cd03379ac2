import NephosStorage
import NephosWire
import Synchronization

/// The bound of the outcomes of signed requests. Such an outcome stays while its signature is valid, as the request would
/// be carried out again without it. So an account at its bound has no new signed save carried out until one of the
/// outcomes that fill the bound may be purged.
///
/// An account's outcomes are measured after each 64th of the bound that it adds, so a save costs no statement for its
/// bound, and an account exceeds it by at most about a 64th per server.
final class SignedOutcomes: Sendable {
    private struct Usage {
        /// The outcomes and their bytes since the last measurement began.
        var added = 0
        var bytes = 0
        var isKnown = false
        var isMeasured = false
        /// The time until which the account is at its bound.
        var fullUntil = Int64.min
    }

    private let bounds: OutcomeBounds
    /// The accounts are the users of server-to-server keys, which administrators make.
    private let usages = Mutex<[Int64: Usage]>([:])

    init(bounds: OutcomeBounds) { self.bounds = bounds }

    /// The refusal of an account's new signed saves; nil while the account is below its bound.
    func refusal(of account: Int64, at now: Int64) -> ServiceError? {
        let fullUntil = usages.withLock { $0[account]?.fullUntil ?? .min }
        return fullUntil > now ? .tooManySignedSaves(retryAfter: Double(fullUntil - now) / 1000) : nil
    }

    /// Notes the stored outcome of a signed request.
    /// - Returns: whether the caller is to measure the account now.
    func note(_ bytes: Int, of account: Int64) -> Bool {
        usages.withLock { usages in
            var usage = usages[account] ?? Usage()
            defer { usages[account] = usage }
            usage.added += 1
            usage.bytes += bytes
            let isDue = usage.added > bounds.perAccount / 64 || usage.bytes > bounds.bytesPerAccount / 64
            guard !usage.isMeasured, isDue || !usage.isKnown else { return false }
            (usage.isMeasured, usage.added, usage.bytes) = (true, 0, 0)
            return true
        }
    }

    /// Measures an account's outcomes.
    func measure(_ account: Int64, _ engine: any StorageEngine) async throws {
        var fullUntil: Int64?
        defer {
            usages.withLock { [fullUntil] usages in
                usages[account]?.isMeasured = false
                if let fullUntil { usages[account]?.fullUntil = fullUntil }
                usages[account]?.isKnown = fullUntil != nil
            }
        }
        let bounds = bounds
        // The newest outcome with which the account is at its bound: the bound is reached until it may be purged.
        let last = try await engine.read(expecting: .long) { reader in
            [
                try reader.requestKeyTime(account: account, behind: bounds.perAccount - 1),
                try reader.requestKeyTime(
                    account: account, beyond: bounds.bytesPerAccount - 1, of: bounds.perAccount),
            ].compactMap { $0 }.max()
        }
        fullUntil = last.map { $0 + Limits.signedOutcomeLifetime } ?? 0
    }
}

extension ServiceError {
    fileprivate static func tooManySignedSaves(retryAfter: Double) -> ServiceError {
        ServiceError(
            .throttled, .requestRateLimited,
            "the outcomes of the key's signed saves, which are kept while a signature is valid so that none is carried out "
                + "twice, are at their bound", retryAfter: retryAfter)
    }
}
