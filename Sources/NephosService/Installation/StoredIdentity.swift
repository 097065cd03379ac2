import NephosCrypto
import NephosStorage

/// The account of a provider's person, by the hash of the issuer and the subject. A person is one account at most.
struct StoredIdentity: StoredEntry, Hashable {
    static let kind = InstallationEntry.Kind.identity
    var account: String

    static func name(_ identity: ProvidedIdentity) -> String {
        // The length keeps the two apart.
        SecretToken.hash(of: "identity \(identity.issuer.utf8.count) \(identity.issuer) \(identity.subject)")
    }
}

/// A provider's person who is an account, by the account's ID and the name of the `StoredIdentity`.
struct AccountIdentity: StoredEntry, Hashable {
    static let kind = InstallationEntry.Kind.accountIdentity

    var issuer: String
    /// The address or name that the provider gave when it was added, for people; empty without one.
    var label: String
    var addedAt: Int64

    static func name(_ account: String, _ identity: String) -> String { "\(account)/\(identity)" }
}

/// A sign-in by a provider that came back, by its random ID, until it would have expired.
struct UsedProviderSignIn: StoredEntry {
    static let kind = InstallationEntry.Kind.usedProviderSignIn
}

extension StorageReader {
    /// The providers' persons who are an account.
    func identities(of account: String) throws -> [(id: String, identity: AccountIdentity)] {
        try entries(AccountIdentity.self, prefix: "\(account)/").map {
            (String($0.name.dropFirst(account.count + 1)), $0.value)
        }
    }
}

extension StorageTransaction {
    func removeIdentity(_ id: String, of account: String) throws {
        try removeInstallationEntry(.identity, id)
        try removeInstallationEntry(.accountIdentity, AccountIdentity.name(account, id))
    }
}
