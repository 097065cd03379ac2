import NephosCrypto
import NephosStorage
import NephosWire

/// A program token, as its account and the administration see it.
package struct ProgramTokenSummary: Codable, Hashable, Sendable {
    /// The token's name: the hash of its secret, which signs no caller in.
    package var id: String
    package var name: String
    package var places: [ProgramPlace]
    /// Of `private`, `shared` and `public`.
    package var databases: [String]
    package var isReadOnly: Bool
    package var createdAt: Int64
    package var expiresAt: Int64
}

/// A new program token. Its text is shown once.
package struct MadeProgramToken: Codable, Sendable {
    package var token: String
    package var programToken: ProgramTokenSummary
}

/// What a program token is to be.
package struct NewProgramToken: Sendable {
    package var name: String
    package var places: [ProgramPlace]
    package var databases: [String]
    package var isReadOnly: Bool
    /// The time in milliseconds after which it expires; nil for 90 days.
    package var lifetime: Int64?

    package init(
        name: String, places: [ProgramPlace], databases: [String], isReadOnly: Bool, lifetime: Int64? = nil
    ) {
        self.name = name
        self.places = places
        self.databases = databases
        self.isReadOnly = isReadOnly
        self.lifetime = lifetime
    }

    /// - Throws: `invalidArguments` for a token without a name, a container or a database, and for a lifetime that is too
    ///   long.
    fileprivate func check() throws(ServiceError) {
        guard !name.isEmpty else { throw .invalid("a program token has a name, by which its account knows it") }
        guard (1...Limits.placesPerProgramToken).contains(places.count) else {
            throw .invalid("a program token reaches 1 to \(Limits.placesPerProgramToken) containers and environments")
        }
        guard places.allSatisfy({ ContainerEnvironment(rawValue: $0.environment) != nil }) else {
            throw .invalid("the environment is 'development' or 'production'")
        }
        guard !databases.isEmpty, databases.allSatisfy({ DatabaseScope(rawValue: $0) != nil }) else {
            throw .invalid("a program token reaches some of the databases 'private', 'shared' and 'public'")
        }
        guard (1...Limits.longestProgramToken).contains(lifetime ?? Limits.programTokenLifetime) else {
            throw .invalid(
                "a program token expires after \(Limits.longestProgramToken / 86_400_000) days at the latest")
        }
    }
}

extension Installation {
    /// Makes a program token of an account, by an administrator.
    /// - Throws: `unknownItem` without the account; `badContainer` for a container that does not exist.
    package func createProgramToken(
        _ new: NewProgramToken, ofAccountNamed name: String, by actor: AuditActor
    ) async throws(ServiceError) -> MadeProgramToken {
        try new.check()
        let (name, secret) = (SignInName.canonical(name), SecretToken())
        return try await write { transaction in
            let account = try transaction.requireInstallationAccount(named: name).id
            for place in new.places where try transaction.entry(StoredContainer.self, place.container) == nil {
                throw ServiceError.noContainer(place.container)
            }
            return try self.make(new, of: account, secret, by: actor, in: transaction)
        }
    }

    /// Makes a program token of the browser's account, for apps that the account is signed in to.
    /// - Throws: `notAuthenticated` if the browser signed in too long ago; `invalidArguments` for another app.
    package func createProgramToken(
        _ new: NewProgramToken, of browser: BrowserSession, address: [UInt8]
    ) async throws(ServiceError) -> MadeProgramToken {
        try new.check()
        let (now, secret) = (environment.now(), SecretToken())
        let actor = AuditActor(name: browser.account, address: SignInCounters.network(address) ?? "")
        return try await write { transaction in
            guard let session = try transaction.entry(StoredSession.self, browser.id) else {
                throw ServiceError.sessionIsOver
            }
            try Administrator.checkIsRecent(session.lastAuthenticatedAt, at: now)
            let known = try transaction.places(of: browser.account, at: now)
            guard new.places.allSatisfy(known.contains) else {
                throw ServiceError.invalid("a program token reaches apps that you are signed in to")
            }
            return try self.make(new, of: browser.account, secret, by: actor, in: transaction)
        }
    }

    /// The containers and environments that the browser's account is signed in to, which its program tokens may reach.
    package func programPlaces(of browser: BrowserSession) async throws(ServiceError) -> [ProgramPlace] {
        let now = environment.now()
        return try await read { reader in
            try reader.places(of: browser.account, at: now).sorted {
                ($0.container, $0.environment) < ($1.container, $1.environment)
            }
        }
    }

    private func make(
        _ new: NewProgramToken, of account: String, _ secret: SecretToken, by actor: AuditActor,
        in transaction: StorageTransaction
    ) throws -> MadeProgramToken {
        try transaction.requireNoDeletion(of: account)
        let present = try transaction.entries(AccountProgramToken.self, prefix: "\(account)/").count
        guard present < Limits.programTokensOfAccount else {
            throw ServiceError.limitExceeded(
                "an account has at most \(Limits.programTokensOfAccount) program tokens: revoke one")
        }
        let now = environment.now()
        let token = StoredProgramToken(
            account: account, name: StoredSession.label(new.name), places: new.places, databases: new.databases,
            isReadOnly: new.isReadOnly, createdAt: now,
            expiresAt: now + (new.lifetime ?? Limits.programTokenLifetime), epoch: try transaction.tokenEpoch())
        try transaction.put(token, hash: secret.hash)
        try audit("program token made", account, by: actor, in: transaction)
        try note(.programTokenMade, of: account, in: transaction)
        return MadeProgramToken(
            token: StoredProgramToken.prefix + secret.text(), programToken: Self.summary(secret.hash, token))
    }

