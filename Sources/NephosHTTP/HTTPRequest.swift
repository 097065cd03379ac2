/// One HTTP request and the destination of its answer.
package struct HTTPRequest: Sendable {
    package enum Method: String, CaseIterable, Hashable, Sendable {
        case get = "GET"
        case head = "HEAD"
        case post = "POST"
        case put = "PUT"
        case delete = "DELETE"
    }

    package var method: Method
    /// An absolute http or https URL.
    package var url: String
    /// Names and values, without line breaks.
    package var headers: [(name: String, value: String)]
    package var body: HTTPRequestBody
    package var destination = HTTPResponseDestination.memory
    /// The idle time-out, without any byte sent or received, from the first attempt to connect on; nil for no limit.
    /// Time spent in the caller's stream does not count.
    package var silenceLimit: Duration?
    /// The total time-out, from the name lookup to the last byte of the answer; nil for no limit.
    package var totalLimit: Duration?
    /// Whether it may be retried if a keep-alive connection turns out to be closed. Otherwise no byte of a body is ever
    /// sent twice.
    package var isIdempotent: Bool
    /// The maximum number of redirects to follow. Only a request without a body is redirected; otherwise the redirect
    /// itself is the answer.
    package var redirectLimit = 0
    /// The signing credentials; nil for an unsigned request.
    package var signature: HTTPSignature?
    /// Called on the client's thread after bytes of the bodies were sent or received. It must not block.
    package var progress: (@Sendable (HTTPProgress) -> Void)?

    /// - Parameters:
    ///   - isIdempotent: true by default for GET and HEAD only.
    package init(
        _ method: Method = .get, _ url: String, headers: [(name: String, value: String)] = [],
        body: HTTPRequestBody = .none, isIdempotent: Bool? = nil
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.isIdempotent = isIdempotent ?? (method == .get || method == .head)
    }
}

/// AWS Signature Version 4, as object storage requires it. The request needs a header `x-amz-content-sha256`, and its
/// URL's query must be sorted and percent-encoded: both are signed verbatim.
package struct HTTPSignature: Sendable {
    package var accessKey: String
    package var secretKey: String
    package var region: String
    /// `s3`.
    package var service: String

    package init(accessKey: String, secretKey: String, region: String, service: String) {
        self.accessKey = accessKey
        self.secretKey = secretKey
        self.region = region
        self.service = service
    }
}

/// The body of a request.
package enum HTTPRequestBody: Sendable {
    case none
    case bytes([UInt8])
    /// The file, with its length at the time of sending.
    case file(path: String)
    /// The chunks that `next` returns until nil. It is called after the connection has taken the previous chunk, so a
    /// slow connection slows the source down (backpressure). A thrown error ends the request.
    /// - Parameter length: in bytes; nil if unknown.
    case chunks(length: Int64?, next: @Sendable () async throws -> [UInt8]?)
}

/// The destination of an answer's body.
///
/// Only the body of a success (2xx) is written to a file or receiver; otherwise the first
/// `HTTPResponse.errorBodyLimit` bytes are in `HTTPResponse.body`.
package enum HTTPResponseDestination: Sendable {
    /// Into `HTTPResponse.body`.
    case memory
    /// The first bytes go into `HTTPResponse.body`; the others are dropped.
    case prefix(Int)
    /// A file that is created or truncated when a success begins. A failed request removes it.
    case file(path: String)
    /// Calls of `receive`, in order, one after the other. A slow receiver slows the connection down (backpressure). A
    /// thrown error ends the request.
    case chunks(receive: @Sendable ([UInt8]) async throws -> Void)
}

/// The progress of the bodies in bytes.
package struct HTTPProgress: Hashable, Sendable {
    package var sent: Int64 = 0
    /// Nil if unknown.
    package var toSend: Int64?
    package var received: Int64 = 0
    package var toReceive: Int64?

    package init() {}
}
