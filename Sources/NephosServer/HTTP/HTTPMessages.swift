package import NephosService
package import NephosWire

/// The HTTP methods that Nephos distinguishes.
package enum HTTPMethod: String, Hashable, Sendable {
    case get = "GET"
    case head = "HEAD"
    case post = "POST"
    case options = "OPTIONS"
    /// Any other method. No route answers it.
    case other = ""

    /// Creates the method with that name. Method names are case-sensitive (RFC 9110 §9.1).
    package init(named name: String) {
        self = HTTPMethod(rawValue: name) ?? .other
    }
}

/// A complete request.
package struct HTTPRequest: Sendable {
    package var method: HTTPMethod
    /// The network address of the client; empty if the address is unknown.
    package var client: [UInt8] = []
    /// The user ID of the process that sent the request over a Unix socket; nil for a request over a network.
    package var localUser: UInt32?
    /// Whether the client sent the request over TLS, to this server or to its proxy.
    package var isSecure = false
    /// The path and query of the request as received, percent-encoded.
    package var target: String
    package var host: String?
    /// The reason why the headers are ambiguous about the target or the end of the body; nil if they are not.
    package var problem: String?
    package var origin: String?
    /// The header `Authorization`, a secret; nil without the header.
    package var authorization: String?
    /// The headers of a signature by a server-to-server key; nil without them.
    package var signature: SignedRequest?
    /// The header `Cookie`; nil without the header, and for targets other than the sign-in page's.
    package var cookie: String?
    /// The header `X-Nephos-Access-Token`; nil without the header, and on servers that do not ask for it.
    package var accessToken: String?
    /// The header `Sec-Fetch-Site`: the relation between the site of the calling page and this site; nil without the
    /// header.
    package var fetchSite: String?
    /// The header `Sec-Fetch-Mode`, which is `navigate` for a followed link; nil without the header.
    package var fetchMode: String?
    /// The header `X-Nephos-Fault`: what is to go wrong with the request; nil without the header.
    package var fault: String?
    /// Whether the client asks for the keys in answers that Apple's service does not have (`AnswerAdditions`).
    package var takesAdditions: Bool
    /// The header `Content-Encoding`; nil without the header.
    package var contentEncoding: String?
    /// The body; empty if `bodyIsTooLarge` is true or `stream` is set.
    package var body: [UInt8]
    /// Whether the body was longer than the server's limit and was dropped.
    package var bodyIsTooLarge: Bool
    /// Whether the request came to the listener of the metrics, which tells nothing of single requests.
    package var isOfMonitoring = false
    /// The maximum size of the body in bytes that its admission gave; nil without one.
    package var bodyLimit: Int?
    /// The body as it arrives; nil if the whole body is in `body`.
    package var stream: BodyStream?
    /// The headers of a request for a file.
    package var transfer = TransferHeaders()
    /// Returns whether an inflated body of the given size in bytes fits the memory budget; nil if the budget does not
    /// apply.
    package var holdsBody: (@Sendable (Int) -> Bool)?

    package init(
        method: HTTPMethod, target: String, host: String? = nil, origin: String? = nil, body: [UInt8] = [],
        bodyIsTooLarge: Bool = false, takesAdditions: Bool = false
    ) {
        self.method = method
        self.target = target
        self.host = host
        self.origin = origin
        self.body = body
        self.bodyIsTooLarge = bodyIsTooLarge
        self.takesAdditions = takesAdditions
    }
}

extension HTTPRequest {
    /// Splits a target in absolute form (RFC 9112 §3.2.2). Its host then replaces the `Host` header.
    mutating func readAbsoluteTarget() {
        guard target.first != "/" else { return }
        let bytes = Array(target.utf8)
        for scheme in ["http://", "https://"]
        where bytes.count > scheme.utf8.count
            && zip(bytes, scheme.utf8).allSatisfy({ ($0 >= 0x41 && $0 <= 0x5A ? $0 | 0x20 : $0) == $1 })
        {
            let rest = bytes.dropFirst(scheme.utf8.count)
            let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
            host = String(decoding: rest[..<end], as: UTF8.self)
            let path = String(decoding: rest[end...], as: UTF8.self)
            target = path.hasPrefix("/") ? path : "/" + path
            return
        }
    }
}

/// The headers that matter for files and streams.
package struct TransferHeaders: Hashable, Sendable {
    /// The size of the body in bytes; nil if the client did not announce it.
    package var contentLength: Int64?
    package var range: String?
    package var ifRange: String?
    package var ifNoneMatch: String?
    /// The identifier of the last event of a stream that the client has.
    package var lastEventID: String?
    /// Whether the client takes a body in gzip format.
    package var acceptsGzip = false

    package init() {}
}

/// One header of a response.
package struct HTTPHeader: Hashable, Sendable {
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// A response. The HTTP server adds `Content-Length`, `Date` and `Connection`.
package struct HTTPResponse: Sendable {
    package var status: Int
    package var headers: [HTTPHeader]
    /// The parts of the body, in order.
    package var parts: [JSONBytes]
    /// A body that is read while it is sent; nil if the body is in `parts`. If it is set, `parts` is empty.
    package var stream: ResponseStream?
    /// Whether the response reports the outcome of a change. If so, no other answer may replace it.
    package var isOutcome = false
    /// The account to which the response is charged, if the request does not name one; nil for none.
    package var account: String?
    /// Called once when the response is over. The argument is true if the whole response was handed to the network.
    package var whenSent: (@Sendable (Bool) -> Void)?

    package init(status: Int, headers: [HTTPHeader] = [], body: [UInt8] = []) {
        self.init(status: status, headers: headers, parts: body.isEmpty ? [] : [JSONBytes(body)])
    }

    package init(status: Int, headers: [HTTPHeader] = [], parts: [JSONBytes]) {
        self.status = status
        self.headers = headers
        self.parts = parts
    }

    /// A copy of the whole body.
    package var body: [UInt8] { parts.joined() }
}
