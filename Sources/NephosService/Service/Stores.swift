import NephosStorage
import NephosThreads
import Synchronization

/// The open stores. Each store opens at its first use. It closes when it has been unused for a while, or is evicted for
/// another store. A store with pending work stays open, and so does a store in memory, which would lose its content.
actor Stores {
    /// The threads that open stores and check which stores exist.
    private static let opening = BlockingPool("opening", .init(threads: Limits.openingThreads))
    /// Waits for locks of other servers, which must not keep stores from being opened.
    private static let locking = BlockingPool("locking", .init(threads: 2))

    /// An open store and its current users.
    ///
    /// `@unchecked`: the lock of `ready` guards the variables. A class, because each request changes them: a change of a
    /// struct in a dictionary allocates.
    private final class Open: @unchecked Sendable {
        let store: Store
        var users = 0
        /// The number of uses so far.
        var uses = 0
        /// The time of the store's last use, in milliseconds since 1970.
        var usedAt: Int64

        init(_ store: Store, usedAt: Int64) {
            self.store = store
            self.usedAt = usedAt
        }
    }

    nonisolated let provider: any StoreProvider
    private nonisolated let environment: ServiceEnvironment
    nonisolated let configuration: ServiceConfiguration
    nonisolated let observer = NotificationObserver()
    private var opening: [StoreID: Task<Void, any Error>] = [:]
    private var closing: [StoreID: Task<Void, Never>] = [:]
    private var looking: [StoreID: Task<Bool, any Error>] = [:]
    /// The empty stores that stand for containers that were never created, by environment.
    private var blanks: [String: Task<Store, any Error>] = [:]
    private var drafts: [StoreID: OpenDraft] = [:]
    private var sweeping: Task<Void, Never>?
    /// The existing stores that failed to open; nil before the first check.
    private var unopened: Set<StoreID>?
    private var isClosed = false
    /// The open stores. A mutex guards them, so that lookups do not wait for the actor.
    private nonisolated let ready = Mutex<[StoreID: Open]>([:])
    /// The quotas, which know a store's databases also after the store was closed.
    private nonisolated let quotas = Mutex<[StoreID: RecordQuota]>([:])
    nonisolated let deleted = DeletedContainers()

    nonisolated var waits: StorageWaits? { provider.waits }

    init(provider: any StoreProvider, environment: ServiceEnvironment, configuration: ServiceConfiguration) {
        self.provider = provider
        self.environment = environment
        self.configuration = configuration
    }

    private nonisolated func quota(of id: StoreID) -> RecordQuota {
        quotas.withLock { quotas in
            if let known = quotas[id] { return known }
            let quota = RecordQuota(
                privateLimit: configuration.recordBytesPerAccount, publicLimit: configuration.recordBytesPerContainer)
            quotas[id] = quota
            return quota
        }
    }

    // MARK: Using stores

    /// Runs `body` on a store, which stays open meanwhile. The first use creates the store.
    nonisolated func using<T>(_ id: StoreID, _ body: (Store) async throws -> T) async throws -> T {
        try await run(body, on: try await borrow(id), id)
    }

    /// Runs `body` on a borrowed store, and gives the store back. A store that another server has removed is closed: the
    /// container may have been made anew.
    private nonisolated func run<T>(_ body: (Store) async throws -> T, on open: Open, _ id: StoreID) async throws -> T {
        do {
            defer { giveBack(open) }
            return try await body(open.store)
        } catch let error as StorageError where error.code == .removed {
            await closeRemoved(open.store, id)
            throw error
        }
    }

    private func closeRemoved(_ store: Store, _ id: StoreID) async {
        guard ready.withLock({ $0[id]?.store === store }) else { return }
        await closeStores { $0 == id }
        // The usage was that of the removed store.
        quotas.withLock { $0[id] = nil }
    }

    /// Runs `body` on a store, or on nil if the store was never created, also once more on nil if its container is deleted
    /// meanwhile. Creates no store.
    nonisolated func usingExisting<T>(_ id: StoreID, _ body: (Store?) async throws -> T) async throws -> T {
        do {
            if try await exists(id) { return try await using(id, body) }
        } catch  where deleted.contains(id.container) {
            environment.log("\(id.container), \(id.environment) was deleted meanwhile: \(error)")
        }
        return try await body(nil)
    }

    /// Runs `body` on a store. If the store was never created, `body` runs on an empty store that stores nothing.
    nonisolated func usingExistingOrBlank<T>(_ id: StoreID, _ body: (Store) async throws -> T) async throws -> T {
        if try await !exists(id), let blank = try await blank(id) { return try await body(blank) }
        return try await using(id, body)
    }

    /// Runs `body` on a store. If the store was never created, `body` runs on a draft, and the store later keeps what
    /// the draft's responses promised to the account.
    nonisolated func usingExistingOrDraft<T>(_ id: StoreID, _ body: (Store) async throws -> T) async throws -> T {
        if let open = borrowReady(id) { return try await run(body, on: open, id) }
        try checkIsNotDeleted(id)
        guard provider.keepsStores, let draft = try await borrowDraft(id) else { return try await using(id, body) }
        do {
            let answer = try await body(draft.store)
            await giveBackDraft(id)
            return answer
        } catch {
            await giveBackDraft(id)
            throw error
        }
    }

    private nonisolated func exists(_ id: StoreID) async throws -> Bool {
        if ready.withLock({ $0[id] != nil }) { return true }
        return deleted.contains(id.container) ? false : try await look(for: id)
    }

    /// Checks whether a store exists; concurrent checks are coalesced.
    private func look(for id: StoreID) async throws -> Bool {
        if let look = looking[id] { return try await look.value }
        let provider = provider
        let look = Task { try await Self.opening.run { try provider.exists(id) } }
        looking[id] = look
        defer { looking[id] = nil }
        return try await look.value
    }

    private nonisolated func borrow(_ id: StoreID) async throws -> Open {
        while true {
            if let open = borrowReady(id) { return open }
            try await open(id)
        }
    }

    /// Borrows a store; nil if it is not open.
    private nonisolated func borrowReady(_ id: StoreID) -> Open? {
        ready.withLock { ready in
            guard let open = ready[id] else { return nil }
            open.users += 1
            open.uses += 1
            return open
        }
    }

    private nonisolated func giveBack(_ open: Open) {
        let now = environment.now()
        ready.withLock { _ in
            open.users -= 1
            open.usedAt = now
        }
    }

    /// The most recently used stores, at most `count`.
    nonisolated func usedLast(_ count: Int) -> [Store] {
        ready.withLock { ready in
            ready.values.sorted { ($1.users, $1.usedAt) < ($0.users, $0.usedAt) }.prefix(count).map(\.store)
        }
    }

    /// All open stores.
    nonisolated var all: [Store] { ready.withLock { $0.values.map(\.store) } }

    // MARK: Drafts

    /// A draft that is open or being opened, and its current users.
    private struct OpenDraft {
        let task: Task<Draft, any Error>
        var users = 0
        /// The time of the draft's last use, in milliseconds since 1970.
        var usedAt: Int64
        /// The task that waits until the draft is unused, to create the store; nil if none waits.
        var maker: CheckedContinuation<Void, Never>?
    }

    var draftCount: Int { drafts.count }

    /// Borrows the draft of a store; nil if the store exists or is being created.
    private func borrowDraft(_ id: StoreID) async throws -> Draft? {
        guard let blanks = provider.blanks, try await !look(for: id) else { return nil }
        if isClosed { throw StorageError(.closed, "the service is closed") }
        if opening[id] != nil || ready.withLock({ $0[id] != nil }) { return nil }
        let draft =
            drafts[id]
            ?? OpenDraft(
                task: Task { try await self.makeDraft(id, from: blanks) }, usedAt: environment.now())
        drafts[id] = draft
        drafts[id]?.users += 1
        if drafts.count > Limits.drafts { await forgetOldDraft() }
        do {
            return try await draft.task.value
        } catch {
            giveBackDraft(id)
            drafts[id] = nil
            throw error
        }
    }

    private nonisolated func makeDraft(_ id: StoreID, from blanks: any StoreProvider) async throws -> Draft {
        let place = try await Self.opening.run { [provider] in try provider.identity }
        return Draft(
            try await open(id, from: blanks, userRecordName: { Draft.userRecordName(of: $0, in: id, place) }))
    }

    private func giveBackDraft(_ id: StoreID) {
        guard var draft = drafts[id] else { return }
        draft.users -= 1
        draft.usedAt = environment.now()
        if draft.users == 0, let maker = draft.maker {
            draft.maker = nil
            maker.resume()
        }
        drafts[id] = draft
    }

    /// Removes the draft of a store that is about to be created, and returns the draft's promise; nil without a draft.
    private func endDraft(_ id: StoreID) async throws -> Draft.Promise? {
        guard let draft = drafts[id] else { return nil }
        if draft.users > 0 { await withCheckedContinuation { drafts[id]?.maker = $0 } }
        drafts[id] = nil
        guard let store = try? await draft.task.value else { return nil }
        let promise = try await store.promise()
        await store.store.close()
        return promise
    }

    /// Evicts the least recently used draft. An account that read the draft fetches from the start, as after another
    /// server created the store.
    private func forgetOldDraft() async {
        let unused = drafts.filter { $0.value.users == 0 && opening[$0.key] == nil }
        guard let id = unused.min(by: { $0.value.usedAt < $1.value.usedAt })?.key else { return }
        let draft = drafts.removeValue(forKey: id)
        await (try? draft?.task.value)?.store.close()
    }

    // MARK: Opening

    /// Returns once the store is open, or once the caller can try again.
    private func open(_ id: StoreID) async throws {
        if isClosed { throw StorageError(.closed, "the service is closed") }
        try checkIsNotDeleted(id)
        if let closing = closing[id] {
            await closing.value
            return
        }
        if let opening = opening[id] { return try await opening.value }
        if ready.withLock({ $0[id] != nil }) { return }
        let task = Task {
            try await self.makeRoom()
            let store = try await self.open(id, from: self.provider, self.endDraft(id), isMade: true)
            let now = environment.now()
            ready.withLock { $0[id] = Open(store, usedAt: now) }
        }
        opening[id] = task
        // After a failure, the next caller opens the store again.
        defer { opening[id] = nil }
        try await task.value
        sweep()
        if ready.withLock({ $0.count }) > Limits.crowdedStores { await closeUnused(for: Limits.crowdedStoreIdleTime) }
    }

    /// The prefix of Apple's container identifiers: "A container's identifier begins with iCloud." (`CKContainer`).
    private static let containerPrefix = "iCloud."

    private nonisolated func open(
        _ id: StoreID, from provider: any StoreProvider, _ promise: Draft.Promise? = nil, isMade: Bool = false,
        userRecordName: (@Sendable (String) -> String)? = nil
    ) async throws -> Store {
        // Opening a store blocks on the disk, so a thread of the blocking pool opens it.
        let (isNew, engine, files) = try await Self.opening.run {
            (try !provider.exists(id), try provider.open(id), try provider.assets(of: id))
        }
        if isNew, isMade, configuration.logsContainers { noteMade(id) }
        let environment = environment.naming(id)
        do {
            let store = Store(
                id: id, engine: engine, files: files, try await Store.prepare(engine, environment, promise),
                environment: environment, configuration: configuration, quota: quota(of: id),
                observer: observer, userRecordName: userRecordName)
            try await store.resume(isNew: isNew)
            return store
        } catch {
            // The next caller opens the store again.
            await engine.close()
            throw error
        }
    }

    /// Whether additions are logged. A tool logs them itself.
    private nonisolated var logsAdditions: Bool {
        configuration.logsContainers && configuration.worksInBackground
            && configuration.logsAdditions ?? provider.keepsStores
    }

    /// Logs that a request created a store.
    private nonisolated func noteMade(_ id: StoreID) {
        let name = "container '\(id.container)', \(id.environment),"
        if !id.container.hasPrefix(Self.containerPrefix) {
            environment.log(
                "warning: \(name) was made by its first write; the names of Apple's begin with \"\(Self.containerPrefix)\""
            )
        } else if logsAdditions {
            environment.log("\(name) was made by its first write")
        }
    }

    /// Logs what production may refuse, where the log is a developer's.
    nonisolated func logGrowth(_ sentence: String) {
        guard logsAdditions else { return }
        environment.log("preflight: \(sentence)")
    }

    /// The empty store that stands for containers that were never created; nil if the provider has no such stores.
    private func blank(_ id: StoreID) async throws -> Store? {
        guard let provider = provider.blanks else { return nil }
        if let task = blanks[id.environment] { return try await task.value }
        let task = Task {
            try await self.open(StoreID(container: "", environment: id.environment), from: provider)
        }
        blanks[id.environment] = task
        do {
            return try await task.value
        } catch {
            blanks[id.environment] = nil
            throw error
        }
    }

    /// Waits for a lock that all servers of these stores share; nil where there is no other server.
    nonisolated func lock(_ name: String) async throws -> (any StoreLock)? {
        let provider = self.provider
        return try await Self.locking.run { try provider.lock(name) }
    }

    /// The IDs of stores whose files are missing.
    nonisolated func missing() async throws -> Set<StoreID> {
        let provider = self.provider
        return Set(try await Self.opening.run { try provider.missingStores() }).filter {
            !deleted.contains($0.container)
        }
    }

    /// The IDs of all existing stores, open or not.
    nonisolated func known() async throws -> Set<StoreID> {
        let provider = self.provider
        let existing = try await Self.opening.run { try provider.existingStores() }
        return Set(existing).union(ready.withLock { Set($0.keys) }).subtracting([.installation])
            .filter { !deleted.contains($0.container) }
    }

    /// Opens stores that may have pending work. The first call opens every existing store, unless the provider knows
    /// which have work. Later calls open stores that failed to open, and stores with work that another server left,
    /// because that server may have died.
    func takeUpWork() async {
        do {
            let (provider, failed, open) = (self.provider, unopened, ready.withLock { Set($0.keys) })
            let stores = try await Self.opening.run { () -> [StoreID] in
                guard let working = try provider.storesWithWork() else {
                    return try failed.map { Array($0.shuffled().prefix(Limits.storesPerLook)) }
                        ?? provider.existingStores()
                }
                let others = working.filter { failed?.contains($0) != true && !open.contains($0) }
                return Array(others.shuffled().prefix(Limits.storesPerLook))
                    + (failed ?? []).shuffled().prefix(Limits.storesPerLook)
            }
            if unopened == nil { unopened = [] }
            for id in stores where !isClosed && !id.isInstallation && !deleted.contains(id.container) {
                await takeUpWork(id)
            }
        } catch {
            environment.log("looking for stores: \(error)")
        }
    }

    private func takeUpWork(_ id: StoreID) async {
        do {
            try await using(id) { _ in }
            unopened?.remove(id)
        } catch {
            guard unopened?.insert(id).inserted == true else { return }
            environment.log("the store of \(id.container), \(id.environment): \(error)")
        }
    }

    // MARK: Closing

    /// Closes the least recently used idle store if the maximum number of stores is open.
    /// - Throws: `StorageError` `.busy` if no store is idle.
    private func makeRoom() async throws {
        // Stores in memory cannot be closed: tests that make a container each would reach the limit of those on a disk.
        let limit = configuration.openStores * (provider.keepsStores ? 1 : Limits.memoryStoresFactor)
        // `opening` includes the store that is about to open.
        while ready.withLock({ $0.count }) + opening.count > limit {
            let unused = unused(since: .max)
            var isRoom = false
            for id in unused where !isRoom { isRoom = await close(id) }
            guard isRoom else {
                throw StorageError(.busy, "\(limit) stores are open, and none can be closed")
            }
        }
    }

    /// Closes unused stores at intervals, as long as any store is open.
    private func sweep() {
        guard sweeping == nil, provider.keepsStores else { return }
        sweeping = Task { [weak self, environment] in
            do {
                while true {
                    try await environment.sleep(milliseconds: Limits.storeIdleTime)
                    guard let self, await self.closeUnused() else { return }
                }
            } catch {
                // The task was cancelled, because all stores close.
            }
        }
    }

    /// Closes the stores that have been unused for `Limits.storeIdleTime`.
    /// - Returns: whether a store is still open.
    private func closeUnused() async -> Bool {
        await closeUnused(for: Limits.storeIdleTime)
        if ready.withLock({ $0.isEmpty }) { sweeping = nil }
        return sweeping != nil
    }

    /// - Parameter time: the number of milliseconds for which a store must have been unused.
    private func closeUnused(for time: Int64) async {
        for id in unused(since: environment.now() - time) { _ = await close(id) }
    }

    /// The IDs of the stores that have been unused since a time, the least recently used first.
    private nonisolated func unused(since time: Int64) -> [StoreID] {
        guard provider.keepsStores else { return [] }
        return ready.withLock { ready in
            ready.filter { $0.value.users == 0 && $0.value.usedAt <= time }
                .sorted { $0.value.usedAt < $1.value.usedAt }.map(\.key)
        }
    }

    /// Closes a store, unless it is in use or has pending work.
    /// - Returns: whether the store was closed.
    private func close(_ id: StoreID) async -> Bool {
        let unused = ready.withLock { ready in
            ready[id].flatMap { open in open.users == 0 ? (store: open.store, uses: open.uses) : nil }
        }
        guard closing[id] == nil, let unused, await unused.store.isIdle() else { return false }
        let store = ready.withLock { ready -> Store? in
            // A use since the check may have begun an upload or a poll.
            guard let open = ready[id], open.users == 0, open.uses == unused.uses else { return nil }
            ready[id] = nil
            return open.store
        }
        guard let store else { return false }
        let task = Task { await store.close() }
        closing[id] = task
        await task.value
        closing[id] = nil
        return true
    }

    // MARK: Deleting containers

    private nonisolated func checkIsNotDeleted(_ id: StoreID) throws(ServiceError) {
        if deleted.contains(id.container) { throw .containerDeleted }
    }

    /// Closes the stores of containers that are being deleted. New requests do not open them. A container that was made
    /// anew meanwhile keeps its stores open.
    func closeDeletedStores() async {
        await closeStores { [deleted] in deleted.contains($0.container) }
        quotas.withLock { quotas in quotas = quotas.filter { !deleted.contains($0.key.container) } }
        unopened = unopened?.filter { !deleted.contains($0.container) }
    }

    func closeStores(of container: String) async { await closeStores { $0.container == container } }

    private func closeStores(where isChosen: (StoreID) -> Bool) async {
        let ids = ready.withLock { Set($0.keys) }.union(opening.keys).union(closing.keys).union(drafts.keys)
        for id in ids where isChosen(id) {
            // It may be open only after that.
            _ = try? await opening[id]?.value
            await closing[id]?.value
            await (try? drafts.removeValue(forKey: id)?.task.value)?.store.close()
            let open = ready.withLock { $0.removeValue(forKey: id) }
            guard let store = open?.store else { continue }
            let task = Task { await store.close() }
            closing[id] = task
            await task.value
            closing[id] = nil
        }
    }

    func close() async {
        isClosed = true
        sweeping?.cancel()
        for task in opening.values { _ = try? await task.value }
        for task in closing.values { await task.value }
        for store in all { await store.close() }
        for task in blanks.values { await (try? task.value)?.close() }
        for draft in drafts.values { await (try? draft.task.value)?.store.close() }
        ready.withLock { $0 = [:] }
        provider.close()
    }
}
