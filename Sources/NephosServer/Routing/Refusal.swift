import NephosService
import NephosWire

/// The refusal of a whole request, with the content of its error dictionary.
package struct Refusal: Error {
    var code: ServerErrorCode
    package var reason: String
    /// The raw value of the `CKError.Code` that a native client reports; nil if the refusal determines none.
    var clientCode: Int?
    var retryAfter: Double?
    /// The HTTP status that replaces the status of the server error code; nil to keep that one.
    var status: Int?
    var headers: [HTTPHeader] = []
    /// Whether web pages of every origin may read the refusal: it came before a caller was known, so it tells nothing of
    /// an account or its data.
    var isPublic = false
    /// The error of the service, if the service refused the request; nil otherwise. Its dictionary has more keys.
    private var error: ServiceError?

    var httpStatus: Int { status ?? code.httpStatus }

    init(_ code: ServerErrorCode, _ reason: String, clientCode: ServiceError.ClientCode? = nil) {
        self.code = code
        self.reason = reason
        self.clientCode = clientCode?.rawValue
    }

    /// Creates the refusal for an error of the service.
    init(_ error: ServiceError) {
        self.init(error.code, error.reason, clientCode: error.clientCode)
        if let fault = error.fault { clientCode = fault.rawValue }
        retryAfter = error.retryAfter
        self.error = error
    }

    /// Creates the refusal of a body that the route cannot decode.
    init(_ error: WireError) {
        self.init(
            .badRequest, "BadRequestException: Unexpected input: \(error.description)", clientCode: .invalidArguments)
    }

    /// The refusal of a path for which there is no route.
    package static let noHandler = Refusal(.notFound, "could not find handler for endpoint")

    /// Returns the refusal of a method that the route of the path does not allow.
    static func methodNotAllowed(_ allowed: String) -> Refusal {
        var refusal = Refusal(.badRequest, "method not allowed for this endpoint: use \(allowed)")
        refusal.status = 405
        refusal.headers = [HTTPHeader("Allow", allowed)]
        return refusal
    }

    /// Returns the refusal of an unknown content encoding. The answer lists the supported encodings (RFC 9110
    /// §15.5.16).
    static func unknownEncoding(_ name: String) -> Refusal {
        var refusal = Refusal(
            .badRequest, "the body's Content-Encoding '\(name.prefix(100))' is unknown: send it as gzip or as it is")
        refusal.status = 415
        refusal.headers = [HTTPHeader("Accept-Encoding", "gzip")]
        return refusal
    }

    static func bodyTooLarge(limit: Int) -> Refusal {
        var refusal = Refusal(
            .badRequest, "the request's body is larger than \(limit) bytes: send it in several",
            clientCode: .limitExceeded)
        refusal.status = 413
        return refusal
    }

    /// - Parameter signIn: the sign-in URL; nil for none. Only `AUTHENTICATION_REQUIRED` has it.
    func response(requestID: String, signIn: String?) -> HTTPResponse {
        var dictionary =
            error?.dictionary(requestID: requestID)
            ?? ErrorDictionary(
                uuid: requestID, serverErrorCode: code, reason: reason, retryAfter: retryAfter,
                clientErrorCode: clientCode)
        dictionary.redirectURL = code == .authenticationRequired ? signIn : nil
        var response = HTTPResponse.json(dictionary.encoded(), status: httpStatus)
        response.headers += headers + Self.retryHeader(dictionary.retryAfter)
        return response
    }

    /// Returns the page that people get in place of the error dictionary.
    func page(requestID: String) -> HTTPResponse {
        let isPassing = httpStatus >= 500 || code == .throttled
        let title = isPassing ? "Not available" : "Refused"
        let advice = isPassing ? "Open this page again in a moment. The" : "The"
        var response = HTMLPage(title: title, width: "24em", referrerPolicy: "same-origin").response(
            """
            <h1>\(title)</h1><p>\(OwnPage.escaped(reason)).</p><p>\(advice) server's log has \
            the reason under \(OwnPage.escaped(requestID)).</p>
            """, status: httpStatus)
        response.headers += headers + retryHeaders
        return response
    }

    var retryHeaders: [HTTPHeader] { Self.retryHeader(error?.retryAfter ?? retryAfter) }

    /// The delay is in whole seconds (RFC 9110 §10.2.3), rounded up, because an earlier retry would fail.
    private static func retryHeader(_ seconds: Double?) -> [HTTPHeader] {
        seconds.map { [HTTPHeader("Retry-After", String(Int64($0.rounded(.up))))] } ?? []
    }
}

extension ServiceError {
    /// The reason for a page, with the delay after which a retry may succeed.
    var reasonWithDelay: String {
        guard let seconds = retryAfter.map({ Int64($0.rounded(.up)) }) else { return reason }
        return "\(reason) (\(seconds) \(seconds == 1 ? "second" : "seconds"))"
    }
}
