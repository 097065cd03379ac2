import Dispatch
import Synchronization

/// Runs `body` as a task, and blocks until it completes. Only threads that may block call this, such as the main thread
/// of a command or the file threads of a store. The cooperative pool never calls it.
package func waiting<T: Sendable>(for body: @escaping @Sendable () async -> T) -> T {
    let outcome = Outcome<T>()
    let done = DispatchSemaphore(value: 0)
    Task {
        let value = await body()
        outcome.value.withLock { $0 = value }
        done.signal()
    }
    while true {
        done.wait()
        if let value = outcome.value.withLock({ $0 }) { return value }
    }
}

private final class Outcome<T: Sendable>: Sendable {
    let value = Mutex<T?>(nil)
}
