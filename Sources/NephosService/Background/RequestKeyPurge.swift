import NephosStorage

/// Purges request outcomes: expired outcomes, and outcomes that exceed the number or the bytes allowed per account. If
/// the store exceeds its total, the oldest outcomes of the accounts with the most outcomes are purged, so that one
/// account does not evict another account's outcomes. The outcome of a signed request stays while its signature is valid.
struct RequestKeyPurge {
    let engine: any StorageEngine
    let isStopped: @Sendable () -> Bool
    var bounds = OutcomeBounds()

    /// - Parameter now: the present time, in milliseconds since 1970.
    func run(now: Int64) async throws {
        var share = bounds.perAccount
        while !isStopped() {
            try await purge(keeping: share, now: now)
            let inAll = bounds.inAll
            if share <= 1 { break }
            if try await engine.read({ try $0.countRequestKeys(limit: inAll + 1) }) <= inAll { break }
            share /= 2
        }
    }

    /// Purges only the outcomes of these accounts.
    func run(_ accounts: some Collection<Int64>, now: Int64) async throws {
        for account in accounts where !isStopped() { try await purge(account, keeping: bounds.perAccount, now: now) }
    }

    private func purge(keeping count: Int, now: Int64) async throws {
        var last = Int64.min
        while !isStopped(), let account = try await engine.read({ [last] in try $0.requestKeyAccount(after: last) }) {
            last = account
            try await purge(account, keeping: count, now: now)
        }
    }

    private func purge(_ account: Int64, keeping count: Int, now: Int64) async throws {
        let bytes = bounds.bytesPerAccount
        // The time of the newest outcome that exceeds the account's number or bytes. That outcome is purged too.
        let excess = try await engine.read { reader in
            [
                try reader.requestKeyTime(account: account, behind: count),
                try reader.requestKeyTime(account: account, beyond: bytes, of: count),
            ].compactMap { $0 }.max()
        }
        let time = max(now - Limits.requestKeyLifetime, excess.map { $0 + 1 } ?? .min)
        try await purge(account, before: time, signedBefore: min(time, now - Limits.signedOutcomeLifetime))
    }

    private func purge(_ account: Int64, before time: Int64, signedBefore signedTime: Int64) async throws {
        let limit = Limits.recordsPerBackgroundStep
        while !isStopped() {
            // Most accounts have nothing to purge, so a read comes first: it saves a write transaction.
            let oldest = try await engine.read { try $0.oldestRequestKeyTime(account: account) }
            guard let oldest, oldest < time else { return }
            let removed = try await engine.write {
                try $0.purgeRequestKeys(
                    account: account, before: time, signedBefore: signedTime, limit: limit)
            }
            if removed < limit { return }
        }
    }
}
