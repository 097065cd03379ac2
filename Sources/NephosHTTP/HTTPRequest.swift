/// One HTTP request and where its answer goes.
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
    /// Names and values, which have no line breaks.
    package var headers: [(name: String, value: String)]
    package var body: HTTPRequestBody
    package var destination = HTTPResponseDestination.memory
    /// How long nothing may arrive or be sent, from the first attempt to connect on; nil for no limit. The time that a
    /// stream of the caller's takes does not count.
    package var silenceLimit: Duration?
    /// For all of it, from looking up the name to the last byte of the answer; nil for no limit.
    package var totalLimit: Duration?
    /// Whether it may be sent again where a connection that was kept open proves to be closed. Otherwise no byte of a
    /// body is ever sent twice.
    package var isIdempotent: Bool
    /// How many redirects are followed. Only a request without a body is redirected; the answer to another is the
    /// redirect itself.
    package var redirectLimit = 0
    /// With what it is signed; nil for a request that is not.
    package var signature: HTTPSignature?
    /// Called on the client's thread whenever bytes of the bodies were sent or have arrived. It must not wait.
    package var progress: (@Sendable (HTTPProgress) -> Void)?

    /// - Parameters:
    ///   - isIdempotent: by default GET and HEAD are, the others are not.
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

/// AWS Signature Version 4, as object storage wants it. The request needs a header `x-amz-content-sha256`, and the queries of
/// its URL are to be sorted and percent-encoded: both are signed as they are.
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
    /// The file as long as it is when the request is sent.
    case file(path: String)
    /// The chunks that `next` returns until it returns nil. It is called when the connection has taken the chunk before,
    /// so a slow connection slows the source down. An error it throws ends the request.
    /// - Parameter length: in bytes; nil if it is not known.
    case chunks(length: Int64?, next: @Sendable () async throws -> [UInt8]?)
}

/// Where the body of an answer goes.
///
/// Only the body of a success (2xx) goes into a file or to a receiver; another answer's first
/// `HTTPResponse.errorBodyLimit` bytes are in `HTTPResponse.body`.
package enum HTTPResponseDestination: Sendable {
    /// Into `HTTPResponse.body`.
    case memory
    /// The first bytes into `HTTPResponse.body`; the others are dropped.
    case prefix(Int)
    /// Into a file that is made or emptied once a success begins. A request that fails removes it.
    case file(path: String)
    /// To `receive`, in order, one call after the other. A slow receiver slows the connection down. An error it throws
    /// ends the request.
    case chunks(receive: @Sendable ([UInt8]) async throws -> Void)
}

/// Bytes of bodies.
package struct HTTPProgress: Hashable, Sendable {
    package var sent: Int64 = 0
    /// nil where it is not known.
    package var toSend: Int64?
    package var received: Int64 = 0
    package var toReceive: Int64?

    package init() {}
}
