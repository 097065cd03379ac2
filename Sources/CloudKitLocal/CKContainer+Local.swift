public import CloudKit

extension CKContainer {
    /// Returns a container of a new in-memory cloud, for tests. Not part of Apple's API.
    ///
    ///     let container = try CKContainer.local()
    /// - Throws: `LocalCloudError`.
    public static func local(
        _ identifier: String = LocalCloud.defaultContainerIdentifier, account: String? = LocalCloud.defaultAccount
    ) throws -> CKContainer {
        try LocalCloud().container(identifier, account: account)
    }
}
