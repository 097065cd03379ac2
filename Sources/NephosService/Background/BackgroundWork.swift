import NephosStorage
import Synchronization

/// Runs the jobs of one store, one at a time, until no job is left. Jobs are rows, so they resume when the store is
/// opened after a crash. A failed job is retried with back-off, and does not delay the other jobs.
final class BackgroundWork: Sendable {
    private let engine: any StorageEngine
    private let environment: ServiceEnvironment
    private let indexes: IndexCatalog
    private let accounts: Accounts
    /// The number of milliseconds for which tombstones are retained; nil if they are never purged.
    private let retention: Int64?
    private let outcomeBounds: OutcomeBounds
    private let notifier: Notifier
    private let tellSubscribers: @Sendable () -> Void
    private let loop = WorkLoop()
    /// The time of the next purge of tombstones, in milliseconds since 1970.
    private let nextPurge = Mutex(Int64.min)
    private let nextKeyPurge = Mutex(Int64.min)
    /// The number of bytes of request outcomes that this process stored per account since the account's last purge.
    private let outcomes = Mutex([Int64: Int]())
    private let schedule = Mutex(JobSchedule())
    private let pieces = Mutex(PieceSize())
    /// The timer that wakes the loop for the next retry.
    private let retry = RetryTimer()

    init(
        engine: any StorageEngine, environment: ServiceEnvironment, indexes: IndexCatalog, accounts: Accounts,
        notifier: Notifier, retention: Int64?, outcomeBounds: OutcomeBounds,
        tellSubscribers: @escaping @Sendable () -> Void
    ) {
        self.engine = engine
        self.environment = environment
        self.indexes = indexes
        self.accounts = accounts
        self.notifier = notifier
        self.tellSubscribers = tellSubscribers
        self.retention = retention
        self.outcomeBounds = outcomeBounds
    }

    /// Whether a purge of tombstones or request outcomes is due. Every change of records checks this, because without
    /// changes nothing that a client sees ages.
    var isPurgeDue: Bool {
        isDeletionPurgeDue || nextKeyPurge.withLock { $0 } <= environment.now()
    }

    private var isDeletionPurgeDue: Bool {
        retention != nil && nextPurge.withLock { $0 } <= environment.now()
    }

    /// Makes the purge of tombstones due now.
    func wakeToForget() {
        nextPurge.withLock { $0 = .min }
        wake()
    }

    /// Wakes the loop, because there may be jobs.
    func wake() { loop.wake { await self.doJobs() } }

    /// Returns once the loop is idle. Then only failed jobs are left, which are retried later.
    func settle() async {
        wake()
        await loop.waitUntilIdle()
    }

    /// Stops the loop after the current step.
    func close() async {
        await loop.close()
        retry.cancel()
    }

