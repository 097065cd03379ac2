/// An async mutex, which one task at a time holds. Waiting tasks get it in FIFO order.
final class AsyncMutex: Sendable {
    private struct Line: Sendable {
        var isBusy = false
        /// The FIFO queue of waiting tasks. The first one is at the index `head`.
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

    /// Runs `body` while the mutex is held.
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
