import NephosCrypto
import NephosStorage
import NephosThreads
import NephosWire

/// An account, as the administration shows it.
package struct AccountSummary: Codable, Hashable, Sendable {
    package var id: String
    package var name: String
    package var hasPassword: Bool
    package var createdAt: Int64
    /// Whether the name is verified as an e-mail address; nil for a name that is none.
    package var isVerified: Bool?
    /// Whether the account's deletion has begun; nil for no. A server resumes one that was interrupted.
    package var isBeingDeleted: Bool?

    init(_ id: String, _ account: InstallationAccount) {
        (self.id, name, createdAt) = (id, account.name, account.createdAt)
        hasPassword = account.password != nil
        isBeingDeleted = account.isBeingDeleted
        isVerified = account.hasAddress ? account.verifiedAddresses.contains(account.name) : nil
    }

    /// An account that only containers have.
    init(stray id: String) {
        (self.id, name, createdAt, hasPassword, isVerified) = (id, id, 0, false, nil)
    }
}

/// A page of the list of accounts.
package struct AccountPage: Codable, Hashable, Sendable {
    package var accounts: [AccountSummary]
    /// The name after which the next page begins; nil on the last page.
    package var next: String?
}

extension Installation {
    /// Makes an account.
    /// - Parameters:
    ///   - password: the password; nil for an account that cannot sign in yet.
    ///   - isVerified: whether the administrator vouches for the name as an e-mail address.
    /// - Throws: `serverRejectedRequest` if the name is taken; `invalidArguments` for a name or password that breaks the
    ///   rules.
    package func createAccount(
        named name: String, password: String?, isVerified: Bool = false, by actor: AuditActor
    ) async throws(ServiceError) -> AccountSummary {
        let name = SignInName.canonical(name)
        try SignInName.check(name)
        var hash: String?
        if let password {
            try PasswordRules.check(password, of: name)
            hash = try await hashed(password)
        }
        let id = AccountID.make(environment)
        let made = InstallationAccount(name: name, password: hash, createdAt: environment.now(), addresses: [])
        return try await write { transaction in
            var account = made
            guard try transaction.entry(NamedAccount.self, name) == nil else { throw ServiceError.accountExists(name) }
            try transaction.put(NamedAccount(id: id), name)
            try transaction.put(account, id)
            try self.audit("account made", id, by: actor, in: transaction)
            if isVerified { account = try self.verify(name, of: id, by: actor, in: transaction) }
            return AccountSummary(id, account)
        }
    }

    /// Lists accounts in the order of their names, a page at a time.
    package func accounts(after name: String) async throws(ServiceError) -> AccountPage {
        let name = SignInName.canonical(name)
        return try await read { reader in
            let limit = Limits.accountsPerPage
            let entries = try reader.installationEntries(.accountName, after: name, limit: limit + 1)
            let accounts = try entries.prefix(limit).compactMap { entry -> AccountSummary? in
                let id = try NamedAccount.decoded(entry).id
                guard let account = try reader.entry(InstallationAccount.self, id) else { return nil }
                return AccountSummary(id, account)
            }
            return AccountPage(accounts: accounts, next: entries.count > limit ? entries[limit - 1].name : nil)
        }
    }

    /// Replaces the password of an account, and ends all its sessions.
    package func setPassword(
        _ password: String, ofAccountNamed name: String, by actor: AuditActor
    ) async throws(ServiceError) {
        let name = SignInName.canonical(name)
        try PasswordRules.check(password, of: name)
        let hash = try await hashed(password)
        try await write { transaction in
            let (id, account) = try transaction.requireInstallationAccount(named: name)
            try self.replacePassword(of: id, account, hash, by: actor, in: transaction)
        }
        sessions.evictAll()
    }

    /// Replaces a password, ends all sessions and the count of guesses, makes all devices new ones, and tells every verified
    /// address.
    func replacePassword(
        of id: String, _ account: InstallationAccount, _ hash: String, by actor: AuditActor,
        in transaction: StorageTransaction
    ) throws {
        var account = account
        account.password = hash
        try transaction.put(account, id)
        try transaction.endSessions(of: id)
        try transaction.forgetDevices(of: id)
        try SignInCounters.forget(name: account.name, in: transaction)
        try audit("password set", id, by: actor, in: transaction)
        for address in account.verifiedAddresses {
            try queue(.passwordChanged, to: address, account: id, in: transaction)
        }
    }

