import NephosCrypto
import NephosStorage
import NephosThreads
import NephosWire

/// A sign-in by name and password.
package struct SignIn: Sendable {
    package var name: String
    package var password: String
    /// The API token of the container that it signs in to; nil for the administration.
    package var apiToken: String?
    /// The origin of the web page that asks; nil for a program.
    package var origin: String?
    /// The secret that an earlier sign-in gave the device; nil for a new device.
    package var device: String?
    /// The device or program, for people.
    package var label: String
    package var keepsSignedIn: Bool
    /// The network address of the caller; empty if unknown.
    package var address: [UInt8]
    /// Whether the browser is signed in to the server's own pages, too.
    package var startsBrowserSession = false
    /// The former token of the browser, whose session ends.
    package var formerBrowserToken: String?
    /// The time at which an identity provider asked for the person's credentials, or `StoredSession.unknownTime`; nil
    /// for now.
    var authenticatedAt: Int64?

    package init(
        name: String, password: String, apiToken: String?, origin: String? = nil, device: String? = nil,
        label: String = "", keepsSignedIn: Bool = false, address: [UInt8] = []
    ) {
        self.name = name
        self.password = password
        self.apiToken = apiToken
        self.origin = origin
        self.device = device
        self.label = label
        self.keepsSignedIn = keepsSignedIn
        self.address = address
    }
}

/// The outcome of a sign-in. Both texts are secrets that the service does not keep.
package struct SignedIn: Sendable {
    /// The web auth token.
    package var token: String
    /// The secret by which the device is known at its next sign-in.
    package var device: String
    package var expiresAt: Int64
    /// The token of the browser's own session; nil if none began.
    package var browserToken: String?
}

extension Installation {
    /// The refusal of a name or password, in the same words and after the same work for names that do not exist.
    private static let wrong = ServiceError(
        .authenticationFailed, .notAuthenticated, "the name or the password is wrong")

    /// Signs in.
    /// - Throws: `notAuthenticated` for a wrong name or password, or an API token that allows no sign-in;
    ///   `requestRateLimited` after too many failures.
    package func signIn(_ request: SignIn) async throws(ServiceError) -> SignedIn {
        let name = SignInName.typed(request.name)
        guard name.utf8.count <= SignInName.longest, request.password.utf8.count <= PasswordRules.longest else {
            throw Self.wrong
        }
        let place = try await place(of: request)
        let network = SignInCounters.network(request.address) ?? ""
        // Before anything is counted: a refusal for lack of room is no failed guess.
        guard await signInPlaces.take(network) else { throw .tooManySignIns }
        defer { signInPlaces.giveBack(network) }
        do throws(ServiceError) {
            return try await signIn(request, name, place)
        } catch {
            if error.code == .throttled { refusals.note("sign-in throttled", address: network) }
            throw error
        }
    }

    private func signIn(_ request: SignIn, _ name: String, _ place: APIToken?) async throws(ServiceError) -> SignedIn {
        let device = request.device.flatMap(SecretToken.init)
        let now = environment.now()
        let (found, counters, isKnown) = try await write { transaction in
            let found = try transaction.installationAccount(named: name)
            let isKnown =
                if let found, let device {
                    try transaction.installationEntry(.knownDevice, KnownDevice.name(found.id, device.hash)) != nil
                } else { false }
            let known = isKnown ? found.flatMap { found in device.map { (found.id, $0.hash) } } : nil
            let counters = SignInCounters(name: name, address: request.address, knownDevice: known)
            try counters.begin(at: now, in: transaction)
            return (found, counters, isKnown)
        }
        let hash = found?.account.password ?? noPassword
        guard try await verify(request.password, hash), let found, found.account.password != nil else {
            noteFailure(of: found?.id, request.address)
            throw Self.wrong
        }
        let newHash = PasswordHash.isOutdated(hash, environment.passwordCost) ? try await hashed(request.password) : nil
        // A secret that the account does not know is not taken over: its sender may know it, too.
        return try await begin(
            request, found.id, place, isKnown ? device ?? SecretToken() : SecretToken(), counters
        ) { transaction in
            guard var current = try transaction.entry(InstallationAccount.self, found.id), current.password == hash
            else {
                throw Self.wrong
            }
            guard let newHash else { return }
            current.password = newHash
            try transaction.put(current, found.id)
        }
    }

