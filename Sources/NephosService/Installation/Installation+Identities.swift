import NephosCrypto
import NephosStorage
import NephosWire

/// How an account signs in.
package struct SignInMethods: Hashable, Sendable {
    package struct Identity: Hashable, Sendable {
        /// The name of the entry, which is no secret.
        package var id: String
        /// The provider, for people.
        package var provider: String
        /// The address or name that the provider gave; empty without one.
        package var label: String
        package var addedAt: Int64
        /// Whether the provider is among the server's.
        package var isUsable: Bool
    }

    package var hasPassword: Bool
    package var identities: [Identity]
    /// The names of the entries of the passkeys that are of this server's site.
    package var passkeys: [String]

    /// The names of the entries that sign the account in.
    var usable: Set<String> { Set(passkeys + identities.filter(\.isUsable).map(\.id)) }

    /// Whether some methods are all by which the account can sign in. Methods that cannot be used, such as passkeys of a
    /// former host, do not count.
    /// - Parameter ids: the names of their entries.
    func areLast(_ ids: [String]) -> Bool {
        !hasPassword && !usable.isEmpty && usable.isSubset(of: ids)
    }
}

extension Installation {
    // MARK: Signing in

    /// Signs in the account of a provider's person, or makes one where people make accounts.
    ///
    /// An account is made if sign-up is open, or by the link of an invitation to which the sign-in is to lead back. Its
    /// name is the link's address, or the one that the provider verified, if no account has it. Another account's
    /// address joins nothing.
    /// - Parameter request: the sign-in, without name and password.
    /// - Throws: what `identity` and the API token of the request throw.
    package func signIn(
        _ signIn: ProviderSignIn, _ response: ProviderResponse, request: SignIn, browserSecret: String
    ) async throws(ServiceError) -> ProviderOutcome {
        let place = try await place(of: request)
        let (identity, counters) = try await identity(
            signIn, response, browserSecret: browserSecret, device: request.device, address: request.address)
        var request = request
        request.authenticatedAt = identity.authenticatedAt ?? StoredSession.unknownTime
        let secrets = (app: SecretToken(), browser: SecretToken(), device: SecretToken())
        let (link, now) = (linkSecret(in: signIn.purpose), environment.now())
        let outcome: ProviderOutcome = try await write { [request] transaction in
            try counters.succeed(in: transaction)
            let found = try self.account(of: identity, link, request.address, in: transaction)
            guard let account = found.id else { return .noAccount(isAddressTaken: found == .addressTaken) }
            if place != nil {
                try self.begin(request, account, place, secrets.app, isOfBrowser: false, in: transaction)
            }
            try transaction.endBrowserSession(
                request.formerBrowserToken, for: account, replacedBy: secrets.browser.hash)
            try self.begin(request, account, nil, secrets.browser, isOfBrowser: true, in: transaction)
            let device = try transaction.device(request.device, of: account) ?? secrets.device
            // Whose account the next sign-in is, only the provider's answer says.
            for owner in [account, KnownDevice.ofProviders] {
                try transaction.put(
                    KnownDevice(), KnownDevice.name(owner, device.hash), expiresAt: now + Limits.knownDeviceLifetime)
            }
            try transaction.forgetDevices(of: account, keeping: Limits.knownDevices)
            let signedIn = SignedIn(
                token: place == nil ? "" : secrets.app.text(), device: device.text(),
                expiresAt: now + StoredSession.lifetime(keepsSignedIn: request.keepsSignedIn),
                browserToken: secrets.browser.text())
            guard case .madeByLink(_, let continuation) = found else { return .signedIn(signedIn) }
            return .signedUp(signedIn, continuation: continuation)
        }
        if request.formerBrowserToken != nil { sessions.evictAll() }
        return outcome
    }

    private enum FoundAccount: Equatable {
        case found(String)
        case madeByLink(String, SignUpContinuation?)
        case none, addressTaken

        /// The account's ID; nil without an account.
        var id: String? {
            switch self {
            case .found(let id), .madeByLink(let id, _): id
            case .none, .addressTaken: nil
            }
        }
    }

