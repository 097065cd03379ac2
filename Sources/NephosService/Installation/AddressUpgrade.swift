import NephosStorage

/// A change of all entries of a kind that was made once, by the change's name.
struct DoneUpgrade: StoredEntry {
    static let kind = InstallationEntry.Kind.doneUpgrade

    var at: Int64
}

/// Writes the verified addresses into accounts that were made before addresses were verified: their names, as the
/// administrators who gave them vouch for them. This is done once. Of a later account without the list, a server that does
/// not know of addresses wrote the entry, and what that server lost makes no address verified.
enum AddressUpgrade {
    private static let name = "verified addresses"

    /// Runs the upgrade unless it was done. Each page of accounts is a write of its own; a run that ends early is repeated.
    static func run(_ engine: any StorageEngine, at now: Int64) async throws {
        if try await engine.read({ try $0.installationEntry(.doneUpgrade, name) }) != nil { return }
        var last: String? = ""
        while let after = last {
            last = try await engine.write(of: [.everyone]) { transaction in
                let page = try transaction.installationEntries(.account, after: after, limit: Limits.entriesPerRead)
                for entry in page { try write(entry, in: transaction) }
                return page.count < Limits.entriesPerRead ? nil : page.last?.name
            }
        }
        try await engine.write(of: [.everyone]) { try $0.put(DoneUpgrade(at: now), name) }
    }

    private static func write(_ entry: InstallationEntry, in transaction: StorageTransaction) throws {
        // An account that cannot be read does not keep the server from its others: 'nephos verify' reports it.
        guard var account = try? InstallationAccount.decoded(entry), account.addresses == nil else { return }
        account.addresses = account.hasAddress ? [account.name] : []
        try transaction.put(account, entry.name)
    }
}
