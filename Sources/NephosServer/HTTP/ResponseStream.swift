import CMicroHTTPD
import Dispatch
import Synchronization

/// A response body that is read while it is sent.
package protocol StreamedBody: AnyObject, Sendable {
    /// Reads bytes at an offset without blocking; nil if it would block.
    func readNow(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int?
    /// Reads up to `count` bytes at an offset, on a thread that may block, and calls `completion` on that thread.
    func read(_ count: Int, at offset: Int64, _ completion: @escaping @Sendable (Result<[UInt8], any Error>) -> Void)
}

/// A byte range of a streamed body.
package struct ResponseStream: Sendable {
    package var body: any StreamedBody
    package var offset: Int64
    /// The number of bytes; nil if the body ends with the first read of no bytes. Clients then detect a body that was
    /// cut off by its chunks.
    package var length: Int64?

    package init(_ body: any StreamedBody, offset: Int64, length: Int64?) {
        self.body = body
        self.offset = offset
        self.length = length
    }
}

/// Passes a streamed body to libmicrohttpd piece by piece. The connection is suspended while a thread reads from the
/// disk, so that the daemon's thread can serve other connections.
///
/// `@unchecked`: `connection` is used here only to suspend it, on its own thread, and to resume it, which any thread
/// may do. A lock guards the other state.
final class ResponseSender: @unchecked Sendable {
    private struct State {
        /// The bytes that were read ahead. The next property is their offset in the body.
        var piece: [UInt8] = []
        var start: Int64 = 0
        var failure = false
        var isAtEnd = false
    }

    /// The number of bytes per read from the disk and per call of the library.
    private static let pieceSize = 512 * 1024
    private static let blockSize = 256 * 1024
    /// The number of bytes per call of the library for an endless body, which has small pieces.
    private static let endlessBlockSize = 16 * 1024
    /// The value of `MHD_SIZE_UNKNOWN`.
    private static let unknownLength = UInt64.max

    private let stream: ResponseStream
    private let connection: OpaquePointer
    private let watched: WatchedConnection?
    private let options: HTTPServer.Options
    private let held: HeldBytes
    private let connections: ConnectionWatch
    private let endless: EndlessBodies
    /// The group that is entered while the connection is suspended.
    private let suspended: DispatchGroup
    private let state = Mutex(State())

    init(_ stream: ResponseStream, _ connection: OpaquePointer, _ watched: WatchedConnection?, _ bridge: HTTPBridge) {
        self.stream = stream
        self.connection = connection
        self.watched = watched
        options = bridge.options
        held = bridge.held
        suspended = bridge.runningHandlers
        connections = bridge.connections
        endless = bridge.endless
    }

    /// Returns the memory in bytes that sending a stream takes.
    static func memory(_ stream: ResponseStream) -> Int {
        if stream.body is any EndlessBody { return endlessBlockSize }
        guard let length = stream.length, length <= blockSize else { return blockSize + pieceSize }
        return 2 * Int(length)
    }

    func makeResponse() -> OpaquePointer? {
        let held = Unmanaged.passRetained(self)
        let isEndless = stream.body is any EndlessBody
        if let body = stream.body as? any EndlessBody, let watched {
            body.watch { [connections] in connections.hasGone(watched) }
        }
        let response = MHD_create_response_from_callback(
            stream.length.map { UInt64($0) } ?? Self.unknownLength,
            isEndless ? Self.endlessBlockSize : Self.blockSize, readCallback, held.toOpaque(), freeCallback)
        if response == nil { held.release() } else if isEndless { endless.add(self) }
        return response
    }

    /// Ends an endless body. A client that has not taken what was sent loses its connection.
    func endBody() {
        guard let body = stream.body as? any EndlessBody, !body.end(), let watched else { return }
        connections.end(watched)
    }

    fileprivate func leave() { endless.remove(self) }

    /// Reads the next piece. The library calls it once the client, or its socket, has taken the previous piece.
    /// - Returns: the number of bytes; 0 if the connection was suspended; the value of the body's end, or of a failure.
    fileprivate func read(into buffer: UnsafeMutableRawBufferPointer, at position: Int64) -> Int {
        let left = stream.length.map { Int(clamping: $0 - position) } ?? .max
        let count = min(buffer.count, left)
        let wanted = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
        let offset = stream.offset + position
        if let copied = copy(into: wanted, at: offset) { return allowed(copied) }
        let (hasFailed, isAtEnd) = state.withLock { ($0.failure, $0.isAtEnd) }
        if hasFailed { return ResponseEnd.error }
        if isAtEnd { return ResponseEnd.ofStream }
        do {
            if let read = try stream.body.readNow(into: wanted, at: offset) {
                return read > 0 ? allowed(read) : ResponseEnd.error
            }
        } catch {
            return ResponseEnd.error
        }
        watched?.suspendDeadline()
        // Enters the group before the connection can resume.
        suspended.enter()
        MHD_suspend_connection(connection)
        stream.body.read(min(Self.pieceSize, left), at: offset) { [self] result in
            state.withLock { state in
                if case .success(let piece) = result, !piece.isEmpty {
                    state.piece = piece
                    state.start = offset
                } else if case .success = result, stream.length == nil {
                    state.isAtEnd = true
                } else {
                    state.failure = true
                }
            }
            MHD_resume_connection(connection)
            suspended.leave()
        }
        return 0
    }

    /// Sets the deadline by which the client has to read a piece.
    private func allowed(_ bytes: Int) -> Int {
        watched?.allowPiece(options, bytes: bytes)
        if let watched { held.renew(watched) }
        return bytes
    }

    private func copy(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int? {
        state.withLock { state in
            let start = offset - state.start
            guard start >= 0, start < state.piece.count else { return nil }
            let count = min(buffer.count, state.piece.count - Int(start))
            state.piece.withUnsafeBytes { piece in
                buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: piece[Int(start)..<Int(start) + count]))
            }
            return count
        }
    }
}

private let readCallback: MHD_ContentReaderCallback = { closure, position, buffer, size in
    guard let closure, let buffer else { return ResponseEnd.error }
    let sender = Unmanaged<ResponseSender>.fromOpaque(closure).takeUnretainedValue()
    let room = UnsafeMutableRawBufferPointer(start: buffer, count: size)
    return sender.read(into: room, at: Int64(position))
}

private let freeCallback: MHD_ContentReaderFreeCallback = { closure in
    guard let closure else { return }
    let sender = Unmanaged<ResponseSender>.fromOpaque(closure)
    sender.takeUnretainedValue().leave()
    sender.release()
}

/// The results of the library's callback other than a number of bytes. The library's macros are casts, which Swift does
/// not import.
private enum ResponseEnd {
    /// The value of `MHD_CONTENT_READER_END_WITH_ERROR`. It closes the connection, so that the client detects an
    /// incomplete body.
    static let error = -2
    /// The value of `MHD_CONTENT_READER_END_OF_STREAM`.
    static let ofStream = -1
}
