package import NephosStorage
import NephosThreads

/// Accounts that a production server's containers have and its installation has not: no caller can sign in as them. A container
/// that is restored alone has them, of people whose accounts were deleted since its backup.
package struct StrayAccounts: Sendable {
    package let store: StoreID
    /// The IDs of the accounts.
    package let accounts: [String]
    /// Whether the store has no other accounts. It may be another installation's, so erasing them is no advice.
    package let areAll: Bool

    /// What is wrong and what to do, in words.
    package var text: String {
        if areAll {
            return
                """
                \(store.container), \(store.environment) has no account that exists here, but \(accounts.count) others: it is \
                another installation's container, which was copied here without its accounts, or all of them were deleted since \
                its backup. People cannot sign in to them here: serve another installation's container with its own accounts.
                """
        }
        let named = accounts.prefix(20).joined(separator: ", ") + (accounts.count > 20 ? ", …" : "")
        return
            "\(store.container), \(store.environment) has data of accounts that do not exist: \(named). 'nephos accounts delete ID' erases them."
    }

    /// Returns the accounts of each store that the installation among the stores lacks; nothing without an installation.
    /// - Parameter open: opens a store, which is closed again. One that cannot be read is passed over.
    /// - Throws: `StorageError`, of the installation.
    package static func find(
        in stores: [StoreID], _ open: @escaping @Sendable (StoreID) throws -> any StorageEngine
    ) async throws -> [StrayAccounts] {
        guard stores.contains(.installation) else { return [] }
        // A running server makes and deletes accounts between the snapshots of two stores. What is so twice is none of these.
        let suspects = try await suspects(in: stores, open)
        if suspects.isEmpty { return [] }
        return try await Self.suspects(in: suspects.map(\.store), open).compactMap { again in
            let before = suspects.first { $0.store == again.store }?.accounts ?? []
            let accounts = again.accounts.filter(Set(before).contains)
            return accounts.isEmpty ? nil : StrayAccounts(store: again.store, accounts: accounts, areAll: again.areAll)
        }
    }

    /// Returns what one look finds, of the store of accounts first and then of each other one.
    private static func suspects(
        in stores: [StoreID], _ open: @escaping @Sendable (StoreID) throws -> any StorageEngine
    ) async throws -> [StrayAccounts] {
        let installation = try await BlockingPool.disk.run { try open(.installation) }
        var found: [StrayAccounts] = []
        for id in stores where !id.isInstallation {
            guard let engine = try? await BlockingPool.disk.run({ try open(id) }) else { continue }
            let stray = try? await accounts(in: engine, unknownTo: installation)
            await engine.close()
            guard let stray, !stray.unknown.isEmpty else { continue }
            found.append(StrayAccounts(store: id, accounts: stray.unknown, areAll: stray.areAll))
        }
        await installation.close()
        return found
    }

    private static func accounts(
        in engine: any StorageEngine, unknownTo installation: any StorageEngine
    ) async throws -> (unknown: [String], areAll: Bool) {
        var (found, count, last): ([String], Int, Int64) = ([], 0, 0)
        while true {
            let page = try await engine.read { [last] in
                try $0.accounts(after: last, limit: Limits.accountsPerPage)
            }
            guard let end = page.last?.id else { return (found, found.count == count) }
            count += page.count
            let ids = page.map(\.name).filter(AccountID.isValid)
            found += try await installation.read { reader in
                let keyUsers = Set(try reader.entries(StoredServerKey.self).map(\.value.user))
                return try ids.filter { try !reader.isKnownUser($0, keyUsers: keyUsers) }
            }
            last = end
        }
    }
}
