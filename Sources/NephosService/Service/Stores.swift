import NephosStorage
import Synchronization

/// The stores that are open. Each is opened once, when somebody first asks for it.
actor Stores {
    private nonisolated let provider: any StoreProvider
    private let environment: ServiceEnvironment
    private let configuration: ServiceConfiguration
    private var opening: [StoreID: Task<Store, any Error>] = [:]
    private var isClosed = false
    /// The stores that are ready, to be found without waiting for the actor.
    private nonisolated let ready = Mutex<[StoreID: Store]>([:])

    init(provider: any StoreProvider, environment: ServiceEnvironment, configuration: ServiceConfiguration) {
        self.provider = provider
        self.environment = environment
        self.configuration = configuration
    }

    nonisolated func store(_ id: StoreID) async throws -> Store {
        if let store = ready.withLock({ $0[id] }) { return store }
        return try await open(id)
    }

    private func open(_ id: StoreID) async throws -> Store {
        if isClosed { throw StorageError(.closed, "the service is closed") }
        if let task = opening[id] { return try await task.value }
        let provider = self.provider
        let environment = self.environment
        let configuration = self.configuration
        let task = Task {
            // Opening a store blocks on the disk, so it gets a thread of its own.
            let engine = try await onThread { try provider.open(id) }
            let store = Store(
                id: id, engine: engine, environment: environment, configuration: configuration)
            try await store.prepare()
            return store
        }
        opening[id] = task
        do {
            let store = try await task.value
            ready.withLock { $0[id] = store }
            return store
        } catch {
            // The next one who asks tries again.
            opening[id] = nil
            throw error
        }
    }

    /// The store, unless nobody ever made it.
    nonisolated func existing(_ id: StoreID) async throws -> Store? {
        if let store = ready.withLock({ $0[id] }) { return store }
        let provider = self.provider
        guard try await onThread({ try provider.existingStores() }).contains(id) else { return nil }
        return try await store(id)
    }

    /// Opens every store that exists; one that cannot be opened is left to the requests that want it.
    func resume() async {
        do {
            let provider = self.provider
            for id in try await onThread({ try provider.existingStores() }) {
                do {
                    _ = try await store(id)
                } catch {
                    environment.log("the store of \(id.container), \(id.environment): \(error)")
                }
            }
        } catch {
            environment.log("looking for stores: \(error)")
        }
    }

    /// Every store that is open.
    nonisolated var all: [Store] { ready.withLock { Array($0.values) } }

    func close() async {
        isClosed = true
        for task in opening.values {
            if let store = try? await task.value { await store.close() }
        }
        opening = [:]
        ready.withLock { $0 = [:] }
        provider.close()
    }
}
