import Synchronization

/// Bytes of a body on their way from the transfer thread, which must not wait, to a task.
final class DownloadPipe: Sendable {
    /// Bytes that wait for the task; beyond them the connection is not read.
    private static let limit = 256 * 1024

    private struct State {
        var bytes: [UInt8] = []
        var hasEnded = false
        /// The task takes nothing more.
        var isClosed = false
        /// The thread was told to wait.
        var isThreadWaiting = false
        var consumer: CheckedContinuation<Void, Never>?
    }

    enum Outcome {
        case taken
        /// It is too much: `resume` is called once there is room; then the same bytes come again.
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

    /// The transfer is over.
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

    /// All bytes that have arrived since the last call; waits for some. Nil at the end.
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

    /// The task takes nothing more.
    func close() {
        state.withLock { state in
            state.isClosed = true
            state.bytes = []
        }
    }
}