    /// - Returns: false after a failure, so that the loop waits for the next wake.
    private func doJobs() async -> Bool {
        defer { retryLater() }
        while !loop.isClosed {
            do {
                let (schedule, now) = (schedule.withLock { $0 }, environment.now())
                guard let job = try await engine.read({ try schedule.next(now: now, $0) }) else {
                    self.schedule.withLock { $0.foundNothing(at: now) }
                    break
                }
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

    /// Counts the bytes of a stored outcome of one of the account's requests.
    /// - Returns: whether a purge of that account's outcomes is due.
    func noteOutcome(_ bytes: Int, of account: Int64) -> Bool {
        outcomes.withLock { outcomes in
            outcomes[account, default: 0] += bytes
            return outcomes[account, default: 0] > Limits.requestOutcomesAhead
        }
    }

    /// Purges request outcomes that are too old for a retry or that exceed the limits.
    private func forgetRequestKeys() async {
        let now = environment.now()
        let isDue = nextKeyPurge.withLock { $0 } <= now
        let crowded = outcomes.withLock { outcomes in
            let crowded = outcomes.filter { $0.value > Limits.requestOutcomesAhead }.keys
            if isDue { outcomes = [:] } else { for account in crowded { outcomes[account] = nil } }
            return Array(crowded)
        }
        do {
            let purge = RequestKeyPurge(
                engine: engine, isStopped: { [loop] in loop.isClosed }, bounds: outcomeBounds)
            if isDue { try await purge.run(now: now) } else { try await purge.run(crowded, now: now) }
        } catch {
            environment.log("forgetting the outcomes of requests stopped: \(error)")
        }
        if isDue { nextKeyPurge.withLock { $0 = now + Limits.requestKeyPurgeInterval } }
    }

    /// Runs a piece of work in a transaction. Its duration decides the size of the next one.
    /// - Parameter body: takes the maximum number of records. It returns nil if nothing was done.
    private func doPiece(
        of owner: OwnerID, _ body: @escaping @Sendable (StorageTransaction, IndexWriter, Int) throws -> Bool?
    ) async throws -> Bool? {
        let limit = pieces.withLock { $0.records }
        let done: (leftEvents: Bool, duration: Duration)? = try await engine.write(of: [owner]) {
            [indexes, accounts, notifier] transaction in
            try notifier.watched.refresh(transaction)
            let writer = IndexWriter(definitions: try indexes.definitions(in: transaction), accounts: accounts)
            let start = ContinuousClock.now
            return try body(transaction, writer, limit).map { ($0, start.duration(to: .now)) }
        }
        guard let done else { return nil }
        pieces.withLock { $0.took(done.duration) }
        if done.leftEvents { tellSubscribers() }
        return done.leftEvents
    }

    /// Ends a deleted account's participations in others' shares, in pieces, so that owners see one participant less from
    /// then on. The account's job does what is left after a failure or a crash.
    func leaveShares(of account: AccountRow) async {
        do {
            var isDone = false
            while !isDone, !loop.isClosed {
                isDone =
                    try await doPiece(of: account.owner) { [environment, notifier] transaction, writer, limit in
                        let erasure = AccountErasure(
                            account: account, environment: environment, indexes: writer, notifier: notifier)
                        return try erasure.leaveShares(AccountErasure.count(limit), in: transaction)
                    } == nil
            }
        } catch {
            environment.log("the job of the deleted account \(account.id) ends its participations: \(error)")
        }
    }

    /// - Throws: only if the store is closed. A job that fails for another reason backs off.
    private func doStep(of job: JobRow) async throws {
        do {
            let leftEvents = try await doPiece(of: job.zone.owner) {
                [environment, notifier] transaction, writer, limit in
                guard try transaction.claim(job) else { return nil }
                let step = BackgroundStep(
                    job: job, limit: limit, environment: environment, indexes: writer, notifier: notifier)
                return try step.run(in: transaction)
            }
            guard leftEvents != nil else {
                // Another server claimed or finished the job. This server retries later, so that it takes over if the
                // other server dies.
                _ = schedule.withLock { $0.failed(job, now: environment.now()) }
                return
            }
            schedule.withLock { $0.succeeded(job) }
        } catch let error as StorageError where error.isOfClosedStore {
            throw error
        } catch {
            let now = environment.now()
            let pause = schedule.withLock { $0.failed(job, now: now) }
            environment.log(
                "job \(job.id) (\(job.kind) in zone \(job.zone.id)) failed, next attempt in \(pause) ms: \(error)")
        }
    }

    /// Wakes the loop when the next failed job is due.
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

    /// Purges the tombstones of records and zones that were deleted before a time. The purge runs in steps, so that it
    /// does not block other writers for long.
    /// - Returns: the numbers of purged records and zones.
    func forgetDeletions(before time: Int64) async throws -> (records: Int, zones: Int) {
        let limit = Limits.recordsPerBackgroundStep
        var (records, zones) = (0, 0)
        // Most purges find nothing, so a read comes first: it costs no commit.
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
