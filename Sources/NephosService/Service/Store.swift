import NephosStorage
import NephosWire
import Synchronization

/// One container's store in one environment, with what the service keeps of it in memory.
final class Store: Sendable {
    let engine: any StorageEngine
    let accounts = Accounts()
    let indexes = IndexCatalog()
    let background: BackgroundWork
    let indexBuilder: IndexBuilder
    private let environment: ServiceEnvironment
    private let knownSchema = Mutex(Schema())

    init(engine: any StorageEngine, environment: ServiceEnvironment, retention: Int64?) {
        self.engine = engine
        self.environment = environment
        background = BackgroundWork(
            engine: engine, environment: environment, indexes: indexes, accounts: accounts, retention: retention)
        indexBuilder = IndexBuilder(engine: engine, catalog: indexes, accounts: accounts, environment: environment)
    }

    /// Who asks: an account is made when it is first seen.
    func caller(_ context: RequestContext) async throws -> Caller {
        var caller = Caller(scope: context.scope, account: nil, requestID: context.requestID)
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
        background.wake()
        await indexBuilder.resume()
    }

    /// The schema as of some commit. It may lack what was added since, so what it lacks has to be looked for in the
    /// store; what it has is there.
    func schema() -> Schema {
        knownSchema.withLock { $0 }
    }

    /// Keeps a schema that was committed.
    func remember(_ schema: Schema) {
        knownSchema.withLock { $0 = schema }
    }

    func close() async {
        await background.close()
        await indexBuilder.close()
        await engine.close()
    }
}
