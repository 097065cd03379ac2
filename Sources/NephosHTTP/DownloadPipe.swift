import Synchronization

/// A buffer for bytes of a body between the transfer thread, which must not block, and a task.
final class DownloadPipe: Sendable {
    /// The buffer's limit in bytes; beyond it the connection is not read (backpressure).
    private static let limit = 256 * 1024

    private struct State {
        var bytes: [UInt8] = []
        var hasEnded = false
        /// The task reads no more.
        var isClosed = false
        /// The thread has to wait.
        var isThreadWaiting = false
        var consumer: CheckedContinuation<Void, Never>?
    }

    enum Outcome {
        case taken
        /// The buffer is full: `resume` is called once it has drained; then the same bytes are passed again.
        case wait
        case closed
    }

    private let state = Mutex(State())
    private let resume: @Sendable () -> Void

    /// - Parameter resume: makes the thread write again.
    init(resume: @escaping @Sendable () -> Void) {
        self.resume = resume
    }

    // MARK: The transfer thread

    func write(_ bytes: UnsafeRawBufferPointer) -> Outcome {
        let (outcome, consumer) = state.withLock { state -> (Outcome, CheckedContinuation<Void, Never>?) in
            if state.isClosed { return (.closed, nil) }
            if !state.bytes.isEmpty && state.bytes.count + bytes.count > Self.limit {
                state.isThreadWaiting = true
                return (.wait, nil)
            }
            state.bytes.append(contentsOf: bytes)
            defer { state.consumer = nil }
            return (.taken, state.consumer)
        }
        consumer?.resume()
        return outcome
    }

    /// Ends the transfer.
    func end() {
        let consumer = state.withLock { state in
            state.hasEnded = true
            state.isThreadWaiting = false
            defer { state.consumer = nil }
            return state.consumer
        }
        consumer?.resume()
    }

    // MARK: The task

    /// All bytes that arrived since the last call; waits for at least one. Nil at the end.
    func next() async -> [UInt8]? {
        await withCheckedContinuation { continuation in
            let isReady = state.withLock { state in
                if !state.bytes.isEmpty || state.hasEnded { return true }
                state.consumer = continuation
                return false
            }
            if isReady { continuation.resume() }
        }
        let (bytes, isThreadWaiting) = state.withLock { state in
            defer {
                state.bytes = []
                state.isThreadWaiting = false
            }
            return (state.bytes, state.isThreadWaiting)
        }
        if isThreadWaiting { resume() }
        return bytes.isEmpty ? nil : bytes
    }

    /// Stops reading on the task's side.
    func close() {
        state.withLock { state in
            state.isClosed = true
            state.bytes = []
        }
    }
}
