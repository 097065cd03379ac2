import NephosStorage
import NephosWire

/// One container's store in one environment, with what the service keeps of it in memory.
final class Store: Sendable {
    let engine: any StorageEngine
    let accounts = Accounts()
    let indexes = IndexCatalog()
    let schemas = SchemaCatalog()
    let preparedQueries = PreparedQueries()
    let background: BackgroundWork
    let indexBuilder: IndexBuilder
    let watched = WatchedDatabases()
    let notifier: Notifier
    let courier: Courier
    let dispatcher: OutboxDispatcher
    private let environment: ServiceEnvironment
    private let worksInBackground: Bool

    init(
        id: StoreID, engine: any StorageEngine, environment: ServiceEnvironment, configuration: ServiceConfiguration
    ) {
        self.engine = engine
        self.environment = environment
        worksInBackground = configuration.worksInBackground
        notifier = Notifier(
            container: id.container, environment: environment, accounts: accounts, watched: watched,
            outlets: configuration.notifications)
        courier = Courier(environment, pollDuration: configuration.pollDuration)
        dispatcher = OutboxDispatcher(
            id: id, engine: engine, environment: environment, accounts: accounts, configuration: configuration)
        background = BackgroundWork(
            engine: engine, environment: environment, indexes: indexes, accounts: accounts, notifier: notifier,
            retention: configuration.deletionRetention,
            deliver: { [courier, dispatcher] in Self.deliver($0, courier, dispatcher) })
        indexBuilder = IndexBuilder(engine: engine, catalog: indexes, accounts: accounts, environment: environment)
    }

    /// Who asks: an account is made when it is first seen.
    func caller(_ context: RequestContext) async throws -> Caller {
        var caller = Caller(
            scope: context.scope, account: nil, clientID: context.clientID, requestID: context.requestID)
        guard let name = context.account else { return caller }
        if let account = accounts.cached(named: name) {
            caller.account = account
            return caller
        }
        let environment = self.environment
        let account = try await engine.write { try Accounts.findOrMake(name, environment, in: $0) }
        accounts.remember(account)
        caller.account = account
        return caller
    }

    /// Makes what every store has: the default zone of its public database.
    func prepare() async throws {
        let exists = try await engine.read {
            try $0.zone(owner: .everyone, named: ZoneIDDictionary.defaultZoneName) != nil
        }
        if !exists {
            try await engine.write { transaction in
                _ = try ZoneRegistry.defaultZone(owner: .everyone, in: transaction)
                try transaction.insertRecordType(SystemRecordType.user)
            }
        }
        try await engine.read { [watched] in try watched.load($0) }
        await continueInBackground()
    }

    /// Goes on with what commits left to the background.
    func continueInBackground() async {
        guard worksInBackground else { return }
        background.wake()
        dispatcher.wake()
        await indexBuilder.resume()
    }

    /// Sees to it that what was committed to the outbox arrives.
    func deliver(_ notices: Notices) { Self.deliver(notices, courier, dispatcher) }

    private static func deliver(_ notices: Notices, _ courier: Courier, _ dispatcher: OutboxDispatcher) {
        if !notices.polled.isEmpty { courier.wake(notices.polled) }
        if notices.hasDue { dispatcher.wake() }
    }

    func close() async {
        courier.close()
        await background.close()
        await dispatcher.close()
        await indexBuilder.close()
        await engine.close()
    }
}
