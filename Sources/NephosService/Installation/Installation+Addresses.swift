import NephosCrypto
import NephosStorage
import NephosWire

/// The account whose person has shown that an address is theirs, by the canonical address. An address has one account at
/// most, and nothing but the address's own name joins the two.
struct VerifiedAddress: StoredEntry {
    static let kind = InstallationEntry.Kind.verifiedAddress

    var account: String
    var verifiedAt: Int64
}

extension StorageReader {
    /// The account that has verified an address; nil if there is none.
    func account(verifying address: String) throws -> (id: String, account: InstallationAccount)? {
        let named = try entry(VerifiedAddress.self, address)?.account ?? entry(NamedAccount.self, address)?.id
        guard let named, let account = try entry(InstallationAccount.self, named),
            account.verifiedAddresses.contains(address)
        else { return nil }
        return (named, account)
    }
}

extension Installation {
    /// Makes an address the account's. One that is its already stays so.
    /// - Returns: the account with the address.
    /// - Throws: `serverRejectedRequest` for an address of another account.
    func verify(
        _ address: String, of id: String, by actor: AuditActor, in transaction: StorageTransaction
    ) throws -> InstallationAccount {
        guard var account = try transaction.entry(InstallationAccount.self, id) else { throw ServiceError.linkIsOver }
        guard address.contains("@") else { return account }
        if let other = try transaction.account(verifying: address), other.id != id {
            throw ServiceError(.exists, .serverRejectedRequest, "the address is another account's")
        }
        let isVerified = try transaction.entry(VerifiedAddress.self, address) != nil
        if isVerified, account.verifiedAddresses.contains(address) { return account }
        account.addresses = account.verifiedAddresses.filter { $0 != address } + [address]
        try transaction.put(account, id)
        try transaction.put(VerifiedAddress(account: id, verifiedAt: environment.now()), address)
        try audit("address verified", id, by: actor, in: transaction)
        return account
    }

    /// Makes the name of an account its verified address, as the administrator vouches for it.
    /// - Throws: `unknownItem` if there is no account; `invalidArguments` for a name that is no address.
    package func verifyAddress(ofAccountNamed name: String, by actor: AuditActor) async throws(ServiceError) {
        let name = SignInName.canonical(name)
        try await write { transaction in
            let (id, account) = try transaction.requireInstallationAccount(named: name)
            guard account.hasAddress else { throw ServiceError.invalid("the name '\(name)' is no e-mail address") }
            _ = try self.verify(name, of: id, by: actor, in: transaction)
        }
        sessions.evictAll()
    }

    /// Whether the name of a browser's account is an address that is not verified, and the server can send to it.
    package func canVerifyAddress(of browser: BrowserSession) -> Bool {
        sendsMail && browser.address != browser.name && MailAddress(browser.name) != nil
    }

    /// Queues a mail with a link that verifies the name of the browser's account.
    /// - Throws: `requestRateLimited` after too many mails to the address or from the network.
    package func requestVerification(of browser: BrowserSession, address: [UInt8]) async throws(ServiceError) {
        guard canVerifyAddress(of: browser) else {
            throw .invalid("the address is verified, or the server cannot send to it")
        }
        let now = environment.now()
        try await write { transaction in
            try MailAllowance.take(network: address, at: now, in: transaction)
            guard try MailAllowance.take(recipient: browser.name, at: now, in: transaction) else {
                throw ServiceError.tooManyMails
            }
            try self.queue(.verification, to: browser.name, account: browser.account, in: transaction)
        }
    }

    /// Verifies the address of a link, for the account that is signed in: who has the mailbox alone, or the account
    /// alone, verifies nothing.
    /// - Throws: `unknownItem` for a link that is not valid, and for another account.
    package func verifyAddress(
        byLink secret: String, of browser: BrowserSession, address: [UInt8]
    ) async throws(ServiceError) {
        let found = try await beginUse(of: secret, .verification, address: address)
        guard found.link.account == browser.account else { throw .linkIsOver }
        let actor = AuditActor(name: browser.account, address: SignInCounters.network(address) ?? "")
        try await write { transaction in
            guard try transaction.entry(StoredSession.self, browser.id) != nil else { throw ServiceError.sessionIsOver }
            let (link, _) = try self.useLink(secret, address: address, in: transaction)
            _ = try self.verify(link.address ?? "", of: browser.account, by: actor, in: transaction)
        }
        sessions.evictAll()
    }
}
