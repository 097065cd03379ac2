import NephosCrypto
package import NephosStorage
import NephosThreads

/// What all containers of an installation have in common: accounts, sessions, API tokens, roles. Its store is one more
/// store of the provider, so backups, migrations and failovers include it.
///
/// Credentials are cached for `Limits.credentialRecheck`, so a revocation holds on every server after that time, whether
/// servers hear of each other or not.
package final class Installation: Sendable {
    let engine: any StorageEngine
    let environment: ServiceEnvironment
    /// Hashes passwords, after other work: a hash takes much memory and time, and callers need no account to cause one.
    let passwordPool: BlockingPool
    /// The hash of no password, which is verified for names that do not exist.
    let noPassword: String
    let signInPlaces = SignInPlaces()
    let apiTokens = RecheckedCache<APIToken>(limit: Limits.cachedCredentials)
    let sessions = RecheckedCache<SignedInSession>(limit: Limits.cachedCredentials)
    let serverKeys = RecheckedCache<StoredServerKey>(limit: Limits.cachedCredentials)
    let programTokens = RecheckedCache<KnownProgramToken>(limit: Limits.cachedCredentials)
    let lostEpochs: LostEpochs
    let rates: RateLimiters
    let people: PeopleSettings
    let providerClients: [String: ProviderClient]
    /// The requests to providers under way.
    let providerPlaces = SignInPlaces()
    let refusals = RefusalCounts()
    let claims = RateLimit<String>(perMinute: Limits.claimsPerMinute)
    /// The key that authenticates the texts that the installation gives out.
    let key: AuthenticationKey

    private init(
        _ engine: any StorageEngine, _ environment: ServiceEnvironment, _ key: AuthenticationKey, _ rates: RequestRates,
        _ people: PeopleSettings, _ passwordPool: BlockingPool, noPassword: String
    ) {
        self.engine = engine
        self.passwordPool = passwordPool
        self.noPassword = noPassword
        self.people = people
        self.key = key
        self.rates = RateLimiters(rates)
        let environment = environment.following(engine)
        self.environment = environment
        providerClients = people.providers.clients(now: environment.now)
        lostEpochs = LostEpochs(log: environment.log)
    }

    /// Opens the installation's store, and creates it on first use.
    /// - Parameters:
    ///   - rates: the rates above which requests are refused.
    ///   - people: what people may do without an administrator.
    ///   - duringAdoption: whether the names of `nephos dev` may still lack accounts.
    /// - Throws: `StorageError`: `.otherVersion` if they do, and may not.
    package static func open(
        _ provider: any StoreProvider, _ environment: ServiceEnvironment = .system,
        rates: RequestRates = RequestRates(), people: PeopleSettings = PeopleSettings(), duringAdoption: Bool = false
    ) async throws -> Installation {
        let (engine, others) = try await BlockingPool.disk.run {
            (try provider.open(.installation), try provider.existingStores().filter { !$0.isInstallation })
        }
        do {
            if !duringAdoption { try await UnfinishedAdoption.check(engine, others) { try provider.open($0) } }
            // Expiries are compared with the database's clock, and people's with this one.
            try checkClock(engine.clockOffset)
            // The token epoch is beside the secret, and advances only where there is one.
            var key = try await engine.read { try StoreSecret.find($0) }
            if key == nil {
                key = try await engine.write(of: [.everyone]) { try StoreSecret.findOrMake(environment, in: $0) }
            }
            guard let key else { throw StorageError(.other, "the installation has no secret") }
            try await AddressUpgrade.run(engine, at: environment.now())
            let passwordPool = BlockingPool("password", .init(threads: 2, hasLowPriority: true))
            let noPassword = try await passwordPool.run {
                PasswordHash.make(SecretToken.randomName(), environment.passwordCost)
            }
            guard let noPassword else { throw StorageError(.other, "there is no memory to hash passwords") }
            return Installation(engine, environment, key, rates, people, passwordPool, noPassword: noPassword)
        } catch {
            await engine.close()
            throw error
        }
    }

    /// Tests whether writes to the store of accounts commit, as a sign-in needs.
    package func testWriting() async throws {
        try await engine.write(of: [.everyone]) { try $0.testWritingEntries() }
    }

    /// Reads what a start reads of the store of accounts.
    /// - Throws: `StorageError` if it cannot be read.
    package static func testReading(_ engine: any StorageEngine) async throws {
        try await engine.read { reader in
            _ = try StoreSecret.find(reader)
            for kind in [InstallationEntry.Kind.account, .container, .apiToken] {
                _ = try reader.installationEntries(kind, after: "", limit: 1)
            }
        }
    }

    /// - Parameter offset: how far the database's clock is ahead of this machine's, in milliseconds.
    /// - Throws: `StorageError` for a difference with which no server starts.
    package static func checkClock(_ offset: Int64) throws {
        guard abs(offset) < Limits.clockDifference else {
            throw StorageError(
                .other,
                "this machine's clock is \(abs(offset) / 1000) seconds \(offset > 0 ? "behind" : "ahead of") the database's: set it"
            )
        }
    }

    package func close() async { await engine.close() }

    /// Returns another text of a token. All texts of a session's secret are valid until the session ends, so that
    /// processes and tabs do not sign each other out; nothing is written for it.
    package static func anotherText(of token: String) -> String? { SecretToken(token)?.text() }

    /// Returns a random text that no page can guess.
    package static func makeNonce() -> String { SecretToken.randomName() }

    /// Returns the token of a page's forms, which only who knows the browser's secret can make.
    package static func formToken(of page: String, secret: String) -> String {
        SecretToken.hash(of: "\(secret) \(page)")
    }

    /// Returns once no server accepts sessions that ended before.
    func waitForRecheck() async throws {
        if engine.isShared { try await environment.sleep(milliseconds: Limits.credentialRecheck) }
    }

    func read<T: Sendable>(
        _ body: @escaping @Sendable (StorageReader) throws -> T
    ) async throws(ServiceError) -> T {
        do { return try await engine.read(body) } catch {
            throw environment.translate(error, requestID: "installation")
        }
    }

    /// Runs a write. All entries have one owner, so the writes of all servers run one after another.
    func write<T: Sendable>(
        _ body: @escaping @Sendable (StorageTransaction) throws -> T
    ) async throws(ServiceError) -> T {
        do {
            return try await engine.write(of: [.everyone], body)
        } catch {
            throw environment.translate(error, requestID: "installation")
        }
    }

    /// Removes expired entries at intervals until the task is cancelled, by a clock that runs steadily.
    package func purgeExpired() async {
        let interval = Limits.shortestPurgeInterval
        var clock = SteadyClock(at: environment.now())
        while (try? await environment.sleep(milliseconds: interval)) != nil {
            let now = environment.now()
            guard clock.isSteady(at: now, elapsed: interval) else { continue }
            do { try await purge(expiredBy: now) } catch { environment.log("purging expired sessions: \(error)") }
        }
    }

    private func purge(expiredBy time: Int64) async throws {
        let limit = Limits.entriesPerPurge
        var removed = limit
        while removed == limit {
            removed = try await engine.write(of: [.everyone]) {
                try $0.purgeInstallationEntries(expiredBy: time, limit: limit)
            }
        }
    }
}

/// The origin of a change of the installation, for the audit.
package struct AuditActor: Hashable, Sendable {
    /// The account's ID, or the user of this machine, such as `user 0`.
    package var name: String
    /// The network address; empty for a user of this machine.
    package var address: String

    package init(name: String, address: String = "") {
        self.name = name
        self.address = address
    }
}
