import NephosCrypto
import NephosStorage
import NephosWire

/// The store of one container in one environment, with its caches and background jobs.
final class Store: Sendable {
    let id: StoreID
    let engine: any StorageEngine
    /// The key that authenticates the store's tokens and continuation markers.
    let key: AuthenticationKey
    /// The epoch and the lost sequences, which decide which tokens are valid.
    let validity: TokenEpoch
    /// The asset files of the store's records.
    let assets: StoreAssets
    /// Encodes and decodes the tokens in asset addresses and receipts.
    let tokens: AssetTokens
    let accounts = Accounts()
    let indexes = IndexCatalog()
    let schemas = SchemaCatalog()
    let plannedQueries = PlannedQueries()
    let longReads = LongReads()
    let background: BackgroundWork
    let indexBuilder: IndexBuilder
    let watched = SubscriptionIndex()
    let quota: RecordQuota
    let measuring = WorkLoop()
    /// Wakes the next measurement of full databases from which something was deleted.
    let quotaTimer = RetryTimer()
    let signedOutcomes: SignedOutcomes
    let lookups = RateLimit<Int64>(perMinute: Limits.participantLookupsPerMinute)
    let notifier: Notifier
    let longPolls: LongPollRegistry
    let fanOut: NotificationFanOut
    let dispatcher: OutboxDispatcher
    let environment: ServiceEnvironment
    private let worksInBackground: Bool
    /// Whether saves add record types and fields to the schema.
    private let extendsSchema: Bool
    /// Returns the name of a new account's user record, for an account name; nil for random names.
    private let userRecordName: (@Sendable (String) -> String)?

    init(
        id: StoreID, engine: any StorageEngine, files: any AssetStore, _ prepared: Prepared,
        environment: ServiceEnvironment, configuration: ServiceConfiguration, quota: RecordQuota,
        observer: NotificationObserver, userRecordName: (@Sendable (String) -> String)? = nil
    ) {
        self.id = id
        self.userRecordName = userRecordName
        self.engine = engine
        key = prepared.key
        validity = prepared.validity
        tokens = AssetTokens(key: key, place: id)
        assets = StoreAssets(files, engine, environment, databaseLimit: configuration.assetBytesPerDatabase)
        self.quota = quota
        signedOutcomes = SignedOutcomes(bounds: configuration.outcomes)
        let environment = environment.following(engine)
        self.environment = environment
        worksInBackground = configuration.worksInBackground
        extendsSchema = configuration.extendsSchema && id.environment == ContainerEnvironment.development.rawValue
        notifier = Notifier(watched: watched)
        longPolls = LongPollRegistry(environment, pollDuration: configuration.pollDuration)
        dispatcher = OutboxDispatcher(
            id: id, engine: engine, environment: environment, accounts: accounts, schemas: schemas,
            configuration: configuration)
        fanOut = NotificationFanOut(
            id: id, engine: engine, environment: environment, accounts: accounts, schemas: schemas,
            outlets: configuration.notifications, observer: observer,
            deliver: { [longPolls, dispatcher] notices in
                if !notices.polled.isEmpty {
                    longPolls.wake(notices.polled)
                    engine.signalOthers(.polls)
                }
                if notices.hasDue { dispatcher.wake() }
            })
        background = BackgroundWork(
            engine: engine, environment: environment, indexes: indexes, accounts: accounts, notifier: notifier,
            retention: configuration.deletionRetention, outcomeBounds: configuration.outcomes,
            tellSubscribers: { [fanOut] in fanOut.wake() })
        indexBuilder = IndexBuilder(engine: engine, catalog: indexes, accounts: accounts, environment: environment)
    }

    /// Returns the caller of a request. An unknown account is created.
    func caller(_ context: RequestContext) async throws -> Caller {
        var account: AccountRow? = if let name = context.account { try await account(named: name) } else { nil }
        if let address = context.address { account?.address = address }
        return caller(account, context.scope, context)
    }

    /// Returns a caller with which an administrator sees the records of an account, or the public ones without an account.
    func caller(viewing account: AccountRow?, _ context: RequestContext) -> Caller {
        caller(account, account == nil ? .public : .private, context)
    }

    /// Returns the caller of a database with an existing account.
    func caller(_ account: AccountRow?, _ scope: DatabaseScope, _ context: RequestContext) -> Caller {
        Caller(
            scope: scope, account: account, session: context.session, clientID: context.clientID,
            requestID: context.requestID, storeID: id, key: key, validity: validity,
            assets: AssetAddresses(
                tokens, baseURL: context.baseURL, account: account?.id ?? 0, now: environment.now(),
                hasAssets: assets.hasAssets, databaseLimit: assets.databaseLimit),
            schemaGrowth: !extendsSchema ? .none : context.mayExtendSchema ? .open : .developersOnly)
    }

