import Synchronization

/// A request's body for a handler that reads it piece by piece while it arrives. The connection is read only while the
/// handler waits for a piece (backpressure), so at most two pieces are in memory: the one in use and the next one.
package final class BodyStream: Sendable {
    /// The reason why a body ended early.
    package enum Failure: Error {
        /// The connection was lost, or the server is stopping.
        case isCut
        case isTooSlow
    }

    /// The maximum size of a piece in bytes. Every piece but the last has this size, while few bodies arrive.
    static let largestPiece = 256 * 1024
    /// The maximum number of bytes by which a piece may exceed its size: more than the server reads at a time.
    private static let pieceSlack = 32 * 1024

    private struct State {
        var piece: [UInt8] = []
        var hasEnded = false
        var failure: Failure?
        var reader: CheckedContinuation<[UInt8]?, any Error>?
        var received: Int64 = 0
    }

    private let state = Mutex(State())
    private let begin = ContinuousClock.now
    let pieceSize: Int

    init(pieceSize: Int = largestPiece) { self.pieceSize = pieceSize }

    // MARK: The handler

    /// Waits for the next piece; nil at the end of the body.
    package func next() async throws -> [UInt8]? {
        try await withCheckedThrowingContinuation { continuation in
            state.withLock { $0.reader = continuation }
            wake()
        }
    }

    // MARK: The connection's thread

    /// Whether the handler waits for bytes, so that the connection must be read.
    var isWanted: Bool { state.withLock { $0.reader != nil } }

    func receive(_ bytes: UnsafeRawBufferPointer, slowest: Int64, grace: Duration) {
        let received = state.withLock { state in
            if state.piece.isEmpty { state.piece.reserveCapacity(pieceSize + Self.pieceSlack) }
            state.piece.append(contentsOf: bytes)
            state.received += Int64(bytes.count)
            return state.received
        }
        let elapsed = ContinuousClock.now - begin
        if elapsed > grace, received < slowest * elapsed.components.seconds { return fail(.isTooSlow) }
        wake()
    }

    /// Ends the body after all of it has arrived.
    func end() {
        state.withLock { $0.hasEnded = true }
        wake()
    }

    // MARK: Any thread

    /// Ends the body early, with the reason `failure`.
    func fail(_ failure: Failure) {
        state.withLock { state in
            if !state.hasEnded { state.failure = state.failure ?? failure }
        }
        wake()
    }

    /// Passes the available bytes to a handler that waits for them.
    private func wake() {
        let (reader, result) = state.withLock {
            state -> (CheckedContinuation<[UInt8]?, any Error>?, Result<[UInt8]?, any Error>) in
            guard let reader = state.reader else { return (nil, .success(nil)) }
            if let failure = state.failure {
                state.reader = nil
                return (reader, .failure(failure))
            }
            let isDue = state.hasEnded || state.piece.count >= pieceSize
            guard isDue else { return (nil, .success(nil)) }
            state.reader = nil
            if state.piece.isEmpty { return (reader, .success(nil)) }
            defer { state.piece = [] }
            return (reader, .success(state.piece))
        }
        reader?.resume(with: result)
    }
}

/// The set of arriving bodies, by which a stopping server ends them.
final class BodyStreams: Sendable {
    /// The maximum memory in bytes for one piece of each arriving body, over all bodies.
    private static let budget = 32 << 20
    private static let smallestPiece = 16 * 1024

    private let streams = Mutex<[ObjectIdentifier: BodyStream]>([:])

    /// Adds a stream. More streams mean smaller pieces.
    func begin() -> BodyStream {
        streams.withLock { streams in
            let share = max(Self.smallestPiece, Self.budget / (streams.count + 1))
            let stream = BodyStream(pieceSize: min(BodyStream.largestPiece, share))
            streams[ObjectIdentifier(stream)] = stream
            return stream
        }
    }

    func remove(_ stream: BodyStream) { streams.withLock { $0[ObjectIdentifier(stream)] = nil } }
    func cutAll() { for stream in streams.withLock({ Array($0.values) }) { stream.fail(.isCut) } }
}
