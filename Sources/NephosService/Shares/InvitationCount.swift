/// Counts the invitations of a batch, each once even if the batch is decided repeatedly.
final class InvitationCount {
    private let lookups: RateLimit<Int64>
    private var counts: [String: Int] = [:]

    init(_ lookups: RateLimit<Int64>) { self.lookups = lookups }

    /// - Returns: whether the invitations are within the account's rate limit.
    func take(_ count: Int, to share: String, by account: Int64, at now: Int64) -> Bool {
        let more = count - counts[share, default: 0]
        guard more <= 0 || lookups.take(more, for: account, at: now) else { return false }
        counts[share] = max(count, counts[share, default: 0])
        return true
    }
}