    /// Lists the program tokens of an account that have not expired.
    package func programTokenSummaries(
        ofAccountNamed name: String
    ) async throws(ServiceError) -> [ProgramTokenSummary] {
        let (name, now) = (SignInName.canonical(name), environment.now())
        return try await read { reader in
            let account = try reader.requireInstallationAccount(named: name).id
            let epoch = try reader.tokenEpoch()
            return try reader.entries(AccountProgramToken.self, prefix: "\(account)/").compactMap { entry, _ in
                let hash = String(entry.dropFirst(account.count + 1))
                guard var token = try reader.entry(StoredProgramToken.self, hash), now < token.expiresAt,
                    token.epoch == epoch
                else { return nil }
                token.places = try token.places.filter { try reader.hasContainer($0.container) }
                if token.places.isEmpty { return nil }
                return Self.summary(hash, token)
            }
        }
    }

    /// Revokes a program token of an account, or all of them.
    /// - Parameter id: the token's name; nil for all.
    /// - Returns: the number of tokens that were revoked.
    /// - Throws: `unknownItem` if the account has no such token.
    package func revokeProgramTokens(
        ofAccountNamed name: String, id: String?, by actor: AuditActor
    ) async throws(ServiceError) -> Int {
        let name = SignInName.canonical(name)
        let count = try await write { transaction in
            let account = try transaction.requireInstallationAccount(named: name).id
            let count = try self.revokeProgramTokens(of: account, id: id, by: actor, in: transaction)
            if count == 0, let id {
                throw ServiceError.unknown("program token", id, of: name, listedBy: "program-tokens list")
            }
            return count
        }
        programTokens.evictAll()
        return count
    }

    @discardableResult
    func revokeProgramTokens(
        of account: String, id: String? = nil, by actor: AuditActor, in transaction: StorageTransaction
    ) throws -> Int {
        let count = try transaction.revokeProgramTokens(of: account, id: id)
        if count > 0 {
            try audit("program tokens revoked", account, by: actor, in: transaction)
            try note(.programTokensRevoked, of: account, in: transaction)
        }
        return count
    }

    private static func summary(_ hash: String, _ token: StoredProgramToken) -> ProgramTokenSummary {
        ProgramTokenSummary(
            id: hash, name: token.name, places: token.places, databases: token.databases,
            isReadOnly: token.isReadOnly, createdAt: token.createdAt, expiresAt: token.expiresAt)
    }

    // MARK: Requests

    /// The refusal of a program token that expired, was revoked, never was, or does not reach the container.
    private static let invalidProgramToken = ServiceError(
        .authenticationRequired, .notAuthenticated,
        "the program token has expired, is revoked, or does not reach this container and environment")

    /// Returns the caller of a request with a program token; nil for another token. An API token besides is not looked at.
    /// - Throws: `notAuthenticated` for a token that is not valid here, and for the request of a web page.
    func caller(
        container: String, _ environment: ContainerEnvironment, program text: String, origin: String?
    ) async throws(ServiceError) -> SignedInCaller? {
        guard text.hasPrefix(StoredProgramToken.prefix) else { return nil }
        guard origin == nil else {
            throw ServiceError(
                .authenticationFailed, .notAuthenticated, "a program token is for programs, not for web pages")
        }
        let place = ProgramPlace(container: container, environment: environment.rawValue)
        guard let hash = Self.programHash(text), let known = try await programToken(hash),
            self.environment.now() < known.token.expiresAt, known.token.places.contains(place)
        else { throw Self.invalidProgramToken }
        try rates.admit(account: known.token.account)
        return SignedInCaller(
            account: known.token.account, address: known.address, session: StoredProgramToken.prefix + hash,
            program: ProgramAccess(
                isReadOnly: known.token.isReadOnly,
                databases: Set(known.token.databases.compactMap(DatabaseScope.init(rawValue:)))))
    }

    /// - Throws: `notAuthenticated` for a token that expired or was revoked.
    func account(ofLiveProgram hash: String) async throws(ServiceError) -> String {
        guard let known = try await programToken(hash), environment.now() < known.token.expiresAt else {
            throw Self.invalidProgramToken
        }
        return known.token.account
    }

    /// The account of a program token that is cached; nil otherwise. For decisions that may be wrong.
    func cachedProgramAccount(_ text: String) -> String? {
        Self.programHash(text).flatMap(programTokens.cached)?.token.account
    }

    private static func programHash(_ text: String) -> String? {
        guard text.hasPrefix(StoredProgramToken.prefix) else { return nil }
        return SecretToken(String(text.dropFirst(StoredProgramToken.prefix.count)))?.hash
    }

    private func programToken(_ hash: String) async throws(ServiceError) -> KnownProgramToken? {
        try await programTokens.value(hash) { () async throws(ServiceError) in
            try await read { reader in
                guard var token = try reader.entry(StoredProgramToken.self, hash),
                    try token.epoch == reader.tokenEpoch(),
                    let account = try reader.liveInstallationAccount(token.account)
                else { return nil }
                token.places = try token.places.filter { try reader.hasContainer($0.container) }
                if token.places.isEmpty { return nil }
                return KnownProgramToken(token: token, address: account.address)
            }
        }
    }
}

extension StorageReader {
    /// The containers and environments that an account is signed in to.
    fileprivate func places(of account: String, at now: Int64) throws -> Set<ProgramPlace> {
        let epoch = try tokenEpoch()
        let places = try entries(AccountSession.self, prefix: "\(account)/").compactMap { entry, _ -> ProgramPlace? in
            guard let session = try self.entry(StoredSession.self, String(entry.dropFirst(account.count + 1))),
                now < session.expiresAt, session.epoch == epoch, let container = session.container,
                let environment = session.environment, try hasContainer(container)
            else { return nil }
            return ProgramPlace(container: container, environment: environment)
        }
        return Set(places)
    }
}
