import NephosStorage

/// A server-to-server key of a container and environment (CloudKit Web Services, server-to-server keys).
struct StoredServerKey: StoredEntry, Hashable {
    static let kind = InstallationEntry.Kind.serverKey

    var container: String
    var environment: String
    /// A name for people.
    var name: String
    /// The public key in PEM.
    var publicKey: String
    /// The ID of the user as whom the key makes requests. It signs in in no other way.
    var user: String
    var createdAt: Int64

    /// The beginning of the name that stands for a key where a session's or a program token's would (`SignedInCaller.session`).
    static let sessionPrefix = "nephos_key_"
}

/// The user of a server-to-server key, by its ID. It stays when the key is revoked, as the user's records do.
struct ServerKeyUser: StoredEntry {
    static let kind = InstallationEntry.Kind.serverKeyUser
}

extension StorageReader {
    /// Whether an ID is that of an account, or of a server-to-server key's user.
    /// - Parameter keyUsers: the users of the present keys: earlier versions stored no `ServerKeyUser`.
    func isKnownUser(_ id: String, keyUsers: Set<String>) throws -> Bool {
        if keyUsers.contains(id) { return true }
        return try installationEntry(.account, id) != nil || installationEntry(.serverKeyUser, id) != nil
    }
}

/// A server-to-server key, as the administration shows it.
package struct ServerKeySummary: Codable, Hashable, Sendable {
    package var keyID: String
    package var container: String
    package var environment: String
    package var name: String
    package var user: String
    package var createdAt: Int64
}
