import Dispatch

/// Runs the tasks of a simulation's apps and of their sync engines one after the other, in the order in which they can go on. On several
/// threads, two tasks that can go on at the same time would do so in another order each time.
final class SimulationExecutor: TaskExecutor {
    // A serial queue has a thread of its own: the scheduler goes on if an app blocks that thread.
    private let queue = DispatchQueue(label: "CloudKitTesting.simulation")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
