package import NephosStorage
import NephosThreads
import NephosWire
import Synchronization

/// The entry points of the service. Every transport (HTTP, the caller's own process) calls these methods. They throw
/// one type of error, `ServiceError`.
package final class NephosService: Sendable {
    let stores: Stores
    package let environment: ServiceEnvironment
    let configuration: ServiceConfiguration
    let schemaMutex = SchemaMutex()
    let decodedQueries = DecodedQueries()
    let readiness: Readiness
    let exports = ExportSlots()
    let preflightNotes = PreflightNotes()
    let containerDeletions = ContainerDeletions()
    private let pollsHaveEnded = Atomic(false)
    private let isUnready = Atomic(false)
    private let plan = AtomicLazyReference<FaultPlan>()

    package init(
        stores: any StoreProvider, environment: ServiceEnvironment = .system,
        configuration: ServiceConfiguration = ServiceConfiguration()
    ) {
        self.stores = Stores(provider: stores, environment: environment, configuration: configuration)
        readiness = Readiness(self.stores, environment)
        self.environment = environment
        self.configuration = configuration
    }

    /// The total times in seconds of waits for the database, and the number of deadlocks; nil for storage that serialises
    /// writes.
    package var storageWaits: (times: [(name: String, seconds: Double)], deadlocks: Int)? {
        stores.waits.map { waits in
            ([("connection", waits.connections), ("owner", waits.owners), ("store", waits.stores)], waits.deadlocks)
        }
    }

    /// Tells of the notifications of all stores.
    package var sentNotifications: NotificationObserver { stores.observer }

    /// The faults that a test or developer asked for; nil before the first.
    package var faults: FaultPlan? { plan.load() }

    /// Returns the plan of faults, which exists from the first call on.
    /// - Parameter seed: decides what happens with a probability; that of the first call counts.
    package func makeFaults(seed: UInt64 = 0) -> FaultPlan { plan.storeIfNil(FaultPlan(seed: seed)) }

    /// Continues the plan of faults of the service that this one replaces.
    package func takeOverFaults(of other: NephosService) {
        if let faults = other.faults { _ = plan.storeIfNil(faults) }
    }

    // MARK: - Lifecycle

    /// Opens all existing stores, so that interrupted work continues without waiting for a request.
    package func resume() async {
        await stores.takeUpWork()
    }

    /// Opens stores with pending work at intervals until the task is cancelled: stores that failed to open, and stores
    /// whose work another server left.
    package func takeUpWork() async {
        while !Task.isCancelled {
            do {
                try await environment.sleep(milliseconds: Limits.workLookInterval)
            } catch {
                return
            }
            await stores.takeUpWork()
        }
    }

    /// Returns once the background is idle: no deferred cascades of the default zone, purges of deleted zones' records,
    /// index builds or due notifications are left.
    package func settle() async {
        for store in stores.all {
            await store.background.settle()
            await store.assets.settle()
            await store.fanOut.settle()
            await store.indexBuilder.settle()
            await store.dispatcher.settle()
            await store.measuring.waitUntilIdle()
        }
    }

    /// Ends all waiting polls without a notification. From now on every poll ends at once, because the server is about
    /// to stop.
    package func endPolls() {
        pollsHaveEnded.store(true, ordering: .releasing)
        for store in stores.all { store.longPolls.close() }
    }

    /// Has the service say from now on that it is not ready, because the server is about to stop.
    package func stopsBeingReady() { isUnready.store(true, ordering: .releasing) }

    /// Why the service is not ready to write; nil if it is.
    package func problemOfReadiness() async -> String? {
        isUnready.load(ordering: .acquiring) ? "the server is stopping" : await problemOfWriting()
    }

    var hasEndedPolls: Bool { pollsHaveEnded.load(ordering: .acquiring) }

    var openStores: [Store] { stores.all }

    /// Finishes the accepted work, then closes every store.
    package func close() async {
        endPolls()
        await containerDeletions.loop.close()
        await stores.close()
    }

    // MARK: - Every request

    /// - Parameter reads: whether the request only reads. Such a request does not create the container.
    func perform<Response: Sendable>(
        _ context: RequestContext, reads: Bool = false, _ body: (Store, Caller) async throws -> Response
    ) async throws(ServiceError) -> Response {
        do {
            try context.checkContainer()
            let id = StoreID(container: context.container, environment: context.environment.rawValue)
            // A caller without an account can only read, and a read creates no store.
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

    /// Throws unless the caller may read the database. Every caller may read the public database; the other databases
    /// need an account (`CKContainer`, Apple's documentation).
    func checkMayRead(_ caller: Caller) throws(ServiceError) {
        if caller.scope != .public { _ = try caller.requireAccount() }
    }

    /// Throws unless the caller may fetch the changes of the database. The public database has no change feed
    /// (`CKFetchDatabaseChangesOperation`, Apple's documentation), and the other databases need an account.
    func checkMayFollow(_ caller: Caller) throws(ServiceError) {
        _ = try caller.requireAccount()
        if caller.scope == .public { throw .badDatabase("the public database has no change feed") }
    }

    func translate(_ error: any Error, requestID: String) -> ServiceError {
        if (error as? StorageError)?.isDiskFull == true { readiness.noteFullDisk() }
        return environment.translate(error, requestID: requestID)
    }
}
