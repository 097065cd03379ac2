import NephosCrypto
import NephosStorage
import NephosWire

/// A session, as the administration shows it.
package struct SessionSummary: Codable, Hashable, Sendable {
    /// The session's name: the hash of its secret, which signs no caller in.
    package var id: String
    package var account: String
    package var container: String?
    package var environment: String?
    /// Whether the session is a browser's at the server's own pages; nil for no.
    package var isOfBrowser: Bool?
    package var label: String
    package var signedInAt: Int64
    package var expiresAt: Int64
}

/// The caller of a request, as its credentials say.
package struct SignedInCaller: Sendable {
    /// The account's ID; nil without a session.
    package var account: String?
    /// The canonical address to which invitations go; nil without a verified one.
    package var address: String?
    /// Whether the account develops the container.
    package var isDeveloper: Bool
    /// The name of the session, which is no secret, or of the program token or server-to-server key, after the prefix of
    /// these; nil without one.
    package var session: String?
    /// The idempotency key of the request, which replaces the client's; nil unless the request is signed.
    package var requestKey: String?
    /// What the caller's program token or server-to-server key lets it do; nil for other callers.
    package var program: ProgramAccess?

    package init(
        account: String? = nil, address: String? = nil, isDeveloper: Bool = false, session: String? = nil,
        requestKey: String? = nil, program: ProgramAccess? = nil
    ) {
        self.program = program
        self.session = session
        self.requestKey = requestKey
        self.account = account
        self.address = address
        self.isDeveloper = isDeveloper
    }
}

extension Installation {
    /// Begins a session without a password, for a device or program, by an administrator's command.
    package func createSession(
        ofAccountNamed name: String, container: String, environment: ContainerEnvironment, label: String,
        by actor: AuditActor
    ) async throws(ServiceError) -> SignedIn {
        let (name, secret, now) = (SignInName.canonical(name), SecretToken(), self.environment.now())
        let expiry = try await write { transaction in
            let account = try transaction.requireInstallationAccount(named: name).id
            guard try transaction.entry(StoredContainer.self, container) != nil else {
                throw ServiceError.noContainer(container)
            }
            let session = StoredSession(
                account: account, container: container, environment: environment.rawValue,
                label: StoredSession.label(label), signedInAt: now, expiresAt: now + Limits.keptSessionLifetime,
                keepsSignedIn: true, epoch: try transaction.tokenEpoch())
            try transaction.put(session, hash: secret.hash)
            try self.audit("session made", account, by: actor, in: transaction)
            return session.expiresAt
        }
        return SignedIn(token: secret.text(), device: "", expiresAt: expiry)
    }

    package func sessionSummaries(ofAccountNamed name: String) async throws(ServiceError) -> [SessionSummary] {
        let (name, now) = (SignInName.canonical(name), environment.now())
        return try await read { reader in
            let account = try reader.requireInstallationAccount(named: name).id
            let epoch = try reader.tokenEpoch()
            return try reader.entries(AccountSession.self, prefix: "\(account)/").compactMap { entry, _ in
                let hash = String(entry.dropFirst(account.count + 1))
                guard let session = try reader.entry(StoredSession.self, hash), now < session.expiresAt,
                    session.epoch == epoch, try session.container.map(reader.hasContainer) ?? true
                else { return nil }
                return SessionSummary(
                    id: hash, account: name, container: session.container, environment: session.environment,
                    isOfBrowser: session.isOfBrowser, label: session.label, signedInAt: session.signedInAt,
                    expiresAt: session.expiresAt)
            }
        }
    }

    /// Ends one session of an account with those that it began, or all of them.
    /// - Parameters:
    ///   - id: the session's name; nil for all.
    ///   - withProgramTokens: whether all program tokens are revoked too.
    /// - Returns: the number of sessions that ended.
    package func endSessions(
        ofAccountNamed name: String, id: String?, withProgramTokens: Bool = false, by actor: AuditActor
    ) async throws(ServiceError) -> Int {
        try await endSessions(named: name, id, withProgramTokens: withProgramTokens, begins: nil, by: actor)
    }

    /// Begins the deletion of an account: its sessions and program tokens end, and it gets no new ones.
    func beginDeletion(
        ofAccountNamed name: String, erasesPublicRecords: Bool, by actor: AuditActor
    ) async throws(ServiceError) {
        let deletion = BegunDeletion(
            actor: actor.name, address: actor.address, erasesPublicRecords: erasesPublicRecords,
            begunAt: environment.now())
        _ = try await endSessions(named: name, nil, withProgramTokens: true, begins: deletion, by: actor)
    }

