import Foundation

/// Keeps a device's copy of one database in step with the service (CKSyncEngine, Apple's documentation).
///
/// The app says what changed through `state`, gives the records when the engine asks its delegate for them, and learns
/// of everything else by events, which come one at a time. Do not wait for `fetchChanges` or `sendChanges` inside a call of
/// the delegate's: they wait for that call. Start a task instead.
public final class CKSyncEngine: Sendable, CustomStringConvertible {
    /// The database that the engine keeps in step.
    public let database: CKDatabase
    /// What is to be sent, and how far the engine has come.
    public let state: CKSyncEngine.State

    private let core: SyncEngineCore

    /// An engine that begins at once, unless it is configured to do only what it is told.
    public convenience init(_ configuration: CKSyncEngine.Configuration) {
        self.init(configuration, environment: .system)
    }

    /// An engine with a clock of the caller's.
    package init(_ configuration: CKSyncEngine.Configuration, environment: SyncEngineEnvironment) {
        database = configuration.database
        state = State(configuration.stateSerialization)
        core = SyncEngineCore(configuration, state: state, environment: environment)
        core.start(for: self)
    }

    deinit { core.stop() }

    /// Fetches what is new on the server. Returns when the delegate has handled all of it.
    ///
    /// The program stops where a delegate's callback awaits this, `sendChanges(_:)` or `cancelOperations()`: they would wait
    /// for its end. Begin a task there that does.
    /// - Throws: `CKError`.
    public func fetchChanges(_ options: CKSyncEngine.FetchChangesOptions = .init()) async throws {
        try await core.fetchChanges(options)
    }

    /// Sends what is pending. Returns when the delegate has handled the outcome.
    ///
    /// It stops at the first request of which something fails. The delegate has then got the event that says what, and what it
    /// added to the pending changes to mend it goes with the next call (Apple's sample of CKSyncEngine, whose tests expect it).
    /// - Throws: `CKError`: `partialFailure` with `partialErrorsByItemID` where single changes failed.
    public func sendChanges(_ options: CKSyncEngine.SendChangesOptions = .init()) async throws {
        try await core.sendChanges(options)
    }

    /// Stops what the engine is doing and returns when it has. What was on its way may have reached the server.
    public func cancelOperations() async {
        await core.cancelOperations()
    }

    /// Gives the delegate the newest state, if it does not have it. Not part of Apple's API: the engine does it by itself,
    /// but a simulation has to know when.
    package func handOutState() async { await core.handOutState() }

    public var description: String { "<CKSyncEngine: \(address(of: self)); database=\(database.databaseScope)>" }
}

/// What a sync engine asks and tells an app.
public protocol CKSyncEngineDelegate: AnyObject, Sendable {
    /// Tells of something that happened. The next event comes when this one was handled.
    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async

    /// Gives the next records to send; nil when there are no more.
    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch?

    /// Says what to fetch next; asked between the requests of a fetch. What is given by default is `context.options`.
    func nextFetchChangesOptions(
        _ context: CKSyncEngine.FetchChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.FetchChangesOptions
}

extension CKSyncEngineDelegate {
    /// Fetches what the engine would: `context.options`.
    public func nextFetchChangesOptions(
        _ context: CKSyncEngine.FetchChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.FetchChangesOptions {
        context.options
    }
}

extension CKSyncEngine {
    /// What a sync engine is made with.
    public struct Configuration: Sendable, CustomStringConvertible {
        /// The database to keep in step: a private or a shared one.
        public var database: CKDatabase
        /// The newest that an engine for this database gave with a `stateUpdate`; nil the first time.
        public var stateSerialization: CKSyncEngine.State.Serialization?
        /// Who is asked and told. The engine does not keep it alive.
        public var delegate: any CKSyncEngineDelegate
        /// Whether the engine sends and fetches by itself; otherwise it does only what it is told. True unless set.
        public var automaticallySync: Bool
        /// The ID of the subscription by which the engine learns of changes; nil lets it choose.
        public var subscriptionID: CKSubscription.ID?

        /// An engine for a database, which works by itself unless `automaticallySync` is turned off.
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

/// What a sync engine takes from the outside; a test replaces it.
package struct SyncEngineEnvironment: Sendable {
    /// Waits that many seconds before a failed request is tried again.
    package var sleep: @Sendable (_ seconds: Double) async throws -> Void
    /// A number from 0 to 1, which spreads the attempts of many devices.
    package var random: @Sendable () -> Double

    package init(
        sleep: @escaping @Sendable (_ seconds: Double) async throws -> Void,
        random: @escaping @Sendable () -> Double = { 0 }
    ) {
        self.sleep = sleep
        self.random = random
    }

    /// The system's clock and randomness.
    package static let system = SyncEngineEnvironment(
        sleep: { try await Task.sleep(for: .seconds($0)) }, random: { .random(in: 0...1) })
}
