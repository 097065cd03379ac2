import NephosStorage

/// Runs blocking work on one of a few threads. Dispatch's queues would not do: they share their threads with the
/// cooperative pool.
func onThread<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
    try await openingThreads.run(body)
}

private let openingThreads = FileThreads(limit: Limits.openingThreads)

/// Runs `body` on the calling thread, which may block: what it starts there may read from the disk there and then.
package func onBlockingThread<T>(_ body: () throws -> T) rethrows -> T {
    try BlockingThread.run(body)
}
