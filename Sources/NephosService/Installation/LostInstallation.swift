package import NephosStorage
import NephosThreads

/// Stores of a production server without the store of its accounts, as an interrupted restore or move may leave them. They
/// look like the data of `nephos dev`, where everybody could sign in under the accounts' IDs.
package enum LostInstallation {
    static let error = StorageError(
        .otherVersion,
        "The data is a production server's, but the store of its accounts is missing: a 'nephos restore' or 'nephos migrate' "
            + "was interrupted. Run it again with '--container nephos', and then with each container that is missing.")

    /// Refuses such stores, none of which is open.
    /// - Throws: `StorageError` `.otherVersion`.
    package static func check(_ provider: any StoreProvider) async throws {
        let (stores, names) = try await BlockingPool.disk.run {
            (try provider.existingStores(), try provider.firstAccountNames())
        }
        guard !stores.contains(.installation) else { return }
        // Of ten thousand stores, few or none are opened.
        let suspects = stores.filter { names?[$0].map(AccountID.isValid) ?? (names == nil) }
        try await check(suspects) { try provider.open($0) }
    }

    /// - Parameter open: opens a store, which is closed again. One that cannot be read is passed over.
    package static func check(
        _ stores: [StoreID], _ open: @escaping @Sendable (StoreID) throws -> any StorageEngine
    ) async throws {
        guard !stores.contains(.installation) else { return }
        if await isOfProduction(stores, open) { throw error }
    }

    /// Whether a store is of a production server: its accounts are IDs. Others may stand beside it, as after the restore
    /// of one container.
    static func isOfProduction(
        _ stores: [StoreID], _ open: @escaping @Sendable (StoreID) throws -> any StorageEngine
    ) async -> Bool {
        for id in stores {
            guard let accounts = try? await accounts(in: id, open), !accounts.isEmpty else { continue }
            if accounts.allSatisfy({ AccountID.isValid($0.name) }) { return true }
        }
        return false
    }

    private static func accounts(
        in id: StoreID, _ open: @escaping @Sendable (StoreID) throws -> any StorageEngine
    ) async throws -> [AccountRow] {
        let engine = try await BlockingPool.disk.run { try open(id) }
        let result: Result<[AccountRow], any Error>
        do {
            result = .success(try await engine.read { try $0.accounts(after: 0, limit: Limits.accountsPerPage) })
        } catch {
            result = .failure(error)
        }
        await engine.close()
        return try result.get()
    }
}
