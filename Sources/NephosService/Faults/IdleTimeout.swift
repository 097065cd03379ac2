import Synchronization

/// The timeout of a request that a test holds, or of a terminated app: it starts again with each other request. A test that
/// awaits such a request sends no other, and would hang without a word.
package final class IdleTimeout: Sendable {
    private let requests = Atomic(0)
    private let time = Mutex(Duration.seconds(60))

    /// The real time without another request.
    package var limit: Duration {
        get { time.withLock { $0 } }
        set { time.withLock { $0 = newValue } }
    }

    /// Notes that a client sends a request.
    func noteRequest() { requests.add(1, ordering: .relaxed) }

    /// Returns once a latch is open, the caller's task is cancelled, or no request came for too long.
    /// - Returns: false in the last case.
    package func wait(for latch: Latch) async -> Bool {
        while true {
            let before = requests.load(ordering: .relaxed)
            if await latch.wait(within: limit) || Task.isCancelled { return true }
            if requests.load(ordering: .relaxed) == before { return false }
        }
    }
}
