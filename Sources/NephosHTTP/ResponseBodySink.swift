import Glibc

/// The sink to which the transfer thread writes the body of a response.
///
/// The owner of the sink must call `end`, because a file stays open until then.
struct ResponseBodySink {
    enum Outcome {
        case taken
        /// The receiver is busy. libcurl passes the same bytes again later.
        case wait
        case fail(HTTPFailure)
    }

    private enum Content {
        case memory(limit: Int?)
        case file(String, Int32?)
        case pipe(DownloadPipe)
    }

    private var content: Content
    /// The bytes that were written to memory.
    private(set) var body: [UInt8] = []

    /// - Parameter pipe: receives the chunks; nil for any other destination.
    init(_ destination: HTTPResponseDestination, pipe: DownloadPipe?) {
        content =
            switch destination {
            case .memory: .memory(limit: nil)
            case .prefix(let count): .memory(limit: count)
            case .file(let path): .file(path, nil)
            case .chunks: pipe.map { .pipe($0) } ?? .memory(limit: 0)
            }
    }

    /// Prepares the destination after the header of the response has arrived. Returns the failure; nil for none.
    mutating func begin(isSuccess: Bool, length: Int64?) -> HTTPFailure? {
        switch content {
        case .memory(let limit):
            if let length { body.reserveCapacity(Int(clamping: min(length, Int64(limit ?? 1 << 20)))) }
        case .file(let path, nil) where isSuccess:
            let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { return .body("the answer's file cannot be made") }
            content = .file(path, descriptor)
        case .file(_, nil):
            content = .memory(limit: HTTPResponse.errorBodyLimit)
        case .pipe(let pipe) where !isSuccess:
            pipe.end()
            content = .memory(limit: HTTPResponse.errorBodyLimit)
        case .file, .pipe: break
        }
        return nil
    }

    mutating func write(_ bytes: UnsafeRawBufferPointer) -> Outcome {
        switch content {
        case .memory(let limit):
            if let limit {
                body.append(contentsOf: bytes.prefix(max(limit - body.count, 0)))
            } else {
                body.append(contentsOf: bytes)
            }
            return .taken
        case .file(_, let descriptor):
            return Self.write(bytes, to: descriptor ?? -1)
        case .pipe(let pipe):
            return switch pipe.write(bytes) {
            case .taken: .taken
            case .wait: .wait
            case .closed: .fail(HTTPFailure(.body, "the receiver of the answer's body failed"))
            }
        }
    }

    private static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Outcome {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { return .fail(.body("the answer's file cannot be written")) }
            rest = rest.dropFirst(count)
        }
        return .taken
    }

    /// Ends the transfer. Removes the file of a failed transfer.
    /// - Returns: a failure that only the end of the transfer reveals; nil for none.
    mutating func end(isWhole: Bool) -> HTTPFailure? {
        switch content {
        case .memory: return nil
        case .pipe(let pipe):
            pipe.end()
            return nil
        case .file(let path, let descriptor):
            guard let descriptor else { return nil }
            content = .memory(limit: 0)
            let isClosed = close(descriptor) == 0
            if isWhole && isClosed { return nil }
            let failure = HTTPFailure.body("the answer's file cannot be written")
            unlink(path)
            return isWhole ? failure : nil
        }
    }
}
