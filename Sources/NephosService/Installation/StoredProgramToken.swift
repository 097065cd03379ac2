import NephosStorage

/// A container and environment that a program token reaches.
package struct ProgramPlace: Codable, Hashable, Sendable {
    package var container: String
    package var environment: String

    package init(container: String, environment: String) {
        self.container = container
        self.environment = environment
    }
}

/// A program token as the installation's store has it, by the hash of its secret. It is no session: a server that does not
/// know of program tokens finds none.
struct StoredProgramToken: StoredEntry {
    static let kind = InstallationEntry.Kind.programToken

    var account: String
    /// A name for people.
    var name: String
    var places: [ProgramPlace]
    /// The databases by their names in paths.
    var databases: [String]
    var isReadOnly: Bool
    var createdAt: Int64
    var expiresAt: Int64
    /// The store's token epoch in which the token was made (`StoredSession.epoch`).
    var epoch: Int64

    /// The beginning of a token's text, by which people and scanners of texts tell it from a session's.
    static let prefix = "nephos_program_"
}

/// A program token of an account, by the account's ID and the token's hash.
struct AccountProgramToken: StoredEntry {
    static let kind = InstallationEntry.Kind.accountProgramToken
    static func name(_ account: String, _ hash: String) -> String { "\(account)/\(hash)" }
}

/// A valid program token with its account, as requests need it.
struct KnownProgramToken: Sendable {
    var token: StoredProgramToken
    /// The address to which invitations of the account go; nil without a verified one.
    var address: String?
}

extension StorageTransaction {
    func put(_ token: StoredProgramToken, hash: String) throws {
        try put(token, hash, expiresAt: token.expiresAt)
        try put(AccountProgramToken(), AccountProgramToken.name(token.account, hash), expiresAt: token.expiresAt)
    }

    /// Revokes one program token of an account, or all of them.
    /// - Parameter id: the token's hash; nil for all.
    /// - Returns: the number of tokens that were revoked.
    func revokeProgramTokens(of account: String, id: String? = nil) throws -> Int {
        var count = 0
        for (name, _) in try entries(AccountProgramToken.self, prefix: "\(account)/") {
            let hash = String(name.dropFirst(account.count + 1))
            guard id == nil || id == hash else { continue }
            try removeInstallationEntry(.programToken, hash)
            try removeInstallationEntry(.accountProgramToken, name)
            count += 1
        }
        return count
    }
}