    private func account(named name: String) async throws -> AccountRow {
        if let account = accounts.cached(named: name) { return account }
        let (environment, userRecordName) = (self.environment, userRecordName?(name))
        let account = try await engine.write(of: [.everyone]) { transaction in
            transaction.mayRepeat()
            return try Accounts.findOrMake(name, userRecordName: userRecordName, environment, in: transaction)
        }
        accounts.remember(account)
        return account
    }

    /// Runs a write for the caller.
    /// - Parameter owners: the owners whose rows it changes; those of the caller's database if nil.
    /// - Throws: `notAuthenticated` if the caller's account was deleted meanwhile.
    func write<T: Sendable>(
        by caller: Caller, of owners: Set<OwnerID>? = nil,
        _ body: @escaping @Sendable (StorageTransaction) throws -> T
    ) async throws -> T {
        let owners = owners ?? caller.owner.map { [$0] } ?? []
        return try await engine.write(of: owners) { [accounts] transaction in
            try accounts.checkLives(caller.account, transaction)
            return try body(transaction)
        }
    }

    /// Runs a read for the caller. A read that does more work than a short read restarts as a long read, queued behind
    /// the reader's other long reads. So does every later read of a request that has already done as much work.
    /// - Throws: `notAuthenticated` if the caller's account was deleted meanwhile, on any server.
    func read<T: Sendable>(
        by caller: Caller, expecting length: ReadLength = .short,
        _ body: @escaping @Sendable (StorageReader) throws -> T
    ) async throws -> T {
        let checked = { @Sendable [accounts] (reader: StorageReader) in
            try accounts.checkLives(caller.account, reader)
            return try body(reader)
        }
        if (RequestTimes.current?.readWork ?? 0) < ReadMeter.shortRead {
            do { return try await engine.read(expecting: length, checked) } catch is LongRead {}
        }
        let reader: LongReads.Reader =
            caller.account.map { .account($0.id) } ?? .address(RequestTimes.current?.client ?? [])
        return try await longReads.read(by: reader) { try await engine.read(expecting: .long, checked) }
    }

    /// The content of a store that is read when the store opens.
    struct Prepared: Sendable {
        var key: AuthenticationKey
        var validity: TokenEpoch
    }

    /// Creates the initial content of a store if it is missing: the store's secret, and the default zone of its public
    /// database.
    /// - Parameter promise: the content that a draft promised before the store was made; nil without a draft.
    static func prepare(
        _ engine: any StorageEngine, _ environment: ServiceEnvironment, _ promise: Draft.Promise? = nil
    ) async throws -> Prepared {
        let known = try await engine.read { reader -> Prepared? in
            guard try reader.zone(owner: .everyone, named: ZoneIDDictionary.defaultZoneName) != nil,
                let key = try StoreSecret.find(reader)
            else { return nil }
            return Prepared(key: key, validity: try TokenEpoch(reader))
        }
        if let known { return known }
        return try await engine.write { transaction in
            transaction.mayRepeat()
            try transaction.runAlone()
            // The write that makes the store commits after this.
            try transaction.commitAsynchronously()
            _ = try ZoneRegistry.defaultZone(owner: .everyone, in: transaction)
            try transaction.insertRecordType(SystemRecordType.user)
            if let promise, try transaction.secret() == nil {
                try transaction.setSecret(promise.secret)
                try promise.keep(environment, in: transaction)
            }
            return Prepared(
                key: try StoreSecret.findOrMake(environment, in: transaction), validity: try TokenEpoch(transaction))
        }
    }

    /// Resumes the work that an earlier process left. A new store has none.
    func resume(isNew: Bool) async throws {
        try await engine.read { [watched] in try watched.load($0) }
        try await assets.resume()
        if !isNew { await continueInBackground() }
        guard engine.isShared else { return }
        engine.onSignals { [weak self] signals in self?.hear(signals) }
    }

    /// Wakes the background jobs for work that another server left or may have left.
    private func hear(_ signals: StoreSignals) {
        if signals.contains(.polls) { longPolls.look(in: engine) }
        guard signals.contains(.work), worksInBackground else { return }
        Task { await continueInBackground() }
    }

    /// Wakes all background jobs that may have work.
    func continueInBackground() async {
        guard worksInBackground else { return }
        background.wake()
        assets.collectIfDue()
        fanOut.wake()
        dispatcher.wake()
        await indexBuilder.resume()
    }

    /// Whether the store is idle: it has no polls, uploads, jobs, notifications or index builds.
    func isIdle() async -> Bool {
        guard longPolls.waiting == 0, assets.uploads.isEmpty else { return false }
        let hasWork = try? await engine.read { reader in
            try !reader.jobs(limit: 1).isEmpty || reader.lastChangeEvent() != nil
                || !reader.dueOutbox(at: .max, limit: 1).isEmpty
                || !reader.indexDefinitions().allSatisfy(\.isReady)
        }
        return hasWork == false
    }

    func close() async {
        longPolls.close()
        await background.close()
        await assets.stop()
        await fanOut.close()
        await dispatcher.close()
        await indexBuilder.close()
        quotaTimer.cancel()
        await measuring.close()
        await engine.close()
        assets.close()
    }
}
