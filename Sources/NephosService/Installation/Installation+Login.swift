import NephosCrypto
import NephosStorage
package import NephosWire

/// A login as the person who approves it sees it.
package struct PendingLogin: Hashable, Sendable {
    /// Nil for the administration.
    package var container: String?
    package var environment: String?
    /// The name of the API token of the container; empty for none.
    package var app: String
    /// The program, as it names itself.
    package var label: String
    /// The network of the program; empty if unknown.
    package var network: String
}

/// The outcome of a login.
package enum LoginOutcome: Sendable {
    case pending
    case denied
    case signedIn(SignedIn, account: String, container: String?, environment: String?)
}

extension Installation {
    private static let unknownCode = ServiceError(
        .notFound, .unknownItem, "no login waits for this code: it may have expired, or been typed wrongly")
    private static let unknownLogin = ServiceError(
        .authenticationFailed, .notAuthenticated, "the login has expired: begin it again")

    /// Begins a login that a person approves in a browser.
    /// - Parameters:
    ///   - apiToken: the API token of the container to sign in to; nil for the administration.
    ///   - keepsSignedIn: whether the session lasts as that of a program, and not as that of a page.
    /// - Throws: `notAuthenticated` for an API token that allows no sign-in; `requestRateLimited`.
    package func beginLogin(
        apiToken: String?, label: String, keepsSignedIn: Bool = true, address: [UInt8]
    ) async throws(ServiceError) -> BegunLogin {
        try rates.admit(loginFrom: address)
        let place = try await place(
            of: SignIn(name: "", password: "", apiToken: apiToken, label: label, address: address))
        let (secret, code, network) = (SecretToken(), LoginCode.make(), SignInCounters.network(address) ?? "")
        let expiry = environment.now() + Limits.loginLifetime
        try await write { transaction in
            guard let codeHash = LoginCode.hash(code), try transaction.entry(StoredLoginCode.self, codeHash) == nil
            else { throw ServiceError.busy }
            let login = StoredLogin(
                container: place?.container, environment: place?.environment, app: place?.name,
                label: StoredSession.label(label),
                network: network, epoch: try transaction.tokenEpoch(), keepsSignedIn: keepsSignedIn,
                expiresAt: expiry)
            try transaction.put(login, secret.hash, expiresAt: expiry)
            try transaction.put(StoredLoginCode(login: secret.hash), codeHash, expiresAt: expiry)
        }
        return BegunLogin(secret: secret.text(), code: code, expires: expiry)
    }

    /// Returns the login of a code, for the person who is to approve it.
    /// - Throws: `unknownItem`; `requestRateLimited` after too many codes that were wrong.
    package func pendingLogin(
        _ code: String, for browser: BrowserSession, address: [UInt8]
    ) async throws(ServiceError) -> PendingLogin {
        let login = try await found(code, for: browser, address: address).login
        return PendingLogin(
            container: login.container, environment: login.environment, app: login.app ?? "", label: login.label,
            network: login.network)
    }

    /// Approves the login of a code as the browser's account, or denies it.
    package func decideLogin(
        _ code: String, approves: Bool, by browser: BrowserSession, address: [UInt8]
    ) async throws(ServiceError) {
        let hash = try await found(code, for: browser, address: address).hash
        let now = environment.now()
        try await write { transaction in
            guard var login = try transaction.entry(StoredLogin.self, hash), login.account == nil,
                let codeHash = LoginCode.hash(code), let session = try transaction.entry(StoredSession.self, browser.id)
            else { throw Self.unknownCode }
            if approves, login.container == nil {
                try Administrator.checkIsRecent(session.lastAuthenticatedAt, at: now)
            }
            (login.account, login.session) = approves ? (browser.account, browser.id) : (nil, nil)
            login.isDenied = !approves
            try transaction.put(login, hash, expiresAt: login.expiresAt)
            // A code is used once.
            try transaction.removeInstallationEntry(.loginCode, codeHash)
            let actor = AuditActor(name: browser.account, address: SignInCounters.network(address) ?? "")
            let object = login.container.map { AuditedEvent.object($0, login.environment) } ?? "administration"
            try self.audit("login \(approves ? "approved" : "denied")", object, by: actor, in: transaction)
        }
    }

    /// Counts the code as a guess before it is looked up.
    private func found(
        _ code: String, for browser: BrowserSession, address: [UInt8]
    ) async throws(ServiceError) -> (hash: String, login: StoredLogin) {
        let now = environment.now()
        let counters = SignInCounters(codesTypedBy: browser.account, address: address)
        let found = try await write { transaction -> (hash: String, login: StoredLogin)? in
            try counters.begin(at: now, in: transaction)
            guard let codeHash = LoginCode.hash(code),
                let hash = try transaction.entry(StoredLoginCode.self, codeHash)?.login,
                let login = try transaction.liveLogin(hash, at: now)
            else { return nil }
            try counters.succeed(in: transaction)
            return (hash, login)
        }
        guard let found else { throw Self.unknownCode }
        return found
    }

    /// Returns the outcome of a login. One that was approved begins a session, once.
    /// - Throws: `notAuthenticated` for a secret whose login has expired, or was answered.
    package func login(_ secret: String, address: [UInt8]) async throws(ServiceError) -> LoginOutcome {
        guard let hash = SecretToken(secret)?.hash else { throw Self.unknownLogin }
        let now = environment.now()
        let waiting = try await read { try $0.liveLogin(hash, at: now) }
        guard let waiting else { throw Self.unknownLogin }
        if waiting.isDenied { return .denied }
        guard waiting.account != nil else { return .pending }
        let token = SecretToken()
        return try await write { transaction in
            guard let login = try transaction.liveLogin(hash, at: now), let id = login.account,
                let session = login.session, try transaction.entry(StoredSession.self, session) != nil,
                let account = try transaction.entry(InstallationAccount.self, id)
            else { throw Self.unknownLogin }
            let keepsSignedIn = login.keepsSignedIn ?? true
            let request = SignIn(
                name: account.name, password: "", apiToken: nil, label: login.label, keepsSignedIn: keepsSignedIn,
                address: address)
            try self.begin(
                request, id, container: login.container, environment: login.environment, token, isOfBrowser: false,
                in: transaction)
            try transaction.removeInstallationEntry(.login, hash)
            let signedIn = SignedIn(
                token: token.text(), device: "", expiresAt: now + StoredSession.lifetime(keepsSignedIn: keepsSignedIn))
            return .signedIn(
                signedIn, account: account.name, container: login.container, environment: login.environment)
        }
    }
}

extension StorageReader {
    /// A login that has not expired, and that no restore ended.
    fileprivate func liveLogin(_ hash: String, at now: Int64) throws -> StoredLogin? {
        guard let login = try entry(StoredLogin.self, hash), now < login.expiresAt, try login.epoch == tokenEpoch()
        else { return nil }
        return login
    }
}
