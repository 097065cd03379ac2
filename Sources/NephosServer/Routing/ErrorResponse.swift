import NephosService
package import NephosWire

extension ServerErrorCode {
    /// The HTTP status of a response with this error for the whole request (CloudKit Web Services, error codes).
    package var httpStatus: Int {
        switch self {
        case .accessDenied: 403
        case .atomicError: 400
        case .authenticationFailed: 401
        case .authenticationRequired: 421
        case .badRequest: 400
        case .conflict: 409
        case .exists: 409
        case .internalError: 500
        case .notFound: 404
        case .quotaExceeded: 413
        case .throttled: 429
        case .tryAgainLater: 503
        case .validatingReferenceError: 412
        case .zoneNotFound: 404
        }
    }
}

extension HTTPResponse {
    /// Returns a response in JSON. A newline ends the body.
    static func json(_ body: [UInt8], status: Int = 200) -> HTTPResponse {
        HTTPResponse(
            status: status, headers: [HTTPHeader("Content-Type", "application/json; charset=UTF-8")],
            body: body + [UInt8(ascii: "\n")])
    }

    /// Returns a response that uses the buffer into which the message was encoded, without a copy.
    static func message<Message: WireMessage>(_ message: Message) -> HTTPResponse {
        HTTPResponse(
            status: 200, headers: [HTTPHeader("Content-Type", message.mediaType)],
            parts: RequestTiming.encoding { message.encodedInParts() })
    }

    static func text(_ body: String, type: String = "text/plain; charset=UTF-8") -> HTTPResponse {
        HTTPResponse(status: 200, headers: [HTTPHeader("Content-Type", type)], body: Array(body.utf8))
    }
}
