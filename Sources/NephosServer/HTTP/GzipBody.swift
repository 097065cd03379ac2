import CZlib
import NephosService
import NephosWire

/// Decodes a request's body with `Content-Encoding: gzip` (RFC 1952), and encodes an answer's.
enum GzipBody {
    enum Failure: Error, Hashable {
        /// The body is not in gzip format, is damaged, or is truncated.
        case malformed
        /// The inflated body exceeds the limit.
        case tooLarge
    }

    /// The number of bytes that are inflated per step.
    private static let step = 64 * 1024

    /// Inflates all members of a body, one after another.
    /// - Parameter limit: the maximum size of the result in bytes. Inflation stops there, whatever size the body
    ///   announces.
    static func inflate(_ body: [UInt8], limit: Int) throws(Failure) -> [UInt8] {
        var stream = z_stream()
        guard nephos_gzip_reader_init(&stream) == Z_OK else { throw .malformed }
        defer { inflateEnd(&stream) }
        var result: [UInt8] = []
        let outcome = body.withUnsafeBufferPointer { input -> Result<Void, Failure> in
            stream.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
            stream.avail_in = UInt32(input.count)
            while true {
                switch next(&stream, &result) {
                case Z_OK: break
                case Z_STREAM_END where stream.avail_in == 0:
                    return result.count > limit ? .failure(.tooLarge) : .success(())
                case Z_STREAM_END: inflateReset(&stream)
                default: return .failure(.malformed)
                }
                if result.count > limit { return .failure(.tooLarge) }
            }
        }
        try outcome.get()
        return result
    }

    /// Inflates one step and appends it to `result`.
    private static func next(_ stream: inout z_stream, _ result: inout [UInt8]) -> Int32 {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: step) { output in
            stream.next_out = output.baseAddress
            stream.avail_out = UInt32(output.count)
            let status = zlibInflate(&stream)
            result.append(contentsOf: output.prefix(output.count - Int(stream.avail_out)))
            return status
        }
    }

    /// Returns bytes in gzip format; nil if zlib has no memory.
    static func deflate(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
        var stream = z_stream()
        guard nephos_gzip_writer_init(&stream) == Z_OK else { return nil }
        defer { deflateEnd(&stream) }
        let input = bytes.bindMemory(to: UInt8.self)
        var isWhole = false
        let result = [UInt8](unsafeUninitializedCapacity: Int(deflateBound(&stream, UInt(input.count)))) {
            output, count in
            stream.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
            stream.avail_in = UInt32(input.count)
            stream.next_out = output.baseAddress
            stream.avail_out = UInt32(output.count)
            isWhole = CZlib.deflate(&stream, Z_FINISH) == Z_STREAM_END
            count = output.count - Int(stream.avail_out)
        }
        return isWhole ? result : nil
    }

    /// Whether a client takes gzip, by its header `Accept-Encoding` (RFC 9110 §12.5.3).
    static func isAccepted(_ header: String) -> Bool {
        header.lowercased().split(separator: ",").contains { element in
            let parts = element.split(separator: ";").map { $0.filter { $0 != " " } }
            return parts.first == "gzip"
                && !parts.dropFirst().contains { ["q=0", "q=0.0", "q=0.00", "q=0.000"].contains($0) }
        }
    }

    private static func zlibInflate(_ stream: inout z_stream) -> Int32 {
        CZlib.inflate(&stream, Z_NO_FLUSH)
    }
}

extension HTTPRequest {
    /// Returns the request with its body inflated.
    /// - Parameter limit: the maximum size of the inflated body in bytes.
    func decoded(limit: Int) throws(Refusal) -> HTTPRequest {
        guard let contentEncoding, !body.isEmpty else { return self }
        var request = self
        switch contentEncoding.lowercased() {
        case "identity", "": return self
        case "gzip", "x-gzip":
            do throws(GzipBody.Failure) {
                request.body = try GzipBody.inflate(body, limit: limit)
            } catch {
                switch error {
                case .tooLarge: throw .bodyTooLarge(limit: limit)
                case .malformed:
                    throw Refusal(.badRequest, "the body is not the gzip that its Content-Encoding says it is")
                }
            }
            if let holds = request.holdsBody, !holds(request.body.count) { throw Refusal(ServiceError.noRoom) }
            return request
        default: throw .unknownEncoding(contentEncoding)
        }
    }
}
