import NephosService
import NephosWire

/// The refusal of a whole request: the content of its error dictionary.
struct Refusal: Error {
    var code: ServerErrorCode
    var reason: String
    /// The raw value of the `CKError.Code` that a native client reports.
    var clientCode: Int?
    var retryAfter: Double?
    /// Replaces the code's own status.
    var status: Int?
    var headers: [HTTPHeader] = []
    /// The service's error, if it refused: its dictionary has more keys.
    private var error: ServiceError?

    init(_ code: ServerErrorCode, _ reason: String, clientCode: ServiceError.ClientCode? = nil) {
        self.code = code
        self.reason = reason
        self.clientCode = clientCode?.rawValue
    }

    /// The service's refusal.
    init(_ error: ServiceError) {
        self.init(error.code, error.reason, clientCode: error.clientCode)
        retryAfter = error.retryAfter
        self.error = error
    }

    /// The refusal of a body that the route cannot decode.
    init(_ error: WireError) {
        self.init(
            .badRequest, "BadRequestException: Unexpected input: \(error.description)", clientCode: .invalidArguments)
    }

    /// The refusal of a path, or an action under it, that no route serves.
    static let noHandler = Refusal(.notFound, "could not find handler for endpoint")

    /// The refusal of a method that the path's route does not serve.
    static func methodNotAllowed(_ allowed: String) -> Refusal {
        var refusal = Refusal(.badRequest, "method not allowed for this endpoint: use \(allowed)")
        refusal.status = 405
        refusal.headers = [HTTPHeader("Allow", allowed)]
        return refusal
    }

    /// RFC 9110 §15.5.16: the answer lists the supported encodings.
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

    /// - Parameter signIn: the sign-in URL; only `AUTHENTICATION_REQUIRED` has it.
    func response(requestID: String, signIn: String?) -> HTTPResponse {
        var dictionary =
            error?.dictionary(requestID: requestID)
            ?? ErrorDictionary(
                uuid: requestID, serverErrorCode: code, reason: reason, retryAfter: retryAfter,
                clientErrorCode: clientCode)
        dictionary.redirectURL = code == .authenticationRequired ? signIn : nil
        var response = HTTPResponse.json(dictionary.encoded(), status: status ?? code.httpStatus)
        response.headers += headers
        // Whole seconds (RFC 9110 §10.2.3), rounded up: an earlier retry would fail.
        if let seconds = dictionary.retryAfter {
            response.headers.append(HTTPHeader("Retry-After", String(Int64(seconds.rounded(.up)))))
        }
        return response
    }
}
