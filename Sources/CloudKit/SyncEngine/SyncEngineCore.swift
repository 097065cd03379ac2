import Foundation
import Synchronization

/// What works inside a sync engine. Fetches and sends take turns; so do the calls of the delegate.
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
    /// The fetches and sends that run or wait for their turn.
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

    /// Begins the work for `engine`.
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

    /// Ends everything: the engine is gone.
    func stop() {
        state.observe(nil)
        scheduler.stop()
        if let observer = ends.withLock({ $0.accountObserver }) { NotificationCenter.default.removeObserver(observer) }
        for task in running.withLock({ Array($0.values) }) { task.cancel() }
        stopListening()
    }

    private func stateChanged(addsWork: Bool) {
        // However much the app adds at a time, the state is handed out once.
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

    /// Called when the server said that something changed.
    func serverChanged() {
        if automaticallySync { scheduler.schedule([.fetch]) }
    }

    // MARK: Calls of the delegate

    /// Calls the delegate, one call at a time; nil if it is gone.
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

    /// The call of a delegate that a task is in.
    private final class Callout: Sendable {
        let engine: ObjectIdentifier
        /// A task that the delegate starts inherits the callout, but is not in the call; once that is over it may even have
        /// the same identity.
        let task = withUnsafeCurrentTask(body: { $0?.hashValue })
        let isOver = Atomic(false)

        @TaskLocal static var current: Callout?

        init(engine: ObjectIdentifier) { self.engine = engine }
    }

    /// Stops a program that awaits from within a delegate callback what itself waits for the callback's end. Apple's
    /// engine stops it likewise.
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

    /// Hands an event to the delegate. No state is given out between `before`, the event and `after`: what one of them
    /// changes is saved with the data that the event brought, or not at all.
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

    /// Hands out the state, if it changed.
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

    /// Does scheduled work; says what is left of it.
    private func run(_ work: SyncScheduler.Work) async -> SyncScheduler.Outcome {
        var left: SyncScheduler.Work = []
        var failure: CKError?
        if work.contains(.fetch) {
            let result = await run { (account) throws(CKError) in
                try await self.requireAccount(account)
                // First the subscription, then the fetch: nothing falls between.
                let failure = await self.subscribe(as: account)
                try await SyncFetch(self, account, .init(reason: .scheduled, options: .init())).run()
                if let failure { throw failure }
            }
            if case .failure(let error) = result {
                failure = error
                left.insert(.fetch)
            }
        }
        // A fetch that failed for lack of a network or an account would be followed by a send that fails likewise.
        if work.contains(.send), failure?.isRetriedByEngine != true, hasSomethingToSend {
            let result = await run { (account) throws(CKError) in
                try await SyncSend(self, account, .init(reason: .scheduled, options: .init())).run()
            }
            if case .failure(let error) = result {
                failure = error
                left.insert(.send)
                // The failure of some is the app's to mend; the others need not wait for that.
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

    /// Does something when it is its turn, as the account that is signed in then; cancelling the task cancels it.
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
    /// Whether the engine tries again by itself what failed with this (CKSyncEngine, Apple's documentation).
    var isRetriedByEngine: Bool {
        switch code {
        case .notAuthenticated, .accountTemporarilyUnavailable, .networkFailure, .networkUnavailable,
            .requestRateLimited, .serviceUnavailable, .zoneBusy, .serverResponseLost, .operationCancelled:
            true
        default: false
        }
    }

    /// An error of whatever kind as CloudKit's.
    init(any error: any Error) {
        self = error as? CKError ?? CKError(.internalError, "\(error)")
    }
}
