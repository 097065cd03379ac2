import Foundation

/// Runs the library's own work on threads of its own. An app may block every thread that Swift's tasks have, waiting
/// for a completion handler: Apple's framework calls it all the same, as its work is not on those threads.
final class LibraryExecutor: TaskExecutor {
    static let shared = LibraryExecutor()

    /// Serial queues, which get a thread each whatever other threads wait for; concurrent ones would share the threads
    /// that an app can block.
    private let lanes: [DispatchQueue]
    /// How many jobs each lane has.
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

    /// Does `work`, then calls `deliver`, which may be the app's and may block, with what came of it.
    static func run<Value: Sendable>(
        _ work: @escaping @Sendable () async -> Value, then deliver: @escaping @Sendable (Value) -> Void
    ) {
        Task(executorPreference: shared, priority: .userInitiated) {
            let value = await work()
            DispatchQueue(label: "CloudKit.callback").async { deliver(value) }
        }
    }
}
