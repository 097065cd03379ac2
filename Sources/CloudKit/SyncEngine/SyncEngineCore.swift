import Foundation
import Synchronization

/// The internals of a sync engine. Serialises fetches and sends, and likewise the delegate callbacks.
final class SyncEngineCore: Sendable {
    let database: CKDatabase
    let state: CKSyncEngine.State
    let environment: SyncEngineEnvironment
    let automaticallySync: Bool
    let preferredSubscriptionID: CKSubscription.ID?

    private struct Ends {
        weak var engine: CKSyncEngine?
        weak var delegate: (any CKSyncEngineDelegate)?
        var accountObserver: (any NSObjectProtocol)?
    }

    private let ends = Locked(Ends())
    private let callouts = AsyncMutex()
    private let runs = AsyncMutex()
    /// The running and queued fetches and sends.
    private let running = Locked<[UUID: Task<Result<Void, CKError>, Never>]>([:])
    private let isHandingOutState = Locked(false)
    let scheduler: SyncScheduler
    let account = Locked(SyncAccount())
    let subscription = Locked(SyncSubscription())

    init(
        _ configuration: CKSyncEngine.Configuration, state: CKSyncEngine.State, environment: SyncEngineEnvironment
    ) {
        database = configuration.database
        self.state = state
        self.environment = environment
        automaticallySync = configuration.automaticallySync
        preferredSubscriptionID = configuration.subscriptionID
        scheduler = SyncScheduler(environment)
        ends.delegate = configuration.delegate
    }

    /// Starts the engine's work.
    func start(for engine: CKSyncEngine) {
        ends.engine = engine
        state.observe { [weak self] addsWork in self?.stateChanged(addsWork: addsWork) }
        ends.accountObserver = NotificationCenter.default.addObserver(
            forName: .CKAccountChanged, object: nil, queue: nil
        ) { [weak self] _ in self?.accountChanged() }
        scheduler.start { [weak self] work in await self?.run(work) ?? .nothingLeft }
        guard automaticallySync else { return }
        scheduler.schedule([.fetch, .send])
    }

    /// Cancels everything: the engine is deallocated.
    func stop() {
        state.observe(nil)
        scheduler.stop()
        if let observer = ends.withLock({ $0.accountObserver }) { NotificationCenter.default.removeObserver(observer) }
        for task in running.withLock({ Array($0.values) }) { task.cancel() }
        stopListening()
    }

    private func stateChanged(addsWork: Bool) {
        // Coalesces the app's changes into one state update.
        if !isHandingOutState.exchange(true) {
            Task { [weak self] in
                self?.isHandingOutState.exchange(false)
                await self?.handOutState()
            }
        }
        if addsWork, automaticallySync { scheduler.schedule([.send]) }
    }

    private func accountChanged() {
        account.exchange(SyncAccount())
        subscription.withLock { $0.forgetSave() }
        if automaticallySync { scheduler.schedule([.fetch, .send]) }
    }

    /// Schedules a fetch after a notification of a server change.
    func serverChanged() {
        if automaticallySync { scheduler.schedule([.fetch]) }
    }

    // MARK: Calls of the delegate

    /// Calls the delegate, one call at a time; nil if it is deallocated.
    func call<Value: Sendable>(
        _ body: (any CKSyncEngineDelegate, CKSyncEngine) async -> Value?
    ) async -> Value? {
        await callouts.withLock {
            let (delegate, engine) = ends.withLock { ($0.delegate, $0.engine) }
            guard let delegate, let engine else { return nil }
            let callout = Callout(engine: ObjectIdentifier(self))
            defer { callout.isOver.store(true, ordering: .relaxed) }
            return await Callout.$current.withValue(callout) { await body(delegate, engine) }
        }
    }

    /// The delegate callback that a task runs in.
    private final class Callout: Sendable {
        let engine: ObjectIdentifier
        /// A task started by the delegate inherits the callout but is not in the callback; after the callback's end, it
        /// may even reuse the same identity.
        let task = withUnsafeCurrentTask(body: { $0?.hashValue })
        let isOver = Atomic(false)

        @TaskLocal static var current: Callout?

        init(engine: ObjectIdentifier) { self.engine = engine }
    }

    /// Stops a program that awaits, in a delegate callback, an operation that itself waits for the callback's end: a
    /// deadlock. Apple's engine stops it likewise.
    private func refuseWithinCallout() {
        guard let callout = Callout.current, callout.engine == ObjectIdentifier(self),
            !callout.isOver.load(ordering: .relaxed), callout.task == withUnsafeCurrentTask(body: { $0?.hashValue })
        else { return }
        raise(
            """
            Cannot await a call into CKSyncEngine from within a delegate callback: it would wait for itself. \
            Do it in a task of its own.
            """)
    }

