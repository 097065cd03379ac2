import NephosStorage

/// Runs blocking work on a thread of its own. Dispatch's queues would not do: they share their threads with the
/// cooperative pool.
func onThread<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
    try await withCheckedThrowingContinuation { continuation in
        do {
            try EngineThread.start { continuation.resume(with: Result { try body() }) }
        } catch {
            continuation.resume(throwing: error)
        }
    }
}

/// Runs `body` on the calling thread, which may block: what it starts there may read from the disk there and then.
package func onBlockingThread<T>(_ body: () throws -> T) rethrows -> T {
    try BlockingThread.run(body)
}
