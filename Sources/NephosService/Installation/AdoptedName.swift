import NephosStorage

/// What a name of `nephos dev` becomes in an installation, by the name. The entries exist from the decision until every
/// store is adopted, so that an adoption that was interrupted continues with the same accounts.
struct AdoptedName: StoredEntry, Hashable {
    static let kind = InstallationEntry.Kind.adoptedName

    /// The name with which the account signs in, and the address to which invitations of it go.
    var signInName: String
    /// The ID of the account; nil for a name that was only invited.
    var account: String?
    /// The hash of the text of the account's recovery key; nil if the service kept no keys for it.
    var recoveryKeyHash: String?
}

extension StorageReader {
    /// Whether an adoption decided what names become, and did not end.
    func isAdoptionUnfinished() throws -> Bool { try !installationEntries(.adoptedName, after: "", limit: 1).isEmpty }

    /// Whether the installation has no container yet.
    func hasNoContainer() throws -> Bool { try installationEntries(.container, after: "", limit: 1).isEmpty }
}

/// Refuses data of `nephos dev` of which not every store is adopted.
enum UnfinishedAdoption {
    /// - Parameters:
    ///   - stores: the other stores of the provider.
    ///   - open: opens one of them, which is closed again.
    /// - Throws: `StorageError` `.otherVersion`.
    static func check(
        _ installation: any StorageEngine, _ stores: [StoreID],
        _ open: @escaping @Sendable (StoreID) throws -> any StorageEngine
    ) async throws {
        var isUnfinished = try await installation.read { try $0.isAdoptionUnfinished() }
        // A production server has the stores of its containers alone. Without a container, the process that began the
        // adoption ended before its first write, or a backup of another server's container was restored.
        let deleted = try await installation.read { Set(try $0.entries(BegunContainerDeletion.self).map(\.name)) }
        let stores = stores.filter { !deleted.contains($0.container) }
        if !isUnfinished, !stores.isEmpty, try await installation.read({ try $0.hasNoContainer() }) {
            isUnfinished = await !LostInstallation.isOfProduction(stores, open)
        }
        guard isUnfinished else { return }
        throw StorageError(
            .otherVersion,
            "The data is that of nephos dev, and 'nephos accounts adopt' began to give its names accounts. Run it once "
                + "more: it continues.")
    }
}
