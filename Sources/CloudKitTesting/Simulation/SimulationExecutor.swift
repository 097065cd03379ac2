import Dispatch
import Synchronization

/// Runs the tasks of a simulation's apps and of their sync engines one after the other, in the order in which they can go on. On several
/// threads, two tasks that can go on at the same time would do so in another order each time.
final class SimulationExecutor: TaskExecutor {
    // A serial queue has a thread of its own: the scheduler goes on if an app blocks that thread.
    private let queue = DispatchQueue(label: "CloudKitTesting.simulation")
    /// The jobs that have not ended.
    private let jobs = Atomic(0)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.add(1, ordering: .relaxed)
        queue.async {
            job.runSynchronously(on: self.asUnownedTaskExecutor())
            self.jobs.subtract(1, ordering: .releasing)
        }
    }

    /// Returns once no job is left.
    func idle() async {
        while jobs.load(ordering: .acquiring) > 0 {
            await withCheckedContinuation { waiting in queue.async { waiting.resume() } }
        }
    }
}