    /// Returns the account of a person, which is made if it may be.
    private func account(
        of identity: ProvidedIdentity, _ link: String?, _ address: [UInt8], in transaction: StorageTransaction
    ) throws -> FoundAccount {
        let hash = StoredIdentity.name(identity)
        if let account = try transaction.entry(StoredIdentity.self, hash)?.account {
            if try transaction.entry(InstallationAccount.self, account) != nil { return .found(account) }
            // An earlier version deleted the account, and left this.
            try transaction.removeIdentity(hash, of: account)
        }
        guard people.signUp != .off else { return .none }
        // The link's address is verified by it, as who has the link has the mailbox.
        if let link, let (stored, _) = try transaction.link(link, at: environment.now()), stored.purpose == .signUp,
            let name = stored.address, try !transaction.hasAccount(name)
        {
            try transaction.removeInstallationEntry(.link, link)
            let id = try makeAccount(named: name, of: identity, address, in: transaction)
            return .madeByLink(id, stored.continuation)
        }
        guard people.signUp == .open else { return .none }
        let verified = identity.verifiedAddress.flatMap { MailAddress(SignInName.canonical($0))?.text }
        if let verified, try transaction.hasAccount(verified) { return .addressTaken }
        let name = try verified ?? freeName(identity.name ?? "", in: transaction)
        return .found(try makeAccount(named: name, of: identity, address, in: transaction))
    }

    /// Makes an account without a password. A name that is an address is verified.
    private func makeAccount(
        named name: String, of identity: ProvidedIdentity, _ address: [UInt8], in transaction: StorageTransaction
    ) throws -> String {
        let id = AccountID.make(environment)
        let actor = AuditActor(name: id, address: SignInCounters.network(address) ?? "")
        try transaction.put(NamedAccount(id: id), name)
        try transaction.put(
            InstallationAccount(name: name, password: nil, createdAt: environment.now(), addresses: []), id)
        try audit("account made", id, by: actor, in: transaction)
        _ = try verify(name, of: id, by: actor, in: transaction)
        try put(identity, of: id, by: actor, in: transaction)
        return id
    }

    /// Returns a name that no account has: what the provider suggests, and digits. A name without digits may be one to
    /// which a share is offered before its person comes, and is the administrator's to give.
    private func freeName(_ suggestion: String, in transaction: StorageTransaction) throws -> String {
        let letters = suggestion.unicodeScalars.filter { $0.properties.isAlphabetic || $0 == " " || $0 == "-" }
        let words = SignInName.canonical(String(String.UnicodeScalarView(letters.prefix(40))))
            .split(separator: " ").joined(separator: " ")
        for _ in 0..<10 {
            let name = "\(words.isEmpty ? "account" : words) \(Int.random(in: 100_000...999_999))"
            if try transaction.entry(NamedAccount.self, name) == nil { return name }
        }
        throw ServiceError.busy
    }

    /// The hash of the secret of the link to whose page a sign-in leads back; nil for another page.
    private func linkSecret(in purpose: ProviderPurpose) -> String? {
        let start = "\(PeopleSettings.linkPath)?token="
        guard case .page(let path) = purpose, path.hasPrefix(start) else { return nil }
        return SecretToken(String(path.dropFirst(start.count)))?.hash
    }

    // MARK: The account's providers

    /// Adds the provider's person to the account of the browser's session.
    /// - Parameter device: the secret that an earlier sign-in gave the browser; nil for a new one.
    /// - Throws: `serverRejectedRequest` for the person of another account; `limitExceeded`; what `identity` throws.
    package func addIdentity(
        _ signIn: ProviderSignIn, _ response: ProviderResponse, to browser: BrowserSession, browserSecret: String,
        device: String? = nil, address: [UInt8]
    ) async throws(ServiceError) {
        guard case .addition(let session) = signIn.purpose, session == browser.id else { throw .providerSignInIsOver }
        let (identity, counters) = try await identity(
            signIn, response, browserSecret: browserSecret, device: device, address: address)
        let actor = AuditActor(name: browser.account, address: SignInCounters.network(address) ?? "")
        try await write { transaction in
            try counters.succeed(in: transaction)
            _ = try transaction.requireSession(browser.id)
            if let found = try transaction.entry(StoredIdentity.self, StoredIdentity.name(identity)) {
                guard found.account == browser.account else {
                    throw ServiceError(
                        .exists, .serverRejectedRequest, "another account signs in by that person of the provider")
                }
                return
            }
            guard try transaction.identities(of: browser.account).count < Limits.identitiesOfAccount else {
                throw ServiceError.limitExceeded(
                    "an account has at most \(Limits.identitiesOfAccount) providers: remove one")
            }
            try self.put(identity, of: browser.account, by: actor, in: transaction)
            try self.note(.providerAdded, of: browser.account, in: transaction)
        }
    }

