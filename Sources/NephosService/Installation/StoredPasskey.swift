import NephosCrypto
import NephosStorage
import NephosWire

/// A passkey, by the hash of its credential ID.
struct StoredPasskey: StoredEntry, Hashable {
    static let kind = InstallationEntry.Kind.passkey

    var account: String
    /// The credential ID in base64url.
    var credential: String
    /// The host for which it was made. At another one it does not sign in.
    var relyingParty: String
    var algorithm: PasskeyKey.Algorithm
    /// The public key in base64url.
    var key: String
    /// The signature counter of the last use; 0 for an authenticator that counts nothing.
    var counter: UInt32
    /// For people.
    var name: String
    var createdAt: Int64
    var lastUsedAt: Int64?

    /// The name of a passkey's entry, which is no secret.
    static func name(_ credential: String) -> String { SecretToken.hash(of: "passkey \(credential)") }

    var publicKey: PasskeyKey { PasskeyKey(algorithm, Base64URL.bytes(of: key) ?? []) }

    /// The passkey after a use; nil if the counter did not advance, as then the authenticator may have been copied (Web
    /// Authentication §6.1.1). A counter that stays 0 says nothing.
    func used(counter next: UInt32, at now: Int64) -> StoredPasskey? {
        guard next > counter || (next == 0 && counter == 0) else { return nil }
        var used = self
        (used.counter, used.lastUsedAt) = (next, now)
        return used
    }
}

/// The passkeys of an account, by the account's ID.
struct AccountPasskeys: StoredEntry {
    static let kind = InstallationEntry.Kind.accountPasskeys

    /// The account as authenticators know it: 32 random bytes in base64url, which say nothing about the person.
    var handle: String
    /// The names of the passkeys, in the order in which they were added.
    var passkeys: [String] = []

    static func makeHandle() -> String { Base64URL.text(of: RandomBytes.make(32)) }
}

/// A passkey, as its person and the administration see it.
package struct PasskeySummary: Codable, Hashable, Sendable {
    /// The name of the passkey, which is no secret.
    package var id: String
    package var name: String
    /// The host for which it was made.
    package var relyingParty: String
    package var createdAt: Int64
    package var lastUsedAt: Int64?

    init(_ id: String, _ passkey: StoredPasskey) {
        self.id = id
        (name, relyingParty) = (passkey.name, passkey.relyingParty)
        (createdAt, lastUsedAt) = (passkey.createdAt, passkey.lastUsedAt)
    }
}

extension StorageReader {
    /// The passkeys of an account, in the order in which they were added.
    func passkeys(of account: String) throws -> [(id: String, passkey: StoredPasskey)] {
        try (entry(AccountPasskeys.self, account)?.passkeys ?? []).compactMap { id in
            try entry(StoredPasskey.self, id).map { (id, $0) }
        }
    }
}

extension StorageTransaction {
    /// Removes the passkeys of an account. Its handle stays, so that authenticators replace what they have.
    /// - Parameter id: the name of the one to remove; nil for all.
    /// - Returns: the names of those that were removed.
    func removePasskeys(of account: String, id: String? = nil) throws -> [String] {
        guard var own = try entry(AccountPasskeys.self, account) else { return [] }
        let removed = own.passkeys.filter { id == nil || $0 == id }
        if removed.isEmpty { return [] }
        for name in removed { try removeInstallationEntry(.passkey, name) }
        own.passkeys.removeAll { removed.contains($0) }
        try put(own, account)
        return removed
    }
}
