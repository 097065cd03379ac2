import Synchronization

/// A request's body while it arrives, for a handler that takes it piece by piece. The connection is read while the handler
/// waits for a piece, and no further: a handler that works on one meanwhile has two in memory, never more.
package final class BodyStream: Sendable {
    /// Why no more of a body comes.
    package enum Failure: Error {
        /// The connection is gone, or the server stops.
        case isCut
        case isTooSlow
    }

    /// Bytes that a piece has, but for the last one, where few bodies arrive.
    static let largestPiece = 256 * 1024
    /// Bytes that may arrive together with the last of a piece: more than the server reads at a time.
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

    /// The next piece; nil at the end.
    package func next() async throws -> [UInt8]? {
        try await withCheckedThrowingContinuation { continuation in
            state.withLock { $0.reader = continuation }
            wake()
        }
    }

    // MARK: The connection's thread

    /// Whether the handler waits for bytes: then the connection has to be read.
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

    /// The body is whole.
    func end() {
        state.withLock { $0.hasEnded = true }
        wake()
    }

    // MARK: Any thread

    /// No more comes.
    func fail(_ failure: Failure) {
        state.withLock { state in
            if !state.hasEnded { state.failure = state.failure ?? failure }
        }
        wake()
    }

    /// Gives the handler what there is for it, if it waits.
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

/// The bodies that arrive, so that a server that stops can end them.
final class BodyStreams: Sendable {
    /// Bytes that the pieces of many bodies have together, one of each.
    private static let budget = 32 << 20
    private static let smallestPiece = 16 * 1024

    private let streams = Mutex<[ObjectIdentifier: BodyStream]>([:])

    /// One more: the more there are, the smaller its pieces.
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