    /// Removes a provider's person from the account of the browser's session.
    /// - Throws: `unknownItem` for one that is not the account's; `serverRejectedRequest` for the last way to sign in;
    ///   `notAuthenticated` if the sign-in is too old for changes.
    package func removeIdentity(_ id: String, of browser: BrowserSession, address: [UInt8]) async throws(ServiceError) {
        let now = environment.now()
        let actor = AuditActor(name: browser.account, address: SignInCounters.network(address) ?? "")
        try await write { transaction in
            try transaction.checkIsRecent(browser, at: now)
            let methods = try self.methods(of: browser.account, transaction)
            guard methods.identities.contains(where: { $0.id == id }) else {
                throw ServiceError(.notFound, .unknownItem, "the account has no such provider")
            }
            if methods.areLast([id]) { throw ServiceError.lastSignInMethod }
            try self.remove(identity: id, of: browser.account, by: actor, in: transaction)
        }
    }

    /// Returns how the account of a browser's session signs in.
    package func signInMethods(of browser: BrowserSession) async throws(ServiceError) -> SignInMethods {
        try await read { try self.methods(of: browser.account, $0) }
    }

    /// Without the server's settings, as in a command on the data of a stopped server, every method counts as usable.
    func methods(of account: String, _ reader: StorageReader) throws -> SignInMethods {
        let hasSettings = !people.url.isEmpty
        let found = try reader.entry(InstallationAccount.self, account)
        let identities = try reader.identities(of: account).map { id, identity in
            let provider = providers.first { $0.issuer.text.hasSameBytes(as: identity.issuer) }
            return SignInMethods.Identity(
                id: id, provider: provider?.title ?? identity.issuer, label: identity.label, addedAt: identity.addedAt,
                isUsable: provider != nil || !hasSettings)
        }
        let passkeys = try reader.passkeys(of: account)
            .filter { $0.passkey.relyingParty == passkeyHost || !hasSettings }.map(\.id)
        return SignInMethods(hasPassword: found?.password != nil, identities: identities, passkeys: passkeys)
    }

    /// Removes the passkeys and the identity providers of an account, with an event of the audit for each.
    func removeOtherMethods(of account: String, by actor: AuditActor, in transaction: StorageTransaction) throws {
        try removePasskeys(of: account, by: actor, in: transaction)
        for (id, _) in try transaction.identities(of: account) {
            try remove(identity: id, of: account, by: actor, in: transaction)
        }
    }

    func remove(
        identity id: String, of account: String, by actor: AuditActor, in transaction: StorageTransaction
    ) throws {
        try transaction.removeIdentity(id, of: account)
        try audit("provider removed", account, by: actor, in: transaction)
        try note(.providerRemoved, of: account, in: transaction)
    }

    private func put(
        _ identity: ProvidedIdentity, of account: String, by actor: AuditActor, in transaction: StorageTransaction
    ) throws {
        let name = StoredIdentity.name(identity)
        let label = StoredSession.label(identity.verifiedAddress ?? identity.name ?? "")
        try transaction.put(StoredIdentity(account: account), name)
        try transaction.put(
            AccountIdentity(issuer: identity.issuer, label: label, addedAt: environment.now()),
            AccountIdentity.name(account, name))
        try audit("provider added", account, by: actor, in: transaction)
    }
}

extension StorageReader {
    /// The secret of a device that an account knows; nil for another one.
    func device(_ text: String?, of account: String) throws -> SecretToken? {
        guard let device = text.flatMap(SecretToken.init),
            try installationEntry(.knownDevice, KnownDevice.name(account, device.hash)) != nil
        else { return nil }
        return device
    }
}

extension ServiceError {
    static let lastSignInMethod = ServiceError(
        .exists, .serverRejectedRequest,
        "this is the last way to sign in to the account: set a password or add another first")
}