    /// Removes an account from the installation: its sessions, roles, devices and name. The data that stores have of it
    /// is deleted before (`NephosService.deleteAccount`).
    package func removeAccount(named name: String, by actor: AuditActor) async throws(ServiceError) -> AccountSummary {
        let name = SignInName.canonical(name)
        let summary = try await write { transaction in
            let (id, account) = try transaction.requireInstallationAccount(named: name)
            try transaction.endSessions(of: id)
            _ = try transaction.revokeProgramTokens(of: id)
            try transaction.forgetDevices(of: id)
            _ = try transaction.removePasskeys(of: id)
            try transaction.removeInstallationEntry(.accountPasskeys, id)
            for (name, _) in try transaction.entries(StoredRole.self, prefix: "\(id)/") {
                try transaction.removeInstallationEntry(.role, name)
            }
            // An earlier server may have lost the list.
            for address in account.verifiedAddresses + [name] {
                guard try transaction.entry(VerifiedAddress.self, address)?.account == id else { continue }
                try transaction.removeInstallationEntry(.verifiedAddress, address)
            }
            for (identity, _) in try transaction.identities(of: id) { try transaction.removeIdentity(identity, of: id) }
            try transaction.removeInstallationEntry(.accountName, name)
            try transaction.removeInstallationEntry(.account, id)
            try transaction.removeInstallationEntry(.begunDeletion, id)
            try self.audit("account removed", id, by: actor, in: transaction)
            return AccountSummary(id, account)
        }
        sessions.evictAll()
        programTokens.evictAll()
        return summary
    }

    /// The ID of the account with a name.
    /// - Throws: `unknownItem` if there is none.
    package func accountID(named name: String) async throws(ServiceError) -> String {
        let name = SignInName.canonical(name)
        return try await read { try $0.requireInstallationAccount(named: name).id }
    }

    /// The ID of the account with a name; nil if there is none.
    package func accountIDIfAny(named name: String) async throws(ServiceError) -> String? {
        let name = SignInName.canonical(name)
        return try await read { try $0.installationAccount(named: name)?.id }
    }

    /// The name of the account with an ID; nil if there is none.
    func name(ofAccount id: String) async throws(ServiceError) -> String? {
        try await read { try $0.entry(InstallationAccount.self, id)?.name }
    }

    /// Returns a text with the names of accounts in place of their IDs. The ID of no account stays.
    package func naming(_ text: String) async throws(ServiceError) -> String {
        try await read { reader in
            var (named, rest) = ("", text[...])
            while let range = AccountID.firstRange(in: rest) {
                let id = String(rest[range])
                named += rest[..<range.lowerBound] + (try reader.entry(InstallationAccount.self, id)?.name ?? id)
                rest = rest[range.upperBound...]
            }
            return named + rest
        }
    }

    func hashed(_ password: String) async throws(ServiceError) -> String {
        let hash: String?
        do {
            hash = try await passwordPool.run { [cost = environment.passwordCost] in PasswordHash.make(password, cost) }
        } catch {
            throw environment.translate(error, requestID: "password")
        }
        guard let hash else { throw .busy }
        return hash
    }
}

extension ServiceError {
    /// The refusal of a name that is unknown to the administration.
    /// - Parameters:
    ///   - account: the account of which it is the name of something; nil for what belongs to the installation.
    ///   - command: the command of `nephos` that lists the names.
    static func unknown(
        _ kind: String, _ name: String, of account: String? = nil, listedBy command: String
    ) -> ServiceError {
        let name = Identifier.excerpt(name)
        let what = account.map { "the account '\($0)' has no \(kind) '\(name)'" } ?? "there is no \(kind) '\(name)'"
        return ServiceError(
            .notFound, .unknownItem, "\(what): 'nephos \(command)\(account.map { " \($0)" } ?? "")' lists what there is"
        )
    }

    static func accountExists(_ name: String) -> ServiceError {
        ServiceError(.exists, .serverRejectedRequest, "there is an account '\(name)' already")
    }
}

extension StorageReader {
    func requireInstallationAccount(named name: String) throws -> (id: String, account: InstallationAccount) {
        guard let found = try installationAccount(named: name) else {
            throw ServiceError.unknown("account", name, listedBy: "accounts list")
        }
        return found
    }
}

extension StorageTransaction {
    /// Evicts the known devices of an account, the least recently used ones first.
    /// - Parameter kept: the number of devices that stay.
    func forgetDevices(of account: String, keeping kept: Int = 0) throws {
        var devices: [InstallationEntry] = []
        for (name, _) in try entries(KnownDevice.self, prefix: "\(account)/") {
            if let entry = try installationEntry(.knownDevice, name) { devices.append(entry) }
        }
        for entry in devices.sorted(by: { $0.expiresAt > $1.expiresAt }).dropFirst(kept) {
            try removeInstallationEntry(.knownDevice, entry.name)
            let hash = String(entry.name.dropFirst(account.count + 1))
            try removeInstallationEntry(.knownDevice, KnownDevice.name(KnownDevice.ofProviders, hash))
        }
    }
}
