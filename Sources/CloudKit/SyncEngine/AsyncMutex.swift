/// An async mutex: one task at a time, first in, first out.
final class AsyncMutex: Sendable {
    private struct Line: Sendable {
        var isBusy = false
        /// FIFO; the first waiter is at `head`.
        var waiting: [CheckedContinuation<Void, Never>] = []
        var head = 0

        mutating func next() -> CheckedContinuation<Void, Never>? {
            guard head < waiting.count else {
                waiting.removeAll(keepingCapacity: true)
                head = 0
                return nil
            }
            defer { head += 1 }
            return waiting[head]
        }
    }

    private let line = Locked(Line())

    /// Runs `body` with the lock held.
    func withLock<Value, Failure: Error>(_ body: () async throws(Failure) -> Value) async throws(Failure) -> Value {
        await wait()
        defer { pass() }
        return try await body()
    }

    private func wait() async {
        await withCheckedContinuation { continuation in
            let isFree = line.withLock { line in
                if line.isBusy {
                    line.waiting.append(continuation)
                    return false
                }
                line.isBusy = true
                return true
            }
            if isFree { continuation.resume() }
        }
    }

    private func pass() {
        let next = line.withLock { line in
            let next = line.next()
            if next == nil { line.isBusy = false }
            return next
        }
        next?.resume()
    }
}
