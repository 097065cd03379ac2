import NephosStorage

/// Removes the outcomes of requests: those that are old, those of an account beyond its number and bytes; and where a store has too
/// many in all, the oldest of the accounts that have most, so that no account's are gone early for another's.
struct RequestKeyPurge {
    let engine: any StorageEngine
    let isStopped: @Sendable () -> Bool
    var perAccount = Limits.requestKeysPerAccount
    var bytesPerAccount = Limits.requestOutcomesSize
    var inAll = Limits.requestKeys

    /// - Parameter now: milliseconds since 1970.
    func run(now: Int64) async throws {
        var share = perAccount
        while !isStopped() {
            try await purge(keeping: share, now: now)
            let inAll = inAll
            if share <= 1 { break }
            if try await engine.read({ try $0.countRequestKeys(limit: inAll + 1) }) <= inAll { break }
            share /= 2
        }
    }

    /// Looks at some accounts alone.
    func run(_ accounts: some Collection<Int64>, now: Int64) async throws {
        for account in accounts where !isStopped() { try await purge(account, keeping: perAccount, now: now) }
    }

    private func purge(keeping count: Int, now: Int64) async throws {
        var last = Int64.min
        while !isStopped(), let account = try await engine.read({ [last] in try $0.requestKeyAccount(after: last) }) {
            last = account
            try await purge(account, keeping: count, now: now)
        }
    }

    private func purge(_ account: Int64, keeping count: Int, now: Int64) async throws {
        let bytes = bytesPerAccount
        // The newest that has so many newer ones, or with which they take too much, goes too.
        let excess = try await engine.read { reader in
            [
                try reader.requestKeyTime(account: account, behind: count),
                try reader.requestKeyTime(account: account, beyond: bytes, of: count),
            ].compactMap { $0 }.max()
        }
        try await purge(account, before: max(now - Limits.requestKeyLifetime, excess.map { $0 + 1 } ?? .min))
    }

    private func purge(_ account: Int64, before time: Int64) async throws {
        let limit = Limits.recordsPerBackgroundStep
        while !isStopped() {
            // Most accounts have none to remove: no write is to wait for that.
            let oldest = try await engine.read { try $0.oldestRequestKeyTime(account: account) }
            guard let oldest, oldest < time else { return }
            let removed = try await engine.write {
                try $0.purgeRequestKeys(account: account, before: time, limit: limit)
            }
            if removed < limit { return }
        }
    }
}