    /// Hands an event to the delegate. No state update interleaves with `before`, the event and `after`: their changes
    /// are saved together with the event's data, or not at all.
    func hand(
        _ event: CKSyncEngine.Event, before: ((inout CKSyncEngine.State.Content) -> Void)? = nil,
        after: ((inout CKSyncEngine.State.Content) -> Void)? = nil
    ) async {
        _ = await call { delegate, engine -> Void? in
            if let before { state.update(before) }
            await delegate.handleEvent(event, syncEngine: engine)
            if let after { state.update(after) }
            return ()
        }
    }

    /// Hands the delegate the state, if it changed.
    func handOutState() async {
        _ = await call { delegate, engine -> Void? in
            guard let serialization = state.takeUnsaved() else { return nil }
            await delegate.handleEvent(.stateUpdate(.init(stateSerialization: serialization)), syncEngine: engine)
            return ()
        }
    }

    // MARK: Runs

    func fetchChanges(_ options: CKSyncEngine.FetchChangesOptions) async throws(CKError) {
        refuseWithinCallout()
        try await run { (account) throws(CKError) in
            try await SyncFetch(self, account, .init(reason: .manual, options: options)).run()
        }.get()
    }

    func sendChanges(_ options: CKSyncEngine.SendChangesOptions) async throws(CKError) {
        refuseWithinCallout()
        try await run { (account) throws(CKError) in
            try await SyncSend(self, account, .init(reason: .manual, options: options)).run()
        }.get()
    }

    func cancelOperations() async {
        refuseWithinCallout()
        scheduler.giveUp()
        let tasks = running.withLock { Array($0.values) }
        for task in tasks { task.cancel() }
        for task in tasks { _ = await task.value }
    }

    /// Runs scheduled work; returns the remaining work.
    private func run(_ work: SyncScheduler.Work) async -> SyncScheduler.Outcome {
        var left: SyncScheduler.Work = []
        var failure: CKError?
        if work.contains(.fetch) {
            let result = await run { (account) throws(CKError) in
                try await self.requireAccount(account)
                // Subscribe before the fetch, so that no change falls between them.
                let failure = await self.subscribe(as: account)
                try await SyncFetch(self, account, .init(reason: .scheduled, options: .init())).run()
                if let failure { throw failure }
            }
            if case .failure(let error) = result {
                failure = error
                left.insert(.fetch)
            }
        }
        // After a failed fetch for lack of a network or an account, a send would fail likewise.
        if work.contains(.send), failure?.isRetriedByEngine != true, hasSomethingToSend {
            let result = await run { (account) throws(CKError) in
                try await SyncSend(self, account, .init(reason: .scheduled, options: .init())).run()
            }
            if case .failure(let error) = result {
                failure = error
                left.insert(.send)
                // The app has to resolve the failed items; the other items need not wait for that.
                if [.partialFailure, .limitExceeded].contains(error.code), hasSomethingToSend {
                    scheduler.schedule(.send)
                }
            }
        } else if work.contains(.send), failure != nil {
            left.insert(.send)
        }
        guard let failure, failure.isRetriedByEngine, failure.code != .operationCancelled,
            failure.code != .notAuthenticated
        else { return .nothingLeft }
        return .left(left, after: failure.retryAfterSeconds)
    }

    private var hasSomethingToSend: Bool {
        state.read { !$0.records.isEmpty || !$0.database.isEmpty || $0.hasPendingUntrackedChanges }
    }

    /// Runs `body` under the lock, as the account signed in by then; cancelling the caller's task cancels it.
    private func run(
        _ body: @escaping @Sendable (AccountSession) async throws(CKError) -> Void
    ) async -> Result<Void, CKError> {
        let id = UUID()
        let task = Task { () -> Result<Void, CKError> in
            await runs.withLock {
                if Task.isCancelled { return .failure(.cancelled(nil)) }
                do throws(CKError) {
                    try await body(database.account)
                    return .success(())
                } catch {
                    return .failure(error)
                }
            }
        }
        running.withLock { $0[id] = task }
        let result = await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        running.withLock { $0[id] = nil }
        return result
    }
}

extension CKError {
    /// Whether the engine retries by itself after this error (CKSyncEngine, Apple's documentation).
    var isRetriedByEngine: Bool {
        switch code {
        case .notAuthenticated, .accountTemporarilyUnavailable, .networkFailure, .networkUnavailable,
            .requestRateLimited, .serviceUnavailable, .zoneBusy, .serverResponseLost, .operationCancelled:
            true
        default: false
        }
    }

    /// Wraps any error as a `CKError`.
    init(any error: any Error) {
        self = error as? CKError ?? CKError(.internalError, "\(error)")
    }
}
