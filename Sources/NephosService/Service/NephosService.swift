package import NephosStorage
import NephosThreads
import NephosWire
import Synchronization

/// What CloudKit does. Every way in (HTTP, the caller's own process) ends at these entry points, which throw one type of
/// error: `ServiceError`.
package final class NephosService: Sendable {
    let stores: Stores
    package let environment: ServiceEnvironment
    let configuration: ServiceConfiguration
    let schemaMutex = SchemaMutex()
    let decodedQueries = DecodedQueries()
    let readiness: Readiness
    private let pollsHaveEnded = Atomic(false)

    package init(
        stores: any StoreProvider, environment: ServiceEnvironment = .system,
        configuration: ServiceConfiguration = ServiceConfiguration()
    ) {
        self.stores = Stores(provider: stores, environment: environment, configuration: configuration)
        readiness = Readiness(self.stores, environment)
        self.environment = environment
        self.configuration = configuration
    }

    /// The oldest transaction that writes, for which change feeds wait, and the name of the program that began it; nil in a
    /// storage where writes come one after another.
    package var horizonHolder: (seconds: Double, applicationName: String)? {
        stores.horizonHolder.map { ($0.seconds, $0.applicationName) }
    }

    // MARK: - Life

    /// Opens the stores that exist, so that work which a stop interrupted goes on without waiting for a request.
    package func resume() async {
        await stores.takeUpWork()
    }

    /// Opens, again and again until the task is cancelled, the stores that have something to do: those that could not be
    /// opened before, and those that another server left.
    package func takeUpWork() async {
        while !Task.isCancelled {
            do {
                try await environment.sleep(.milliseconds(Limits.workLookInterval))
            } catch {
                return
            }
            await stores.takeUpWork()
        }
    }

    /// Returns once the background has nothing left to do: the deletions that the default zone does later, the removal of
    /// deleted zones' records, the making of indexes, the sending of notifications that are due.
    package func settle() async {
        for store in stores.all {
            await store.background.settle()
            await store.assets.settle()
            await store.fanOut.settle()
            await store.indexBuilder.settle()
            await store.dispatcher.settle()
        }
    }

    /// Answers the polls that wait, and from now on every poll at once: for a server that is about to stop.
    package func endPolls() {
        pollsHaveEnded.store(true, ordering: .releasing)
        for store in stores.all { store.longPolls.close() }
    }

    var hasEndedPolls: Bool { pollsHaveEnded.load(ordering: .acquiring) }

    var openStores: [Store] { stores.all }

    /// Finishes what was accepted, then closes every store.
    package func close() async {
        endPolls()
        await stores.close()
    }

    // MARK: - Every request

    /// - Parameter reads: whether it only reads: then no container is made for it.
    func perform<Response: Sendable>(
        _ context: RequestContext, reads: Bool = false, _ body: (Store, Caller) async throws -> Response
    ) async throws(ServiceError) -> Response {
        do {
            try context.checkContainer()
            let id = StoreID(container: context.container, environment: context.environment.rawValue)
            // A caller without an account can only read, and reading makes nothing.
            if context.account == nil {
                return try await stores.usingExistingOrBlank(id) { store in
                    try await body(store, try await store.caller(context))
                }
            }
            if reads {
                return try await stores.usingExistingOrDraft(id) { store in
                    try await body(store, try await store.caller(context))
                }
            }
            return try await stores.using(id) { store in try await body(store, try await store.caller(context)) }
        } catch {
            throw translate(error, requestID: context.requestID)
        }
    }

    /// Everybody may read the public database; the others need an account (`CKContainer`, Apple's documentation).
    func checkMayRead(_ caller: Caller) throws(ServiceError) {
        if caller.scope != .public { _ = try caller.requireAccount() }
    }

    /// The public database has no change feed (`CKFetchDatabaseChangesOperation`, Apple's documentation).
    func checkMayFollow(_ caller: Caller) throws(ServiceError) {
        _ = try caller.requireAccount()
        if caller.scope == .public { throw .badDatabase("the public database has no change feed") }
    }

    /// What went wrong below the rules is logged, not sent.
    func translate(_ error: any Error, requestID: String) -> ServiceError {
        if let error = error as? ServiceError { return error }
        // Names of things that are to be there fail at their item; this is for all others.
        if (error as? StorageError)?.code == .text {
            return .invalid("a name in the request holds a NUL, which no name may")
        }
        environment.log("request \(requestID): \(error)")
        if error is ThreadError { return .busy }
        switch (error as? StorageError)?.code {
        case .closed: return .unavailable
        case .busy: return .busy
        case .tooLong: return .limitExceeded("the request reads more than the service does in one: ask for less")
        case .inputOutput: return .diskFailure
        case .unknownOutcome: return .unknownOutcome
        default: return .internalError
        }
    }
}
