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
    /// The absolute http or https URL of the request.
    package var url: String
    /// The names and values of the headers, without line breaks.
    package var headers: [(name: String, value: String)]
    package var body: HTTPRequestBody
    package var destination = HTTPResponseDestination.memory
    /// The idle time-out: the maximum time without any byte sent or received, from the first attempt to connect; nil
    /// for no limit. Time in the caller's stream does not count.
    package var silenceLimit: Duration?
    /// The total time-out, from the name lookup to the last byte of the response; nil for no limit.
    package var totalLimit: Duration?
    /// Whether the request may be sent again if a keep-alive connection turns out to be closed. If not, no byte of a
    /// body is ever sent twice.
    package var isIdempotent: Bool
    /// The maximum number of redirects that are followed per request. Only a request without a body follows redirects.
    /// For any other request, the redirect itself is the response.
    package var redirectLimit = 0
    /// The path of a file of PEM certificates that are trusted for this request, instead of the client's; nil for the
    /// client's. A redirect to another origin is followed with the client's.
    package var certificates: String?
    /// The path of a Unix socket, of at most 107 bytes, that is connected to instead of the host of the URL; nil for the
    /// host. No proxy is used, and a redirect to another origin is not followed.
    package var unixSocket: String?
    /// The credentials that sign the request; nil for an unsigned request.
    package var signature: HTTPSignature?
    /// Called on the client's thread after bytes of the bodies were sent or received; nil for none. It must not block.
    package var progress: (@Sendable (HTTPProgress) -> Void)?

    /// - Parameter isIdempotent: whether the request may be sent again; nil means true for GET and HEAD, and false for
    ///   any other method.
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

extension HTTPRequest {
    /// Whether the host of the URL is this machine: `localhost`, 127.0.0.0/8 or `[::1]`.
    var isToThisMachine: Bool {
        let bytes = url.utf8
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return false }
        let rest = bytes[colon...].dropFirst()
        guard rest.starts(with: "//".utf8) else { return false }
        var host = rest.dropFirst(2).prefix { !"/?#\\".utf8.contains($0) }
        if let at = host.lastIndex(of: UInt8(ascii: "@")) { host = host[at...].dropFirst() }
        if host.first == UInt8(ascii: "[") { return host.starts(with: "[::1]".utf8) }
        host = host.prefix { $0 != UInt8(ascii: ":") }
        if host.starts(with: "127.".utf8) { return host.allSatisfy { "0123456789.".utf8.contains($0) } }
        return String(Substring(host)).lowercased() == "localhost"
    }
}

/// The credentials for AWS Signature Version 4, which object storage requires. The request needs the header
/// `x-amz-content-sha256`, and the query of its URL must be sorted and percent-encoded, because both are signed
/// verbatim.
package struct HTTPSignature: Sendable {
    package var accessKey: String
    package var secretKey: String
    package var region: String
    /// The name of the service, such as `s3`.
    package var service: String

    package init(accessKey: String, secretKey: String, region: String, service: String) {
        self.accessKey = accessKey
        self.secretKey = secretKey
        self.region = region
        self.service = service
    }
}

package enum HTTPRequestBody: Sendable {
    case none
    case bytes([UInt8])
    /// The content of a file, with the size that the file has at the time of sending.
    case file(path: String)
    /// The chunks that `next` returns until it returns nil. It is called after the connection has taken the previous
    /// chunk, so a slow connection slows the source down (backpressure). A thrown error ends the request.
    /// - Parameter length: the total size in bytes; nil if it is unknown.
    case chunks(length: Int64?, next: @Sendable () async throws -> [UInt8]?)
}

/// The destination of a response's body.
///
/// Only the body of a successful response (2xx) is written to a file or receiver. Of any other body, the first
/// `HTTPResponse.errorBodyLimit` bytes are in `HTTPResponse.body`.
package enum HTTPResponseDestination: Sendable {
    /// The whole body is in `HTTPResponse.body`.
    case memory
    /// The first bytes, up to this number, are in `HTTPResponse.body`. The others are dropped.
    case prefix(Int)
    /// The body is in a file, which is created or truncated when a successful response begins. A failed request removes
    /// the file.
    case file(path: String)
    /// The body is passed to `receive` in chunks, one call after another. A slow receiver slows the connection down
    /// (backpressure). A thrown error ends the request.
    case chunks(receive: @Sendable ([UInt8]) async throws -> Void)
}

/// The progress of the request's and the response's bodies, in bytes.
package struct HTTPProgress: Hashable, Sendable {
    package var sent: Int64 = 0
    /// The size of the request's body in bytes; nil if it is unknown.
    package var toSend: Int64?
    package var received: Int64 = 0
    package var toReceive: Int64?

    package init() {}
}
