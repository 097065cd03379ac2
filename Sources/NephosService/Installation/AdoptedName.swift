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
    /// Refuses data of `nephos dev` of which not every store is adopted.
    /// - Parameter stores: the other stores of the provider.
    /// - Throws: `StorageError` `.otherVersion`.
    func checkIsAdopted(_ stores: [StoreID]) throws {
        let isUnfinished = try !installationEntries(.adoptedName, after: "", limit: 1).isEmpty
        // A production server has the stores of its containers alone. Without any, the process that began the adoption
        // ended before its first write.
        let isUndecided = try !stores.isEmpty && installationEntries(.container, after: "", limit: 1).isEmpty
        guard isUnfinished || isUndecided else { return }
        throw StorageError(
            .otherVersion,
            "The data is that of nephos dev, and 'nephos accounts adopt' began to give its names accounts. Run it once "
                + "more: it continues.")
    }
}
