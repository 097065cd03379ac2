import NephosStorage
import Synchronization

/// Does the jobs of one store, one at a time, as long as there are any. They are in the store, so what a crash
/// interrupts goes on when the store is opened again.
final class BackgroundWork: Sendable {
    private let engine: any StorageEngine
    private let environment: ServiceEnvironment
    private let indexes: IndexCatalog
    private let accounts: Accounts
    /// Milliseconds that deletions are remembered; nil is for ever.
    private let retention: Int64?
    private let notifier: Notifier
    private let deliver: @Sendable (Notices) -> Void
    private let loop = WorkLoop()
    /// When old deletions are looked for again, milliseconds since 1970.
    private let nextPurge = Mutex(Int64.min)

    init(
        engine: any StorageEngine, environment: ServiceEnvironment, indexes: IndexCatalog, accounts: Accounts,
        notifier: Notifier, retention: Int64?, deliver: @escaping @Sendable (Notices) -> Void
    ) {
        self.engine = engine
        self.environment = environment
        self.indexes = indexes
        self.accounts = accounts
        self.notifier = notifier
        self.deliver = deliver
        self.retention = retention
    }

    /// Whether it is time to look for old deletions. Whoever changes records asks; where nobody does, nothing ages that
    /// anybody sees.
    var isPurgeDue: Bool {
        retention != nil && nextPurge.withLock { $0 } <= environment.now()
    }

    /// Says that it is time to look for old deletions, whenever that was done last.
    func wakeToForget() {
        nextPurge.withLock { $0 = .min }
        wake()
    }

    /// Says that there may be jobs.
    func wake() { loop.wake { await self.doJobs() } }

    /// Returns once no job is left, or a job failed (it is tried again at the next wake).
    func settle() async {
        wake()
        await loop.waitUntilIdle()
    }

    /// Stops after the step that is being done.
    func close() async { await loop.close() }

    /// - Returns: false where a job failed.
    private func doJobs() async -> Bool {
        do {
            while !loop.isClosed {
                guard let job = try await engine.read({ try $0.jobs(limit: 1) }).first else {
                    try await forgetOldDeletions()
                    return true
                }
                let notices = try await engine.write { [environment, indexes, accounts, notifier] transaction in
                    let writer = IndexWriter(definitions: try indexes.definitions(in: transaction), accounts: accounts)
                    return try BackgroundStep(
                        job: job, environment: environment, indexes: writer, notifier: notifier
                    ).run(in: transaction)
                }
                deliver(notices)
            }
            return true
        } catch {
            environment.log("background work stopped: \(error)")
            return false
        }
    }

    private func forgetOldDeletions() async throws {
        let now = environment.now()
        guard let retention, isPurgeDue else { return }
        _ = try await forgetDeletions(before: now - retention)
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
        while !loop.isClosed,
            try await engine.read({ try $0.hasForgettableZone(deletedBefore: time) })
        {
            zones += try await engine.write { try $0.forgetZones(deletedBefore: time, limit: limit) }
        }
        return (records, zones)
    }
}
