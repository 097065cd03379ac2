import NephosStorage
import NephosWire

extension Installation {
    /// Queues a mail with a link that sets a new password, if an account has verified the address. Whether there is one is
    /// found out when the mail is sent, so neither the answer nor its time tells.
    /// - Throws: `invalidArguments` for a text that is no e-mail address; `requestRateLimited` after too many mails from
    ///   the network, and after too many to the caller's own address.
    package func requestRecovery(of text: String, isOwn: Bool = false, address: [UInt8]) async throws(ServiceError) {
        try await request(.recovery, to: text, continuation: nil, address: address, isOwn: isOwn)
    }

    /// Makes a link that sets a new password, for an administrator to pass on.
    /// - Returns: the URL, which is a secret.
    package func makeRecoveryLink(
        ofAccountNamed name: String, by actor: AuditActor
    ) async throws(ServiceError) -> String {
        let name = SignInName.canonical(name)
        let secret = try await write { transaction in
            let (id, account) = try transaction.requireInstallationAccount(named: name)
            try self.audit("recovery link made", id, by: actor, in: transaction)
            return try self.makeLink(
                .recovery, address: nil, account: id, credential: StoredLink.credential(account), in: transaction)
        }
        return people.link(secret)
    }

    /// Sets a new password by a link. All sessions of the account end, its devices are new ones, and every verified
    /// address is told.
    /// - Parameter removesOtherMethods: whether the account's passkeys and identity providers are removed, too.
    /// - Throws: `unknownItem` for a link that is not valid; `invalidArguments` for a password that breaks the rules: then
    ///   the link stays.
    package func recover(
        byLink secret: String, password: String, removesOtherMethods: Bool = false, address: [UInt8]
    ) async throws(ServiceError) {
        let hash = try await linkedPassword(password, secret, .recovery, address)
        try await write { transaction in
            let (link, account) = try self.useLink(secret, address: address, in: transaction)
            guard let id = link.account, let account else { throw ServiceError.linkIsOver }
            let actor = AuditActor(name: id, address: SignInCounters.network(address) ?? "")
            try self.replacePassword(of: id, account, hash, by: actor, in: transaction)
            if removesOtherMethods { try self.removeOtherMethods(of: id, by: actor, in: transaction) }
        }
        sessions.evictAll()
    }

    /// Returns the hash of a password that is set by a link.
    func linkedPassword(
        _ password: String, _ secret: String, _ purpose: StoredLink.Purpose, _ address: [UInt8]
    ) async throws(ServiceError) -> String {
        let network = SignInCounters.network(address) ?? ""
        guard await signInPlaces.take(network) else { throw .tooManySignIns }
        defer { signInPlaces.giveBack(network) }
        let found = try await beginUse(of: secret, purpose, address: address)
        do throws(ServiceError) {
            try PasswordRules.check(password, of: found.account?.name ?? found.link.address ?? "")
        } catch {
            // The link was right: another password is no guess.
            try await write { try SignInCounters(linksFrom: address).succeed(in: $0) }
            throw error
        }
        return try await hashed(password)
    }
}
