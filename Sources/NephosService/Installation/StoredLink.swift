import NephosCrypto
import NephosStorage
import NephosWire

/// What a link does once the button of its page is pressed, by the hash of its secret. A link works once.
struct StoredLink: StoredEntry, Hashable {
    static let kind = InstallationEntry.Kind.link

    enum Purpose: String, Codable {
        /// Shows that an address is the account's.
        case verification
        /// Sets a new password.
        case recovery
        /// Makes an account.
        case signUp
    }

    var purpose: Purpose
    /// The address to which the link was sent; nil for a recovery by an administrator.
    var address: String?
    /// The account's ID; nil for one that is to be made.
    var account: String?
    /// Of a recovery: the hash of the password's hash. Another password ends the link.
    var credential: String?
    /// Where the person goes on after a sign-up; nil for the account's page.
    var continuation: SignUpContinuation?
    var expiresAt: Int64
    /// The store's token epoch in which the link was made. A database that may lack its use begins another epoch.
    var epoch: Int64

    /// The credential of an account's password.
    static func credential(_ account: InstallationAccount) -> String { SecretToken.hash(of: account.password ?? "") }
}

/// A link whose page is open, as it is shown.
package struct OpenedLink: Hashable, Sendable {
    package enum Purpose: Sendable {
        case verification, recovery, signUp
    }

    package var purpose: Purpose
    /// The name of the account, which for a sign-up is that to be.
    package var name: String
    /// The account's ID; nil for one that is to be made.
    package var account: String?
    package var continuation: SignUpContinuation?
    /// The number of the account's passkeys and identity providers.
    package var otherMethods = 0
}

extension StorageReader {
    /// The link of a hash, and its account; nil if it was used or has expired, or if its account changed meanwhile.
    func link(_ hash: String, at now: Int64) throws -> (link: StoredLink, account: InstallationAccount?)? {
        guard let link = try entry(StoredLink.self, hash), now < link.expiresAt, link.epoch == (try tokenEpoch()) else {
            return nil
        }
        guard let id = link.account else { return (link, nil) }
        guard let account = try entry(InstallationAccount.self, id) else { return nil }
        if let credential = link.credential, credential != StoredLink.credential(account) { return nil }
        // An address that is no more the account's recovers it no more.
        if link.purpose == .recovery, let address = link.address, !account.verifiedAddresses.contains(address) {
            return nil
        }
        return (link, account)
    }
}

extension Installation {
    /// Returns what the link of a secret does; nil for one that is not valid. Nothing is changed.
    package func link(_ secret: String) async throws(ServiceError) -> OpenedLink? {
        guard let hash = SecretToken(secret)?.hash else { return nil }
        let now = environment.now()
        return try await read { reader in
            guard let (link, account) = try reader.link(hash, at: now) else { return nil }
            let purpose: OpenedLink.Purpose =
                switch link.purpose {
                case .verification: .verification
                case .recovery: .recovery
                case .signUp: .signUp
                }
            return OpenedLink(
                purpose: purpose, name: account?.name ?? link.address ?? "", account: link.account,
                continuation: link.continuation,
                otherMethods: try link.account.map {
                    try reader.passkeys(of: $0).count + reader.identities(of: $0).count
                } ?? 0)
        }
    }

    /// Stores a link.
    /// - Returns: its secret, which the store has not.
    func makeLink(
        _ purpose: StoredLink.Purpose, address: String?, account: String? = nil, credential: String? = nil,
        continuation: SignUpContinuation? = nil, lifetime: Int64 = Limits.linkLifetime,
        in transaction: StorageTransaction
    ) throws -> String {
        let (secret, expiry) = (SecretToken(), environment.now() + lifetime)
        let link = StoredLink(
            purpose: purpose, address: address, account: account, credential: credential, continuation: continuation,
            expiresAt: expiry, epoch: try transaction.tokenEpoch())
        try transaction.put(link, secret.hash, expiresAt: expiry)
        return secret.text()
    }

    /// Counts the use of a link as failed, until `useLink`.
    /// - Throws: `unknownItem` for a link that is not valid or has another purpose, and stays counted;
    ///   `requestRateLimited` after too many of those from a network.
    func beginUse(
        of secret: String, _ purpose: StoredLink.Purpose, address: [UInt8]
    ) async throws(ServiceError) -> (link: StoredLink, account: InstallationAccount?) {
        let (hash, now) = (SecretToken(secret)?.hash ?? "", environment.now())
        let found = try await write { transaction in
            try SignInCounters(linksFrom: address).begin(at: now, in: transaction)
            return try transaction.link(hash, at: now)
        }
        guard let found, found.link.purpose == purpose else {
            refusals.note("link refused", address: SignInCounters.network(address) ?? "")
            throw .linkIsOver
        }
        return found
    }

    /// Uses a link up, in the transaction of what it does.
    func useLink(
        _ secret: String, address: [UInt8], in transaction: StorageTransaction
    ) throws -> (link: StoredLink, account: InstallationAccount?) {
        let hash = SecretToken(secret)?.hash ?? ""
        guard let found = try transaction.link(hash, at: environment.now()) else { throw ServiceError.linkIsOver }
        try transaction.removeInstallationEntry(.link, hash)
        try SignInCounters(linksFrom: address).succeed(in: transaction)
        return found
    }
}

extension ServiceError {
    static let linkIsOver = ServiceError(
        .notFound, .unknownItem, "the link was used, or has expired: ask for another")
}
