import Foundation

/// Synchronises a device's copy of one database with the service (CKSyncEngine, Apple's documentation).
///
/// The app adds its changes to `state`, and returns the records when the engine asks its delegate for them. The
/// delegate receives everything else as events, one at a time. A delegate callback must not await `fetchChanges` or
/// `sendChanges`, because they wait for that callback to end. It starts a task instead.
public final class CKSyncEngine: Sendable, CustomStringConvertible {
    /// The database that the engine synchronises.
    public let database: CKDatabase
    /// The pending changes and the fetch positions.
    public let state: CKSyncEngine.State

    private let core: SyncEngineCore

    /// An engine that starts at once, unless its configuration turns `automaticallySync` off.
    public convenience init(_ configuration: CKSyncEngine.Configuration) {
        self.init(configuration, environment: configuration.database.session.environment)
    }

    /// An engine with the given clock and source of randomness.
    package init(_ configuration: CKSyncEngine.Configuration, environment: SyncEngineEnvironment) {
        database = configuration.database
        state = State(configuration.stateSerialization)
        core = SyncEngineCore(configuration, state: state, environment: environment)
        database.session.engines?.add(state)
        core.start(for: self)
    }

    deinit { core.stop() }

    /// Fetches the changes from the server. Returns once the delegate has handled all of them.
    ///
    /// The program stops if a delegate callback awaits this method, `sendChanges(_:)` or `cancelOperations()`, because
    /// they wait for the callback to end. Such a callback starts a task instead.
    /// - Throws: `CKError`.
    public func fetchChanges(_ options: CKSyncEngine.FetchChangesOptions = .init()) async throws {
        try await core.fetchChanges(options)
    }

    /// Sends the pending changes. Returns once the delegate has handled the outcome.
    ///
    /// Sending stops at the first request with a failure that the app has to resolve, or that concerns all requests. By
    /// then the delegate has received the event with the failures. If the engine retries single zones, it goes on with the
    /// others, and throws their error at the end. Pending changes that the delegate adds to resolve the failures go with
    /// the next call (Apple's sample of CKSyncEngine, whose tests expect it).
    /// - Throws: `CKError`: `partialFailure` with `partialErrorsByItemID` if single changes failed.
    public func sendChanges(_ options: CKSyncEngine.SendChangesOptions = .init()) async throws {
        try await core.sendChanges(options)
    }

    /// Cancels the running operations, and returns once they have ended. Requests in progress may have reached the
    /// server. An engine that syncs by itself does the rest later.
    public func cancelOperations() async {
        await core.cancelOperations()
    }

    /// Hands the newest state to the delegate, unless the delegate has it. Not part of Apple's API: the engine hands
    /// the state out by itself, but a simulation has to know when.
    package func handOutState() async { await core.handOutState() }

    /// How the last runs ended. Not part of Apple's API.
    package var progress: SyncProgress { core.progress.withLock { $0 } }
    /// Whether the engine's container refuses what is not part of Apple's API.
    package var refusesAdditions: Bool { database.session.account.service.refusesAdditions }
    /// The time by the engine's clock. Not part of Apple's API.
    package var now: Date { core.environment.now() }

    public var description: String { "<CKSyncEngine: \(address(of: self)); database=\(database.databaseScope)>" }
}

/// The delegate of a sync engine: provides records to send and handles events.
public protocol CKSyncEngineDelegate: AnyObject, Sendable {
    /// Handles an event. The next event follows once this call returns.
    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async

    /// Returns the next batch of records to send; nil if there are no more.
    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch?

    /// Returns the options of the next fetch; called between the requests of a fetch. The default is `context.options`.
    func nextFetchChangesOptions(
        _ context: CKSyncEngine.FetchChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.FetchChangesOptions
}

extension CKSyncEngineDelegate {
    /// Returns `context.options`, which the engine chose.
    public func nextFetchChangesOptions(
        _ context: CKSyncEngine.FetchChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.FetchChangesOptions {
        context.options
    }
}

extension CKSyncEngine {
    /// The configuration of a sync engine.
    public struct Configuration: Sendable, CustomStringConvertible {
        /// The database that the engine synchronises: a private or a shared one.
        public var database: CKDatabase
        /// The newest serialization from a `stateUpdate` of an engine for this database; nil for the first engine.
        public var stateSerialization: CKSyncEngine.State.Serialization?
        /// The engine's delegate, held weakly by the engine.
        public var delegate: any CKSyncEngineDelegate
        /// Whether the engine sends and fetches by itself. If false, only calls by the app do. True by default.
        public var automaticallySync: Bool
        /// The ID of the subscription that notifies the engine of changes; nil lets the engine choose.
        public var subscriptionID: CKSubscription.ID?

        /// A configuration of an engine that syncs by itself unless `automaticallySync` is turned off.
        public init(
            database: CKDatabase, stateSerialization: CKSyncEngine.State.Serialization?,
            delegate: any CKSyncEngineDelegate
        ) {
            self.database = database
            self.stateSerialization = stateSerialization
            self.delegate = delegate
            automaticallySync = true
        }

        public var description: String {
            "Configuration(database: \(database.databaseScope), automaticallySync: \(automaticallySync), "
                + "subscriptionID: \(subscriptionID ?? "nil"))"
        }
    }
}

/// Observes a sync engine on a simulated device.
package protocol SyncEngineObserver: Sendable {
    /// Runs the tasks of the engine.
    var executor: any TaskExecutor { get }
    func taskBegan()
    func taskEnded()
    /// A fetch or a send waits for those before it.
    func callWaits()
    func callGoesOn()
    /// Returns when the delegate may handle an event; false if the app has ended and handles no more.
    func mayHandle(_ event: CKSyncEngine.Event) async -> Bool
}

/// The external dependencies of a sync engine; tests replace them.
package struct SyncEngineEnvironment: Sendable {
    /// Returns the time.
    package var now: @Sendable () -> Date = { Date() }
    /// Waits for a number of seconds before a retry.
    package var sleep: @Sendable (_ seconds: Double) async throws -> Void
    /// Returns a random number from 0 to 1: the jitter that spreads the retries of many devices.
    package var random: @Sendable () -> Double
    /// Observes the tasks that the engine starts and does not await; nil without an observer.
    package var observer: (any SyncEngineObserver)?

    package init(
        sleep: @escaping @Sendable (_ seconds: Double) async throws -> Void,
        random: @escaping @Sendable () -> Double = { 0 }
    ) {
        self.sleep = sleep
        self.random = random
    }

    /// Starts a task that the engine does not await.
    func start(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        guard let observer else { return Task(operation: body) }
        observer.taskBegan()
        return Task(executorPreference: observer.executor) {
            await body()
            observer.taskEnded()
        }
    }

    /// The system's clock and randomness.
    package static let system = SyncEngineEnvironment(
        sleep: { try await Task.sleep(for: .seconds($0)) }, random: { .random(in: 0...1) })
}
