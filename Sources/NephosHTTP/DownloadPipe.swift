import Synchronization

/// A buffer for the bytes of a response body, between the transfer thread, which must not block, and a task.
final class DownloadPipe: Sendable {
    /// The maximum size of the buffer in bytes. Beyond it, the connection is not read (backpressure).
    private static let limit = 256 * 1024

    private struct State {
        var bytes: [UInt8] = []
        var hasEnded = false
        /// Whether the task reads no more bytes.
        var isClosed = false
        /// Whether the transfer thread waits for the buffer to drain.
        var isThreadWaiting = false
        var consumer: CheckedContinuation<Void, Never>?
    }

    enum Outcome {
        case taken
        /// The buffer is full. `resume` is called once it has drained, and then libcurl passes the same bytes again.
        case wait
        case closed
    }

    private let state = Mutex(State())
    private let resume: @Sendable () -> Void

    /// - Parameter resume: makes the transfer thread write again.
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

    /// Ends the body, because the transfer has ended.
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

    /// Returns all bytes that have arrived since the last call, and waits for at least one; nil at the end.
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

    /// Ends reading by the task.
    func close() {
        state.withLock { state in
            state.isClosed = true
            state.bytes = []
        }
    }
}
