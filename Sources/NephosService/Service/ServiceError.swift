package import NephosWire

/// Why the service refused a request, or one item of it: Apple's server error code, the `CKError.Code` a native client
/// reports, and a reason a person can act on.
package struct ServiceError: Error, Hashable, Sendable {
    package var code: ServerErrorCode
    /// The raw value of the `CKError.Code` that a client reports (cloudkit-api.md §19).
    package var clientCode: Int
    package var reason: String
    /// Seconds after which to try again.
    package var retryAfter: Double?

    package init(_ code: ServerErrorCode, clientCode: Int, _ reason: String, retryAfter: Double? = nil) {
        self.code = code
        self.clientCode = clientCode
        self.reason = reason
        self.retryAfter = retryAfter
    }
}
