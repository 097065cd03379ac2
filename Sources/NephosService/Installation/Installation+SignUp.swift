import NephosCrypto
import NephosStorage
import NephosWire

extension Installation {
    /// Queues a mail with a link that makes an account. An address that has one gets a mail that says so; the answer is
    /// the same. Nothing else is stored for the address.
    /// - Parameter continuation: where the person goes on; nil for the account's page.
    /// - Throws: `invalidArguments` for a text that is no e-mail address, and where sign-ups are off;
    ///   `requestRateLimited` after too many mails from the network.
    package func requestSignUp(
        of text: String, continuation: SignUpContinuation?, address: [UInt8]
    ) async throws(ServiceError) {
        guard isOpenToSignUps else { throw .signUpsAreOff }
        try await request(.signUp, to: text, continuation: continuation, address: address)
    }

    /// Invites an address to make an account: by mail where the server sends mail.
    /// - Returns: the URL for the administrator to pass on, which is a secret; nil if it is mailed.
    /// - Throws: `invalidArguments` for a text that is no e-mail address, and where sign-ups are off;
    ///   `serverRejectedRequest` if the address has an account.
    package func invite(_ text: String, by actor: AuditActor) async throws(ServiceError) -> String? {
        guard people.signUp != .off else { throw .signUpsAreOff }
        guard let recipient = MailAddress(SignInName.canonical(text))?.text else {
            throw .noMailAddress(text)
        }
        let secret: String? = try await write { transaction in
            if try transaction.hasAccount(recipient) { throw ServiceError.accountExists(recipient) }
            try self.audit("invitation made", "", by: actor, in: transaction)
            guard self.sendsMail else {
                return try self.makeLink(
                    .signUp, address: recipient, lifetime: Limits.invitationLifetime, in: transaction)
            }
            try self.queue(.invitation, to: recipient, in: transaction)
            return nil
        }
        return secret.map(people.link)
    }

    /// Makes the account of a link, whose address is verified by it, and signs the browser in. The password is chosen
    /// here, by who has the mailbox, and not by who asked for the mail. The browser's former session ends.
    /// - Throws: `unknownItem` for a link that is not valid; `invalidArguments` for a password that breaks the rules: then
    ///   the link stays; `serverRejectedRequest` if the address has an account by now.
    package func signUp(
        byLink secret: String, password: String, formerBrowserToken: String? = nil, address: [UInt8]
    ) async throws(ServiceError) -> SignedIn {
        guard people.signUp != .off else { throw .linkIsOver }
        let hash = try await linkedPassword(password, secret, .signUp, address)
        let (id, now) = (AccountID.make(environment), environment.now())
        let (browserSecret, device) = (SecretToken(), SecretToken())
        try await write { transaction in
            let (link, _) = try self.useLink(secret, address: address, in: transaction)
            guard let name = link.address, link.purpose == .signUp else { throw ServiceError.linkIsOver }
            if try transaction.hasAccount(name) { throw ServiceError.accountExists(name) }
            let actor = AuditActor(name: id, address: SignInCounters.network(address) ?? "")
            try transaction.put(NamedAccount(id: id), name)
            try transaction.put(
                InstallationAccount(name: name, password: hash, createdAt: now, addresses: []), id)
            try self.audit("account made", id, by: actor, in: transaction)
            _ = try self.verify(name, of: id, by: actor, in: transaction)
            let request = SignIn(name: name, password: "", apiToken: nil, label: "browser", address: address)
            try transaction.endBrowserSession(formerBrowserToken, for: id, replacedBy: browserSecret.hash)
            try self.begin(request, id, nil, browserSecret, isOfBrowser: true, in: transaction)
            try transaction.put(
                KnownDevice(), KnownDevice.name(id, device.hash), expiresAt: now + Limits.knownDeviceLifetime)
        }
        if formerBrowserToken != nil { sessions.evictAll() }
        return SignedIn(
            token: "", device: device.text(), expiresAt: now + Limits.sessionLifetime,
            browserToken: browserSecret.text())
    }
}

extension StorageReader {
    /// Whether an address is the name of an account, or one's verified address.
    func hasAccount(_ address: String) throws -> Bool {
        try entry(NamedAccount.self, address) != nil || entry(VerifiedAddress.self, address) != nil
    }
}

extension ServiceError {
    static let signUpsAreOff = ServiceError.invalid(
        "accounts are made by administrators alone: 'nephos serve --sign-up' says who else makes them")
}