    private func noteFailure(of account: String?, _ address: [UInt8]) {
        let network = SignInCounters.network(address) ?? ""
        environment.log(
            "a sign-in failed from \(network.isEmpty ? "an unknown address" : NetworkText.readable(network))")
        refusals.note("sign-in refused", object: account ?? "", address: network)
    }

    /// Checks the password of an account that is signed in, and counts like a sign-in.
    /// - Parameter device: the secret of the browser's device, whose count strangers' guesses do not use up; nil for none.
    /// - Returns: the hash of the password, as it was verified.
    func checkPassword(
        _ password: String, of browser: BrowserSession, device: String?, address: [UInt8]
    ) async throws(ServiceError) -> String {
        let now = environment.now()
        let deviceHash = device.flatMap(SecretToken.init)?.hash
        let (hash, counters) = try await write { transaction in
            let isKnown = try deviceHash.map {
                try transaction.installationEntry(.knownDevice, KnownDevice.name(browser.account, $0)) != nil
            }
            let known = isKnown == true ? deviceHash.map { (browser.account, $0) } : nil
            let counters = SignInCounters(name: browser.name, address: address, knownDevice: known)
            try counters.begin(at: now, in: transaction)
            return (try transaction.entry(InstallationAccount.self, browser.account)?.password, counters)
        }
        guard try await verify(password, hash ?? noPassword), let hash else {
            noteFailure(of: browser.account, address)
            throw Self.wrong
        }
        try await write { try counters.succeed(in: $0) }
        return hash
    }

    /// The container and environment that the sign-in is for; nil for the administration, and for the server's own pages.
    func place(of request: SignIn) async throws(ServiceError) -> APIToken? {
        guard let text = request.apiToken else {
            // Neither the administration nor the server's own pages have pages elsewhere.
            guard request.origin == nil else {
                throw ServiceError(
                    .authenticationFailed, .notAuthenticated, "web pages do not sign in to the administration")
            }
            return nil
        }
        guard let token = try await apiToken(text), token.expiresAt.map({ environment.now() < $0 }) ?? true else {
            throw .invalidAPIToken
        }
        try token.checkOrigin(request.origin)
        guard token.allowsSignIn else { throw .noSignIn }
        return token
    }

    private func verify(_ password: String, _ hash: String) async throws(ServiceError) -> Bool {
        do {
            return try await passwordPool.run { PasswordHash.verify(password, hash) }
        } catch {
            throw environment.translate(error, requestID: "sign-in")
        }
    }

    /// Begins the sessions of a sign-in.
    /// - Parameter confirm: throws, in their transaction, if the account changed since its credential was verified.
    func begin(
        _ request: SignIn, _ account: String, _ place: APIToken?, _ device: SecretToken, _ counters: SignInCounters,
        confirm: @escaping @Sendable (StorageTransaction) throws -> Void
    ) async throws(ServiceError) -> SignedIn {
        let (secret, browserSecret) = (SecretToken(), SecretToken())
        let now = environment.now()
        let expiry = now + StoredSession.lifetime(keepsSignedIn: request.keepsSignedIn)
        // A browser at the server's own pages needs no other session.
        let isOfAnApp = place != nil || !request.startsBrowserSession
        try await write { transaction in
            try confirm(transaction)
            try counters.succeed(in: transaction)
            if isOfAnApp { try self.begin(request, account, place, secret, isOfBrowser: false, in: transaction) }
            if request.startsBrowserSession {
                try transaction.endBrowserSession(
                    request.formerBrowserToken, for: account, replacedBy: browserSecret.hash)
                try self.begin(request, account, nil, browserSecret, isOfBrowser: true, in: transaction)
            }
            try transaction.put(
                KnownDevice(), KnownDevice.name(account, device.hash),
                expiresAt: now + Limits.knownDeviceLifetime)
            try transaction.forgetDevices(of: account, keeping: Limits.knownDevices)
        }
        if request.formerBrowserToken != nil { sessions.evictAll() }
        return SignedIn(
            token: isOfAnApp ? secret.text() : "", device: device.text(), expiresAt: expiry,
            browserToken: request.startsBrowserSession ? browserSecret.text() : nil)
    }

