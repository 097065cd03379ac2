package import NephosWire

/// The methods that Nephos distinguishes.
package enum HTTPMethod: String, Hashable, Sendable {
    case get = "GET"
    case head = "HEAD"
    case post = "POST"
    case options = "OPTIONS"
    /// Any other: no route answers it.
    case other = ""

    /// Method names are case-sensitive (RFC 9110 §9.1).
    package init(named name: String) {
        self = HTTPMethod(rawValue: name) ?? .other
    }
}

/// A complete request.
package struct HTTPRequest: Sendable {
    package var method: HTTPMethod
    /// The network address of the client; empty if unknown.
    package var client: [UInt8] = []
    /// Path and query as received: percent-encoded.
    package var target: String
    package var host: String?
    /// Why its headers are ambiguous about its target or the end of its body; nil if they are not.
    package var problem: String?
    package var origin: String?
    /// `Sec-Fetch-Site`: the relation of the calling page's site to this one.
    package var fetchSite: String?
    /// `Sec-Fetch-Mode`: `navigate` for a followed link.
    package var fetchMode: String?
    /// Whether the client asks for answers with keys beyond Apple's (`AnswerAdditions`).
    package var takesAdditions: Bool
    /// `Content-Encoding`.
    package var contentEncoding: String?
    /// Empty when `bodyIsTooLarge`.
    package var body: [UInt8]
    /// The body was longer than the server's limit and was dropped.
    package var bodyIsTooLarge: Bool
    /// The body as it arrives; nil if it is in `body`.
    package var stream: BodyStream?
    /// The headers for files.
    package var transfer = TransferHeaders()
    /// Whether the inflated body of so many bytes fits; nil without a count.
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
    /// Splits a target in absolute form (RFC 9112 §3.2.2): its host replaces the `Host` header.
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

/// The headers of requests for files.
package struct TransferHeaders: Hashable, Sendable {
    /// Bytes of the body; nil if the client did not announce it.
    package var contentLength: Int64?
    package var range: String?
    package var ifRange: String?
    package var ifNoneMatch: String?

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
    /// The body, one part after the other.
    package var parts: [JSONBytes]
    /// A body that is read while it is sent; then `parts` is empty.
    package var stream: ResponseStream?
    /// Whether it reports the outcome of a change. Then no other answer replaces it.
    package var isOutcome = false
    /// The account of the answer, if the request does not name it.
    package var account: String?
    /// Called once when the response is over, with true if all of it was handed to the network.
    package var whenSent: (@Sendable (Bool) -> Void)?

    package init(status: Int, headers: [HTTPHeader] = [], body: [UInt8] = []) {
        self.init(status: status, headers: headers, parts: body.isEmpty ? [] : [JSONBytes(body)])
    }

    package init(status: Int, headers: [HTTPHeader] = [], parts: [JSONBytes]) {
        self.status = status
        self.headers = headers
        self.parts = parts
    }

    /// A copy of the body.
    package var body: [UInt8] { parts.joined() }
}
