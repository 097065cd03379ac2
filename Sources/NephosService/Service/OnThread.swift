import Dispatch
import NephosStorage

/// Runs blocking work on a thread that is not of the cooperative pool.
func onThread<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
    try await withCheckedThrowingContinuation { continuation in
        DispatchQueue.global().async {
            continuation.resume(with: Result { try body() })
        }
    }
}

/// Runs `body` on the calling thread, which may block: what it starts there may read from the disk there and then.
package func onBlockingThread<T>(_ body: () throws -> T) rethrows -> T {
    try BlockingThread.run(body)
}