    /// Stores a new session.
    /// - Parameter parent: the hash of the session that asked for it, whose sign-in it continues: so no chain of sessions
    ///   outlives `Limits.longestSession`. Nil for a sign-in.
    /// - Throws: `notAuthenticated` if that session is over.
    func begin(
        _ request: SignIn, _ account: String, _ place: APIToken?, _ secret: SecretToken, isOfBrowser: Bool,
        from parent: String? = nil, in transaction: StorageTransaction
    ) throws {
        try begin(
            request, account, container: place?.container, environment: place?.environment, secret,
            isOfBrowser: isOfBrowser, from: parent, in: transaction)
    }

    func begin(
        _ request: SignIn, _ account: String, container: String?, environment containerEnvironment: String?,
        _ secret: SecretToken, isOfBrowser: Bool, from parent: String? = nil,
        in transaction: StorageTransaction
    ) throws {
        // The container may have been deleted meanwhile.
        if let container, try !transaction.hasContainer(container) { throw ServiceError.invalidAPIToken }
        let now = environment.now()
        // The session that asks may have ended meanwhile.
        let asking = try parent.map { try transaction.requireSession($0) }
        let signedInAt = asking?.signedInAt ?? now
        let session = StoredSession(
            account: account, container: container, environment: containerEnvironment,
            label: StoredSession.label(request.label), signedInAt: signedInAt,
            authenticatedAt: asking?.authenticatedAt ?? request.authenticatedAt,
            expiresAt: min(
                now + StoredSession.lifetime(keepsSignedIn: request.keepsSignedIn), signedInAt + Limits.longestSession),
            keepsSignedIn: request.keepsSignedIn, epoch: try transaction.tokenEpoch(),
            isOfBrowser: isOfBrowser ? true : nil,
            ancestors: parent.flatMap { asking?.ancestors(withOwn: $0) })
        try transaction.put(session, hash: secret.hash)
        try transaction.endOldSessions(
            beside: session, hash: secret.hash, keeping: Limits.sessionsOfPlace)
        let object =
            container.map { "\($0) \(containerEnvironment ?? "")" } ?? (isOfBrowser ? "pages" : "administration")
        try audit(
            "signed in", object,
            by: AuditActor(name: account, address: SignInCounters.network(request.address) ?? ""), in: transaction)
    }
}

extension ServiceError {
    static let accountIsBeingDeleted = ServiceError(
        .accessDenied, .notAuthenticated,
        "the account is being deleted: if that lasts, an administrator repeats 'nephos accounts delete'")
    static let tooManySignIns = ServiceError(
        .tryAgainLater, .serviceUnavailable, "too many sign-ins are under way: try again", retryAfter: 1)

    /// The refusal of a missing, unknown, expired or foreign API token, in the same words for each, and for containers
    /// that do not exist.
    package static let invalidAPIToken = ServiceError(
        .authenticationFailed, .notAuthenticated,
        "the request needs the API token of its container and environment: ckAPIToken is missing or not valid")

    /// The refusal of an API token that reads alone.
    static let noSignIn = ServiceError(.authenticationFailed, .notAuthenticated, "the API token allows no sign-in")

    /// The refusal of a web page that may not use the API token.
    static let wrongOrigin = ServiceError(
        .authenticationFailed, .notAuthenticated, "the API token is not for web pages of the origin of this one")

    /// Whether the refusal is about the API token or the page's origin, which are checked before anything of an account.
    package var isAboutAPIToken: Bool { self == .invalidAPIToken || self == .wrongOrigin }
}

extension APIToken {
    /// - Throws: `notAuthenticated` if the request comes from a web page that may not use the token.
    func checkOrigin(_ origin: String?) throws(ServiceError) {
        guard let origin, !origins.contains(where: { $0.hasSameBytes(as: origin) }) else { return }
        throw ServiceError.wrongOrigin
    }
}
