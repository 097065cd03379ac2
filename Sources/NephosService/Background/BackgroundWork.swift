import NephosStorage
import Synchronization

/// Does the jobs of one store, one at a time, as long as there are any. They are in the store, so what a crash
/// interrupts goes on when the store is opened again. One that fails is tried again later, and holds up no other.
final class BackgroundWork: Sendable {
    private let engine: any StorageEngine
    private let environment: ServiceEnvironment
    private let indexes: IndexCatalog
    private let accounts: Accounts
    /// Milliseconds that deletions are remembered; nil is for ever.
    private let retention: Int64?
    private let notifier: Notifier
    private let tellSubscribers: @Sendable () -> Void
    private let loop = WorkLoop()
    /// When old deletions are looked for again, milliseconds since 1970.
    private let nextPurge = Mutex(Int64.min)
    private let nextKeyPurge = Mutex(Int64.min)
    /// Bytes of outcomes that this process has kept for accounts since they were looked at.
    private let outcomes = Mutex([Int64: Int]())
    private let schedule = Mutex(JobSchedule())
    private let pieces = Mutex(PieceSize())
    /// Waits for the job that may be tried again next.
    private let retry = RetryTimer()

    init(
        engine: any StorageEngine, environment: ServiceEnvironment, indexes: IndexCatalog, accounts: Accounts,
        notifier: Notifier, retention: Int64?, tellSubscribers: @escaping @Sendable () -> Void
    ) {
        self.engine = engine
        self.environment = environment
        self.indexes = indexes
        self.accounts = accounts
        self.notifier = notifier
        self.tellSubscribers = tellSubscribers
        self.retention = retention
    }

    /// Whether it is time to look for old deletions. Every change of records asks; without one, nothing ages
    /// that a client sees.
    var isPurgeDue: Bool {
        isDeletionPurgeDue || nextKeyPurge.withLock { $0 } <= environment.now()
    }

    private var isDeletionPurgeDue: Bool {
        retention != nil && nextPurge.withLock { $0 } <= environment.now()
    }

    /// Says that it is time to look for old deletions, whenever that was done last.
    func wakeToForget() {
        nextPurge.withLock { $0 = .min }
        wake()
    }

    /// Says that there may be jobs.
    func wake() { loop.wake { await self.doJobs() } }

    /// Returns once no job is left but for those that failed, which are tried again later.
    func settle() async {
        wake()
        await loop.waitUntilIdle()
    }

    /// Stops after the step that is being done.
    func close() async {
        await loop.close()
        retry.cancel()
    }

    /// - Returns: false where nothing more can be done for now.
    private func doJobs() async -> Bool {
        defer { retryLater() }
        while !loop.isClosed {
            do {
                let (schedule, now) = (schedule.withLock { $0 }, environment.now())
                guard let job = try await engine.read({ try schedule.next(now: now, $0) }) else { break }
                self.schedule.withLock { $0.begin(job) }
                try await doStep(of: job)
            } catch {
                environment.log("background work stopped: \(error)")
                return false
            }
        }
        await forgetOldDeletions()
        await forgetRequestKeys()
        return true
    }

    /// Notes how much is kept of an account's request that was carried out.
    /// - Returns: whether it is time to look at that account's.
    func noteOutcome(_ bytes: Int, of account: Int64) -> Bool {
        outcomes.withLock { outcomes in
            outcomes[account, default: 0] += bytes
            return outcomes[account, default: 0] > Limits.requestOutcomesAhead
        }
    }

    /// Removes the outcomes of requests that are not repeated any more, and those that are too many.
    private func forgetRequestKeys() async {
        let now = environment.now()
        let isDue = nextKeyPurge.withLock { $0 } <= now
        let crowded = outcomes.withLock { outcomes in
            let crowded = outcomes.filter { $0.value > Limits.requestOutcomesAhead }.keys
            if isDue { outcomes = [:] } else { for account in crowded { outcomes[account] = nil } }
            return Array(crowded)
        }
        do {
            let purge = RequestKeyPurge(engine: engine, isStopped: { [loop] in loop.isClosed })
            if isDue { try await purge.run(now: now) } else { try await purge.run(crowded, now: now) }
        } catch {
            environment.log("forgetting the outcomes of requests stopped: \(error)")
        }
        if isDue { nextKeyPurge.withLock { $0 = now + Limits.requestKeyPurgeInterval } }
    }

    /// - Throws: only where the store is closed: what fails otherwise waits.
    private func doStep(of job: JobRow) async throws {
        do {
            let limit = pieces.withLock { $0.records }
            let done: (leftEvents: Bool, duration: Duration)? = try await engine.write {
                [environment, indexes, accounts, notifier] transaction in
                guard try transaction.claim(job) else { return nil }
                try notifier.watched.refresh(transaction)
                let writer = IndexWriter(definitions: try indexes.definitions(in: transaction), accounts: accounts)
                let step = BackgroundStep(
                    job: job, limit: limit, environment: environment, indexes: writer, notifier: notifier)
                let start = ContinuousClock.now
                return (try step.run(in: transaction), start.duration(to: .now))
            }
            guard let done else {
                // Another server does it, or did. Should that one die, this one takes it over.
                _ = schedule.withLock { $0.failed(job, now: environment.now()) }
                return
            }
            pieces.withLock { $0.took(done.duration) }
            schedule.withLock { $0.succeeded(job) }
            if done.leftEvents { tellSubscribers() }
        } catch let error as StorageError where error.code == .closed {
            throw error
        } catch {
            let now = environment.now()
            let pause = schedule.withLock { $0.failed(job, now: now) }
            environment.log(
                "job \(job.id) (\(job.kind) in zone \(job.zone.id)) failed, next attempt in \(pause) ms: \(error)")
        }
    }

    /// Wakes the loop when the next job that failed may be tried again.
    private func retryLater() {
        guard !loop.isClosed, let due = schedule.withLock({ $0.nextDue }) else { return }
        retry.wake(at: due, environment) { [weak self] in self?.wake() }
    }

    private func forgetOldDeletions() async {
        let now = environment.now()
        guard let retention, isDeletionPurgeDue else { return }
        do {
            _ = try await forgetDeletions(before: now - retention)
        } catch {
            environment.log("forgetting old deletions stopped: \(error)")
        }
        nextPurge.withLock { $0 = now + min(retention, Limits.purgeInterval) }
    }

    /// Forgets the deletions of records and zones before a time, step by step, so that other writers get their turn.
    /// - Returns: how many.
    func forgetDeletions(before time: Int64) async throws -> (records: Int, zones: Int) {
        let limit = Limits.recordsPerBackgroundStep
        var (records, zones) = (0, 0)
        // Reading first costs no commit where there is nothing to do, which is nearly always.
        while !loop.isClosed, try await engine.read({ try $0.hasTombstone(deletedBefore: time) }) {
            records += try await engine.write { try $0.purgeTombstones(deletedBefore: time, limit: limit) }
        }
        while !loop.isClosed, try await engine.read({ try $0.hasSharedRecord(goneBefore: time) }) {
            _ = try await engine.write { try $0.purgeSharedRecords(goneBefore: time, limit: limit) }
        }
        while !loop.isClosed, try await engine.read({ try $0.hasShare(endedBefore: time) }) {
            _ = try await engine.write { try $0.purgeShares(endedBefore: time, limit: limit) }
        }
        while !loop.isClosed,
            try await engine.read({ try $0.hasForgettableZone(deletedBefore: time) })
        {
            zones += try await engine.write { try $0.forgetZones(deletedBefore: time, limit: limit) }
        }
        return (records, zones)
    }
}