    private func endSessions(
        named name: String, _ id: String?, withProgramTokens: Bool, begins deletion: BegunDeletion?,
        by actor: AuditActor
    ) async throws(ServiceError) -> Int {
        let name = SignInName.canonical(name)
        let count = try await write { transaction in
            var (account, content) = try transaction.requireInstallationAccount(named: name)
            if let deletion {
                content.isBeingDeleted = true
                try transaction.put(deletion, account)
                try transaction.put(content, account)
                try self.audit("account deletion begun", account, by: actor, in: transaction)
            }
            let count: Int
            if let id {
                guard try transaction.installationEntry(.accountSession, AccountSession.name(account, id)) != nil else {
                    throw ServiceError.unknown("session", id, of: name, listedBy: "sessions list")
                }
                count = try transaction.endSession(id, of: account)
            } else {
                count = try transaction.endSessions(of: account)
            }
            try self.audit("sessions ended", account, by: actor, in: transaction)
            if withProgramTokens { try self.revokeProgramTokens(of: account, by: actor, in: transaction) }
            return count
        }
        sessions.evictAll()
        if withProgramTokens { programTokens.evictAll() }
        return count
    }

    /// Ends the session of a token, and those that it began: signing out. An unknown token is none.
    package func signOut(_ token: String) async throws(ServiceError) {
        guard let hash = SecretToken(token)?.hash else { return }
        guard try await read({ try $0.installationEntry(.session, hash) }) != nil else { return }
        try await write { transaction in
            guard let session = try transaction.entry(StoredSession.self, hash) else { return }
            try transaction.endSession(hash, of: session.account)
            try self.audit("signed out", session.account, by: AuditActor(name: session.account), in: transaction)
        }
        sessions.evictAll()
    }

    /// Begins a session of a request's account for another program or page, in the same container and environment.
    /// - Throws: `notAuthenticated` for an API token that is not the container's, or that allows no sign-in.
    package func webAuthToken(
        apiToken text: String, _ context: RequestContext
    ) async throws(ServiceError) -> String {
        guard let account = context.account else { throw .authenticationRequired }
        let place = try await place(of: SignIn(name: "", password: "", apiToken: text))
        guard let place,
            place.isValid(
                container: context.container, environment: context.environment.rawValue, at: environment.now())
        else { throw .invalidAPIToken }
        let secret = SecretToken()
        let request = SignIn(name: "", password: "", apiToken: text, label: "app")
        try await write { transaction in
            guard let session = context.session else { throw ServiceError.sessionIsOver }
            try self.begin(request, account, place, secret, isOfBrowser: false, from: session, in: transaction)
        }
        return secret.text()
    }

    // MARK: Requests

    /// Returns the caller of a request to a container.
    /// - Throws: `notAuthenticated` for an API token that is not the container's or not the page's
    ///   (`AUTHENTICATION_FAILED`), and for a session that is over (`AUTHENTICATION_REQUIRED`).
    package func caller(
        container: String, environment: ContainerEnvironment, apiToken text: String?, token: String?, origin: String?
    ) async throws(ServiceError) -> SignedInCaller {
        if let token, let caller = try await caller(container: container, environment, program: token, origin: origin) {
            return caller
        }
        guard let text, let apiToken = try await apiToken(text),
            apiToken.isValid(container: container, environment: environment.rawValue, at: self.environment.now())
        else { throw .invalidAPIToken }
        try apiToken.checkOrigin(origin)
        guard let token else {
            try rates.admit(apiToken: text)
            return SignedInCaller()
        }
        guard apiToken.allowsSignIn else { throw .noSignIn }
        let session = try await session(token)
        guard session.session.container == container, session.session.environment == environment.rawValue else {
            throw .sessionIsOver
        }
        try rates.admit(account: session.session.account)
        let isDeveloper =
            session.roles[container] == .developer || session.roles[StoredRole.everyContainer] == .administrator
        return SignedInCaller(
            account: session.session.account, address: session.address, isDeveloper: isDeveloper, session: session.hash)
    }

