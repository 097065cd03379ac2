import Synchronization

/// A buffer for one chunk of a request body, between a task and the transfer thread, which must not block.
final class UploadPipe: Sendable {
    enum Outcome {
        case bytes(Int)
        case end
        /// No chunk is ready. `resume` is called once one is.
        case wait
        case fail(HTTPFailure)
    }

    private struct State {
        var chunk: ArraySlice<UInt8> = []
        var hasEnded = false
        var failure: HTTPFailure?
        /// Whether the transfer thread reads no more chunks.
        var isClosed = false
        /// Whether the transfer thread waits for a chunk.
        var isThreadWaiting = false
        /// The task that waits to pass the next chunk; nil if none does.
        var producer: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())
    private let resume: @Sendable () -> Void

    /// - Parameter resume: makes the transfer thread read again.
    init(resume: @escaping @Sendable () -> Void) {
        self.resume = resume
    }

    // MARK: The task

    /// Passes on chunks until the source ends or the transfer thread reads no more.
    func fill(from next: @Sendable () async throws -> [UInt8]?) async {
        do {
            while let chunk = try await next() {
                guard !chunk.isEmpty else { continue }
                guard await push(chunk) else { return }
            }
            change { $0.hasEnded = true }
        } catch {
            change { $0.failure = HTTPFailure(.body, "the body's source failed: \(error)", underlying: error) }
        }
    }

    /// Waits until the transfer thread has read the previous chunk.
    /// - Returns: false if the thread reads no more chunks.
    private func push(_ chunk: [UInt8]) async -> Bool {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                if state.chunk.isEmpty || state.isClosed { return true }
                state.producer = continuation
                return false
            }
            if isFree { continuation.resume() }
        }
        return change { state in
            if !state.isClosed { state.chunk = chunk[...] }
            return !state.isClosed
        }
    }

    private func change<T>(_ body: (inout State) -> T) -> T {
        let (result, isThreadWaiting) = state.withLock { state in
            let result = body(&state)
            defer { state.isThreadWaiting = false }
            return (result, state.isThreadWaiting)
        }
        if isThreadWaiting { resume() }
        return result
    }

    // MARK: The transfer thread

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Outcome {
        let (outcome, producer) = state.withLock { state -> (Outcome, CheckedContinuation<Void, Never>?) in
            if let failure = state.failure { return (.fail(failure), nil) }
            if state.chunk.isEmpty {
                if state.hasEnded { return (.end, nil) }
                state.isThreadWaiting = true
                return (.wait, nil)
            }
            let part = state.chunk.prefix(buffer.count)
            buffer.copyBytes(from: part)
            state.chunk = state.chunk.dropFirst(part.count)
            guard state.chunk.isEmpty else { return (.bytes(part.count), nil) }
            defer { state.producer = nil }
            return (.bytes(part.count), state.producer)
        }
        producer?.resume()
        return outcome
    }

    /// Ends reading by the transfer thread.
    func close() {
        let producer = state.withLock { state in
            state.isClosed = true
            state.isThreadWaiting = false
            defer { state.producer = nil }
            return state.producer
        }
        producer?.resume()
    }
}
