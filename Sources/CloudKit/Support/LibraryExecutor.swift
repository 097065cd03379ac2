import Foundation

/// An executor that runs the library's own work on dedicated threads. While an app waits for a completion handler, it
/// can block every thread of Swift's cooperative pool. Apple's framework calls the handler even then, because its work
/// does not use those threads.
final class LibraryExecutor: TaskExecutor {
    static let shared = LibraryExecutor()

    /// Serial queues, each with a thread of its own, whichever other threads are blocked. Concurrent queues would share
    /// the threads that an app can block.
    private let lanes: [DispatchQueue]
    /// The number of jobs in each lane, in the lanes' order.
    private let loads: Locked<[Int]>

    private init() {
        let count = max(4, 2 * ProcessInfo.processInfo.activeProcessorCount)
        lanes = (0..<count).map { DispatchQueue(label: "CloudKit.\($0)") }
        loads = Locked(Array(repeating: 0, count: count))
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let lane = loads.withLock { loads in
            let lane = loads.indices.min { loads[$0] < loads[$1] } ?? 0
            loads[lane] += 1
            return lane
        }
        lanes[lane].async {
            job.runSynchronously(on: self.asUnownedTaskExecutor())
            self.loads.withLock { $0[lane] -= 1 }
        }
    }

    /// Runs `work`, then passes its result to `deliver`, which can be the app's handler and can block its thread.
    /// - Parameters:
    ///   - service: the service of which `work` asks something.
    ///   - directory: where `CKContainer.default()` means a container of a test's cloud in `deliver`.
    static func run<Value: Sendable>(
        for service: any CloudService, in directory: ServiceDirectory?, _ work: @escaping @Sendable () async -> Value,
        then deliver: @escaping @Sendable (Value) -> Void
    ) {
        let simulated = service.simulatedExecutor
        Task(executorPreference: service.executor, priority: .userInitiated) {
            let value = await work()
            simulated?.workBegan()
            DispatchQueue(label: "CloudKit.callback").async {
                ServiceDirectory.run(in: directory) { deliver(value) }
                simulated?.workEnded()
            }
        }
    }
}

/// Runs the library's tasks of a simulated device, and knows when none can go on.
package protocol SimulatedExecutor: TaskExecutor {
    /// Notes that work begins on another thread, after which a task goes on: an app's handler, or the reading of a file.
    func workBegan()
    func workEnded()
}
