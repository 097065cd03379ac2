import Glibc

/// The source from which the transfer thread reads the body of a request.
final class RequestBodySource {
    private enum Content {
        case bytes(ArraySlice<UInt8>)
        case file(Int32)
        case pipe(UploadPipe)
    }

    private var content: Content
    /// The size of the body in bytes; nil if it is unknown.
    let length: Int64?

    /// Nil if the request has no body.
    /// - Parameter pipe: passes on the chunks of `body`; nil for any other kind of body.
    init?(_ body: HTTPRequestBody, pipe: UploadPipe?) throws(HTTPFailure) {
        switch body {
        case .none:
            return nil
        case .bytes(let bytes):
            content = .bytes(bytes[...])
            length = Int64(bytes.count)
        case .file(let path):
            let descriptor = open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw .body("the body's file cannot be opened") }
            var status = stat()
            guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
                close(descriptor)
                throw HTTPFailure(.body, "the body's file is no file")
            }
            content = .file(descriptor)
            length = Int64(status.st_size)
        case .chunks(let length, _):
            guard let pipe else { return nil }
            content = .pipe(pipe)
            self.length = length
        }
    }

    deinit {
        switch content {
        case .bytes: break
        case .file(let descriptor): close(descriptor)
        case .pipe(let pipe): pipe.close()
        }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> UploadPipe.Outcome {
        switch content {
        case .bytes(let rest):
            let part = rest.prefix(buffer.count)
            buffer.copyBytes(from: part)
            content = .bytes(rest.dropFirst(part.count))
            return part.isEmpty ? .end : .bytes(part.count)
        case .file(let descriptor):
            while true {
                let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
                if count < 0 && errno == EINTR { continue }
                if count < 0 { return .fail(.body("the body's file cannot be read")) }
                return count == 0 ? .end : .bytes(count)
            }
        case .pipe(let pipe):
            return pipe.read(into: buffer)
        }
    }
}