    /// Runs `body`, which may take long, while a session, a program token or a server-to-server key lives.
    /// - Parameters:
    ///   - session: its name (`SignedInCaller.session`).
    ///   - body: takes the ID of its account.
    /// - Throws: `notAuthenticated` if the session is over, or ends meanwhile: then `body`'s task is cancelled.
    package func whileLive<T: Sendable>(
        _ session: String, _ body: @escaping @Sendable (_ account: String) async -> T
    ) async throws(ServiceError) -> T {
        let account = try await account(ofLive: session)
        let outcome = await withTaskGroup(of: T?.self) { group in
            group.addTask { await body(account) }
            group.addTask {
                while (try? await self.environment.sleep(milliseconds: Limits.credentialRecheck)) != nil {
                    if await self.isOver(session) { return nil }
                }
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
        guard let outcome else { throw .sessionIsOver }
        return outcome
    }

    /// Returns the ID of the account of a session, a program token or a server-to-server key, by its name.
    /// - Throws: `notAuthenticated` if it is over.
    private func account(ofLive session: String) async throws(ServiceError) -> String {
        if session.hasPrefix(StoredProgramToken.prefix) {
            return try await account(ofLiveProgram: String(session.dropFirst(StoredProgramToken.prefix.count)))
        }
        if session.hasPrefix(StoredServerKey.sessionPrefix) {
            return try await account(ofLiveServerKey: String(session.dropFirst(StoredServerKey.sessionPrefix.count)))
        }
        return try await self.session(hash: session, isUsed: false).session.account
    }

    /// Whether a session, a program token or a server-to-server key is over, by its name. One that cannot be read now is not: it is read again.
    package func isOver(_ session: String) async -> Bool {
        do throws(ServiceError) {
            _ = try await account(ofLive: session)
            return false
        } catch {
            return error.clientCode == .notAuthenticated
        }
    }

    /// Returns the administrator whose session the token belongs to.
    /// - Parameter isUsed: whether the caller showed the token now, which moves the expiry and counts for the rate.
    package func administrator(_ token: String, isUsed: Bool = true) async throws(ServiceError) -> Administrator {
        guard let hash = SecretToken(token)?.hash else { throw .sessionIsOver }
        let session = try await session(hash: hash, isUsed: isUsed)
        guard session.session.container == nil, session.session.isOfBrowser != true else { throw .sessionIsOfAnApp }
        if isUsed { try rates.admit(account: session.session.account) }
        return .account(
            id: session.session.account, roles: session.roles, authenticatedAt: session.session.lastAuthenticatedAt)
    }

    /// Whether web pages of an origin may read the answers to requests with an API token.
    package func allows(origin: String, apiToken text: String) async -> Bool {
        guard let token = try? await apiToken(text) else { return false }
        return (try? token.checkOrigin(origin)) != nil
    }

    /// The account of a token whose session is cached; nil otherwise. For decisions that may be wrong.
    package func cachedAccount(_ token: String) -> String? {
        SecretToken(token).flatMap { sessions.cached($0.hash) }?.session.account ?? cachedProgramAccount(token)
    }

    func apiToken(_ text: String) async throws(ServiceError) -> APIToken? {
        guard text.utf8.count == 64 else { return nil }
        return try await apiTokens.value(text) { () async throws(ServiceError) in
            try await read { reader in
                guard let token = try reader.entry(APIToken.self, text), try reader.hasContainer(token.container) else {
                    return nil
                }
                return token
            }
        }
    }

    /// Returns the session of a token, and moves its expiry if half of its lifetime is over.
    func session(_ token: String) async throws(ServiceError) -> SignedInSession {
        guard let hash = SecretToken(token)?.hash else { throw .sessionIsOver }
        return try await session(hash: hash)
    }

    /// - Parameter isUsed: whether the caller showed the secret, which moves the expiry.
    private func session(hash: String, isUsed: Bool = true) async throws(ServiceError) -> SignedInSession {
        let found = try await sessions.value(hash) { () async throws(ServiceError) in
            try await read { [lostEpochs] reader in
                guard let session = try reader.entry(StoredSession.self, hash),
                    try lostEpochs.isCurrent(session, reader),
                    let account = try reader.liveInstallationAccount(session.account),
                    try session.container.map(reader.hasContainer) ?? true
                else { return nil }
                let roles = try reader.entries(StoredRole.self, prefix: "\(session.account)/").map {
                    (String($0.name.dropFirst(session.account.count + 1)), $0.value.role)
                }
                .filter { container, _ in
                    if container == StoredRole.everyContainer { return true }
                    // A session of an app needs no other role.
                    return try session.container.map { $0 == container } ?? reader.hasContainer(container)
                }
                return SignedInSession(
                    hash: hash, session: session, name: account.name, address: account.address,
                    roles: Dictionary(roles, uniquingKeysWith: { $1 }))
            }
        }
        let now = environment.now()
        guard let found, now < found.session.expiresAt else { throw .sessionIsOver }
        if isUsed, let used = found.session.used(at: now) { await extend(used, hash) }
        return found
    }

    /// Stores the new expiry of a session, unless the session ended meanwhile. A failure costs nothing: the next request
    /// tries again.
    private func extend(_ used: StoredSession, _ hash: String) async {
        do {
            try await write { transaction in
                guard var session = try transaction.entry(StoredSession.self, hash),
                    session.expiresAt < used.expiresAt
                else { return }
                session.expiresAt = used.expiresAt
                try transaction.put(session, hash: hash)
            }
            sessions.evict(hash)
        } catch {
            environment.log("a session's expiry was not moved: \(error.reason)")
        }
    }
}

extension ServiceError {
    /// The refusal of a token whose session ended, expired, never was, or is another container's.
    static let sessionIsOver = ServiceError(
        .authenticationRequired, .notAuthenticated, "the session is over, or the token is not valid: sign in")
    /// The refusal of an app's or a page's session by the administration.
    fileprivate static let sessionIsOfAnApp = ServiceError(
        .authenticationRequired, .notAuthenticated,
        "the session is an app's: the administration needs one of its own, and a role (nephos login without --api-token)"
    )
}
