import CSQLite
import NephosStorage
import NephosThreads
import Synchronization

/// Checkpoints the write-ahead log on a thread of its own, concurrently with the writer.
///
/// By itself, SQLite would checkpoint within a commit, and every save would wait for two `fsync`s. A checkpoint that
/// runs concurrently with the writer never completes while saves continue, and the log is reset only after a complete
/// checkpoint. So if the log is long, and this thread has just checkpointed most of it, the writer checkpoints the
/// remainder.
///
/// While the store is idle, the thread checkpoints any log that is not very short. Readers then read every page from
/// the memory-mapped database, and the next commit resets the log.
final class Checkpointer: @unchecked Sendable {
    /// The writer's next step after a commit.
    enum Step {
        case nothing
        /// The writer checkpoints the remainder of the log itself.
        case finish
    }

    // Sendable because `lock` guards the following properties.
    private let lock = Lock()
    private let condition: Condition
    private var isWanted = false
    private var isStarted = false
    private var isRunning = false
    private var isStopping = false
    /// Whether this thread has checkpointed since the writer's last checkpoint.
    private var hasCheckpointed = false
    /// The time of the last commit; nil unless the log is to be checkpointed once the store is idle.
    private var lastCommit: MonotonicTime?
    private var afterIdle: (@Sendable () -> Void)?
    let idleCheckpoints = IdleCheckpoints()

    // Only the writer's thread uses the following properties.
    /// The total time in nanoseconds that commits have waited for a checkpoint or have run one.
    private(set) var commitNanoseconds: Int64 = 0
    private var lastPages = 0
    private var nextPages: Int

    /// The idle time in nanoseconds after which the thread ends. The next commit starts another thread.
    private static let restNanoseconds: Int64 = 10_000_000_000

    private let path: String
    private let options: SQLiteOptions

    /// - Parameter path: the path of a file that the writer has open.
    init(path: String, options: SQLiteOptions) {
        self.path = path
        self.options = options
        nextPages = options.checkpointPages
        condition = Condition(lock)
    }

    /// The length of the log in pages at which the writer helps with the checkpoint. At twice this length, commits wait
    /// for the checkpoint, so that the log is bounded on any disk.
    private var limit: Int { 4 * options.checkpointPages }

    /// Sets `body`, which the thread calls after every checkpoint of an idle store.
    func afterIdleCheckpoint(_ body: @escaping @Sendable () -> Void) {
        lock.withLock { afterIdle = body }
    }

    // MARK: The writer's thread

    /// Reacts to a commit, and runs `finish` if the writer has to checkpoint. The writer calls this after each commit
    /// with the length of the log in pages.
    func committed(pages: Int, finish: () -> Void) {
        // Fast path: nearly every commit needs no step.
        guard pages >= nextPages || pages >= limit else {
            _ = committed(pages: pages)
            return
        }
        let start = MonotonicTime.now
        if case .finish = committed(pages: pages) { finish() }
        commitNanoseconds += MonotonicTime.now - start
    }

    /// Returns the writer's next step after a commit, for the length of the log in pages.
    func committed(pages: Int) -> Step {
        // A shorter log than before was reset.
        if pages < lastPages { nextPages = options.checkpointPages }
        lastPages = pages
        if pages >= min(options.idlePages, options.checkpointPages) { noteCommit() }
        if pages < nextPages && pages < limit { return .nothing }
        let finishes = lock.withLock {
            while isRunning && pages >= 2 * limit { condition.wait() }
            let finishes = pages >= limit && !isRunning && hasCheckpointed || pages >= 2 * limit && pages >= nextPages
            if finishes { hasCheckpointed = false }
            isWanted = isWanted || !finishes && pages >= nextPages
            return finishes
        }
        if pages >= nextPages { nextPages = pages + options.checkpointPages }
        condition.signal()
        return finishes ? .finish : .nothing
    }

    private func noteCommit() {
        let (isFirst, starts) = lock.withLock {
            let isFirst = lastCommit == nil
            lastCommit = .now
            let starts = !isStarted
            isStarted = true
            return (isFirst, starts)
        }
        if starts { start() } else if isFirst { condition.signal() }
    }

    /// Ends the thread, and returns when the thread's connection is closed.
    func stop() {
        lock.withLock {
            isStopping = true
            condition.signal()
            while isStarted { condition.wait() }
        }
    }

    private func start() {
        do {
            try NativeThread.start("checkpointer") { [self] in runUntilRest() }
        } catch {
            // Without this thread, the writer eventually checkpoints the log.
            lock.withLock { (isStarted, isWanted) = (false, false) }
        }
    }

    // MARK: The thread

    private func runUntilRest() {
        var isOver = false
        while !isOver {
            let connection = try? StoreFile.openCheckpointer(path, options)
            while let reason = awaitReason() { checkpoint(connection, reason) }
            connection?.close()
            isOver = lock.withLock {
                // The writer may have requested a checkpoint meanwhile.
                if !isStopping && (isWanted || lastCommit != nil) { return false }
                isStarted = false
                condition.signal()
                return true
            }
        }
    }

    private func checkpoint(_ connection: Connection?, _ reason: Reason) {
        let isWhole = connection?.checkpoint() ?? true
        let afterIdle = lock.withLock {
            (isRunning, hasCheckpointed) = (false, true)
            // A read may need the remainder of the log for a while, so the thread tries again later.
            if !isWhole && lastCommit == nil { lastCommit = .now }
            // The writer may be waiting for this checkpoint.
            condition.signal()
            return self.afterIdle
        }
        guard reason == .idle && isWhole else { return }
        idleCheckpoints.count.add(1, ordering: .releasing)
        afterIdle?()
    }

    private enum Reason {
        case length, idle
    }

    /// Waits for a reason to checkpoint; nil after the idle time, or if the thread has to stop.
    private func awaitReason() -> Reason? {
        lock.withLock {
            while !isWanted && !isStopping {
                guard let lastCommit else {
                    let isWoken = condition.wait(until: .now + Self.restNanoseconds)
                    if !isWoken && !isWanted && self.lastCommit == nil { return nil }
                    continue
                }
                let end = lastCommit + options.idleNanoseconds
                if MonotonicTime.now >= end { break }
                _ = condition.wait(until: end)
            }
            if isStopping { return nil }
            let reason = isWanted ? Reason.length : .idle
            if reason == .idle { lastCommit = nil }
            (isWanted, isRunning) = (false, true)
            return reason
        }
    }
}

/// The number of checkpoints of an idle store, after each of which readers find every page in the database file.
final class IdleCheckpoints: Sendable {
    let count = Atomic(0)
}
