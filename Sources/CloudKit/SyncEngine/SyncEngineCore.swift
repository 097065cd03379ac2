import Foundation
import Synchronization

/// The implementation of a sync engine. It serialises fetches and sends, and it serialises the callbacks of the
/// delegate.
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
    /// The fetches and sends that are running or queued.
    private let running = Locked<[UUID: Task<Result<Void, CKError>, Never>]>([:])
    private let isHandingOutState = Locked(false)
    let scheduler: SyncScheduler
    let account = Locked(SyncAccount())
    let subscription = Locked(SyncSubscription())
    let progress = Locked(SyncProgress())

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
        if hasSomethingToSend { progress.withLock { $0.changed(at: environment.now()) } }
        state.observe { [weak self] addsWork in self?.stateChanged(addsWork: addsWork) }
        ends.accountObserver = NotificationCenter.default.addObserver(
            forName: .CKAccountChanged, object: nil, queue: nil
        ) { [weak self] _ in self?.accountChanged() }
        scheduler.start { [weak self] job in await self?.run(job) ?? .init() }
        guard automaticallySync else { return }
        scheduler.schedule([.fetch, .send])
    }

    /// Cancels all work, because the engine is being deallocated.
    func stop() {
        state.observe(nil)
        scheduler.stop()
        if let observer = ends.withLock({ $0.accountObserver }) { NotificationCenter.default.removeObserver(observer) }
        for task in running.withLock({ Array($0.values) }) { task.cancel() }
        stopListening()
    }

    private func stateChanged(addsWork: Bool) {
        // Coalesces several changes by the app into one state update.
        if !isHandingOutState.exchange(true) {
            _ = environment.start { [weak self] in
                self?.isHandingOutState.exchange(false)
                await self?.handOutState()
            }
        }
        if addsWork { progress.withLock { $0.changed(at: environment.now()) } } else { noteWhetherWorkIsLeft() }
        if addsWork, automaticallySync { scheduler.schedule([.send]) }
    }

    private func accountChanged() {
        if AccountChangeOrigin.isOutside(of: database.session) { return }
        account.exchange(SyncAccount())
        subscription.withLock { $0.forgetSave() }
        if automaticallySync { scheduler.scheduleNow([.fetch, .send]) }
    }

    /// Schedules a fetch, because a notification reported a change on the server.
    func serverChanged() {
        progress.withLock { $0.wasNotified(at: environment.now()) }
        if automaticallySync { scheduler.schedule([.fetch]) }
    }

    /// Whether the delegate is deallocated, so that no event is handled and the state cannot advance.
    var hasNoDelegate: Bool { ends.withLock { $0.delegate == nil || $0.engine == nil } }

    // MARK: Delegate callbacks

    /// Runs a callback of the delegate, one at a time; nil if the delegate is deallocated.
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

    /// The delegate callback in which a task runs.
    private final class Callout: Sendable {
        let engine: ObjectIdentifier
        /// A task that the delegate starts inherits the callout but does not run inside the callback. After the
        /// callback's end, a new task may even have the same identity.
        let task = withUnsafeCurrentTask(body: { $0?.hashValue })
        let isOver = Atomic(false)

        @TaskLocal static var current: Callout?

        init(engine: ObjectIdentifier) { self.engine = engine }
    }

    /// Stops a program in which a delegate callback awaits an operation that itself waits for the end of the callback
    /// (a deadlock). Apple's engine does the same.
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

    /// Hands an event to the delegate. No state update interleaves with `before`, the event and `after`, so the app
    /// saves their changes together with the data of the event, or not at all.
    func hand(
        _ event: CKSyncEngine.Event, before: ((inout CKSyncEngine.State.Content) -> Void)? = nil,
        after: ((inout CKSyncEngine.State.Content) -> Void)? = nil
    ) async {
        _ = await call { delegate, engine -> Void? in
            if let observer = environment.observer, await !observer.mayHandle(event) { return nil }
            if let before { state.update(before) }
            await delegate.handleEvent(event, syncEngine: engine)
            if let after { state.update(after) }
            return ()
        }
    }

    /// Hands the state to the delegate, if it has changed.
    func handOutState() async {
        _ = await call { delegate, engine -> Void? in
            guard let serialization = state.takeUnsaved() else { return nil }
            let event = CKSyncEngine.Event.stateUpdate(.init(stateSerialization: serialization))
            if let observer = environment.observer, await !observer.mayHandle(event) { return nil }
            await delegate.handleEvent(event, syncEngine: engine)
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
        scheduler.interrupt()
        let tasks = running.withLock { Array($0.values) }
        for task in tasks { task.cancel() }
        for task in tasks { _ = await task.value }
    }

    /// Runs scheduled work.
    private func run(_ job: SyncScheduler.Job) async -> SyncScheduler.Outcome {
        var outcome = SyncScheduler.Outcome()
        if job.work.contains(.fetch) {
            let pass = Locked(SyncPass(heldZoneIDs: job.heldZoneIDs(.fetch)))
            let result = await run { (account) throws(CKError) in
                try await self.requireAccount(account)
                // The subscription is saved before the fetch, so that no change falls between the two.
                let failure = await self.subscribe(as: account)
                try await SyncFetch(self, account, .init(reason: .scheduled, options: .init()), pass).run()
                if let failure { throw failure }
            }
            note(result, of: .fetch, pass.withLock { $0 }, in: &outcome)
            // If a fetch failed because there is no network or no account, a send would fail for the same reason.
            if case .failure(let error) = result, !pass.isComplete,
                error.isRetriedByEngine || !outcome.retries.isEmpty
            {
                for index in outcome.retries.indices { outcome.retries[index].work = job.work }
                return outcome
            }
        }
        let held = job.heldZoneIDs(.send)
        if job.work.contains(.send), hasSomethingToSend(in: .all.excluding(held)) {
            let pass = Locked(SyncPass(heldZoneIDs: held))
            let result = await run { (account) throws(CKError) in
                try await SyncSend(self, account, .init(reason: .scheduled, options: .init()), pass).run()
            }
            note(result, of: .send, pass.withLock { $0 }, in: &outcome)
        }
        return outcome
    }

    /// Notes how a run of scheduled work ended, and what of it is retried.
    private func note(
        _ result: Result<Void, CKError>, of work: SyncScheduler.Work, _ pass: SyncPass,
        in outcome: inout SyncScheduler.Outcome
    ) {
        outcome.hasSent = outcome.hasSent || pass.hasSent
        guard case .failure(let error) = result else {
            outcome.succeeded.insert(work)
            return
        }
        if error.code == .operationCancelled || hasNoDelegate { return }
        if isAccountUnknown || error.isRetriedByEngine && error.code != .notAuthenticated {
            let zoneIDs = pass.isComplete ? pass.heldZoneIDs : nil
            outcome.retries.append(.init(work: work, after: error.retryAfterSeconds, zoneIDs: zoneIDs))
        } else if work == .send, error.code != .notAuthenticated {
            if let failure = pass.failure {
                outcome.retries.append(
                    .init(work: .send, after: failure.retryAfterSeconds, zoneIDs: pass.heldZoneIDs))
            }
            // The app has to resolve the items that failed. The other items need not wait for that.
            if hasSomethingToSend {
                outcome.retries.append(.init(work: .send, zoneIDs: pass.failedZoneIDs, beginsAtOnce: true))
            }
        }
    }

    var hasSomethingToSend: Bool {
        state.read { !$0.records.isEmpty || !$0.database.isEmpty || $0.hasPendingUntrackedChanges }
    }

    private func hasSomethingToSend(in scope: CKSyncEngine.SendChangesOptions.Scope) -> Bool {
        if scope == .all { return hasSomethingToSend }
        return state.read { content in
            content.hasPendingUntrackedChanges || content.records.contains { scope.contains($0) }
                || content.database.contains { scope.contains(zone: $0.zoneID) }
        }
    }

    /// Runs `body` while the mutex is held, as the account that is signed in by then. Cancelling the caller's task
    /// cancels `body`.
    private func run(
        _ body: @escaping @Sendable (AccountSession) async throws(CKError) -> Void
    ) async -> Result<Void, CKError> {
        let id = UUID()
        let task = Task(executorPreference: environment.observer?.executor) { [self] () -> Result<Void, CKError> in
            environment.observer?.callWaits()
            return await runs.withLock {
                environment.observer?.callGoesOn()
                if Task.isCancelled { return .failure(.cancelled(nil)) }
                let session = database.account
                do throws(CKError) {
                    try await body(session)
                    return .success(())
                } catch {
                    if error.code == .notAuthenticated { forgetAccount(session) }
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
    /// Whether the engine itself retries after this error (CKSyncEngine, Apple's documentation).
    var isRetriedByEngine: Bool {
        switch code {
        case .notAuthenticated, .accountTemporarilyUnavailable, .networkFailure, .networkUnavailable,
            .requestRateLimited, .serviceUnavailable, .zoneBusy, .serverResponseLost, .operationCancelled:
            true
        default: false
        }
    }

    /// Returns the error itself if it is a `CKError`; otherwise wraps it in one.
    init(any error: any Error) {
        self = error as? CKError ?? CKError(.internalError, "\(error)")
    }
}
