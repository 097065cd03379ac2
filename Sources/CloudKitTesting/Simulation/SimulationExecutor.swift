import CloudKit
import Dispatch
import Synchronization

/// The executors of a simulation's devices: one for apps and their sync engines, and one for the library, which goes on
/// while an app blocks its thread until an operation ends.
struct SimulationExecutors: Sendable {
    let app = SimulationExecutor()
    let library = SimulationExecutor()

    /// Returns once both are idle, or after some real time if an app blocks its thread.
    func idle(for limit: Duration) async {
        let end = ContinuousClock.now + limit
        while !app.isIdle || !library.isIdle, .now < end {
            await app.drain(for: limit)
            await library.drain(for: limit)
        }
    }
}

/// Runs tasks one after the other, in the order in which they can go on. On several threads, two tasks that can go on at
/// the same time would do so in another order each time.
final class SimulationExecutor: SimulatedExecutor {
    // A serial queue has a thread of its own: the scheduler goes on if an app blocks that thread.
    private let queue = DispatchQueue(label: "CloudKitTesting.simulation")
    /// The jobs, and the work on other threads, that have not ended.
    private let jobs = Atomic(0)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.add(1, ordering: .relaxed)
        queue.async {
            job.runSynchronously(on: self.asUnownedTaskExecutor())
            self.jobs.subtract(1, ordering: .releasing)
        }
    }

    func workBegan() { jobs.add(1, ordering: .relaxed) }
    func workEnded() { jobs.subtract(1, ordering: .releasing) }

    var isIdle: Bool { jobs.load(ordering: .acquiring) == 0 }

    /// Returns after the jobs that are queued, or after some real time if one of them blocks the thread.
    func drain(for limit: Duration) async {
        if isIdle { return }
        await withCheckedContinuation { continuation in
            let waiting = Waiting(continuation)
            queue.async { waiting.resume() }
            DispatchQueue.global().asyncAfter(deadline: .now() + .microseconds(Int(limit.microseconds))) {
                waiting.resume()
            }
        }
    }

    /// A continuation that is resumed once.
    private final class Waiting: Sendable {
        private let continuation: Mutex<CheckedContinuation<Void, Never>?>

        init(_ continuation: CheckedContinuation<Void, Never>) { self.continuation = Mutex(continuation) }

        func resume() {
            let waiting = continuation.withLock { waiting in
                defer { waiting = nil }
                return waiting
            }
            waiting?.resume()
        }
    }
}
