import NephosStorage

/// Removes the outcomes of requests: those that are old, those of an account beyond its number; and where a store has too
/// many in all, the oldest of the accounts that have most, so that no account's are gone early for another's.
struct RequestKeyPurge {
    let engine: any StorageEngine
    let isStopped: @Sendable () -> Bool
    var perAccount = Limits.requestKeysPerAccount
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

    private func purge(keeping count: Int, now: Int64) async throws {
        var last = Int64.min
        while !isStopped(), let account = try await engine.read({ [last] in try $0.requestKeyAccount(after: last) }) {
            last = account
            // The newest that has so many newer ones goes, too.
            let excess = try await engine.read { try $0.requestKeyTime(account: account, behind: count) }
            let time = max(now - Limits.requestKeyLifetime, excess.map { $0 + 1 } ?? .min)
            try await purge(account, before: time)
        }
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
