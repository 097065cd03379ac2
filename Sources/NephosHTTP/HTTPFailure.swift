import CCurl
import Glibc

/// The failure of a request without a response. The reason contains neither the URL nor any data that was sent; that of
/// an untrusted certificate may contain the name of the host, and that of a Unix socket its path.
package struct HTTPFailure: Error, Sendable {
    package enum Kind: Hashable, Sendable {
        /// The task of the caller was cancelled.
        case cancelled
        /// The client was closed before the request completed.
        case closed
        /// The URL, a header or the method is invalid.
        case invalidRequest
        /// There is no network.
        case networkDown
        case hostNotFound
        /// The connection was refused.
        case cannotConnect
        /// The certificate of the server is not trusted: its authority is unknown, it has expired, or it names another
        /// host.
        case notTrusted
        /// TLS failed in another way, in most cases because the server speaks plain HTTP.
        case noTLS
        /// The time-out `HTTPRequest.silenceLimit` expired.
        case silence
        /// The time-out `HTTPRequest.totalLimit` expired.
        case totalTime
        /// The connection broke, or the response is not HTTP. It is unknown whether the server executed the request.
        case connectionLost
        /// A file, or a stream of the caller, failed.
        case body
        /// libcurl or the system lacks a resource or feature.
        case system
    }

    package var kind: Kind
    package var reason: String
    /// The error that the caller's stream threw; nil for any other failure.
    package var underlying: (any Error)?

    init(_ kind: Kind, _ reason: String, underlying: (any Error)? = nil) {
        self.kind = kind
        self.reason = reason
        self.underlying = underlying
    }

    static let closed = HTTPFailure(.closed, "the client is closed")
    static let cancelled = HTTPFailure(.cancelled, "cancelled")
    static let noMemory = HTTPFailure(.system, "libcurl has no memory for a request")

    /// Returns the failure of a system call, with its `errno`.
    static func body(_ call: String, _ code: Int32 = errno) -> HTTPFailure {
        HTTPFailure(.body, "\(call): \(String(cString: strerror(code)))")
    }

    /// Creates the failure of an attempt to connect to a Unix socket.
    /// - Parameter code: the `errno` of the attempt.
    init(unixSocket path: String, _ code: Int32) {
        switch code {
        case ENOENT, ENOTDIR: self.init(.cannotConnect, "there is no socket \(path)")
        case EACCES, EPERM: self.init(.cannotConnect, "this user may not use the socket \(path)")
        case ECONNREFUSED: self.init(.cannotConnect, "no program listens on the socket \(path)")
        default: self.init(.cannotConnect, "the socket \(path): \(String(cString: strerror(code)))")
        }
    }

    /// - Parameters:
    ///   - code: the `errno` of the last attempt to connect.
    ///   - text: the text of libcurl about a certificate; empty if there is none.
    init(_ result: CURLcode, systemError code: Int, text: String = "") {
        let reason = String(cString: curl_easy_strerror(result))
        switch result {
        case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL, CURLE_BAD_FUNCTION_ARGUMENT:
            self.init(.invalidRequest, reason)
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
            self.init(.hostNotFound, reason)
        case CURLE_COULDNT_CONNECT:
            self.init(
                code == ENETUNREACH || code == ENETDOWN ? .networkDown : .cannotConnect,
                code == 0 ? reason : String(cString: strerror(Int32(truncatingIfNeeded: code))))
        case CURLE_OPERATION_TIMEDOUT:
            self.init(.silence, reason)
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE:
            self.init(.notTrusted, text.isEmpty ? reason : text)
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CERTPROBLEM:
            self.init(.noTLS, reason)
        case CURLE_OUT_OF_MEMORY, CURLE_FAILED_INIT:
            self.init(.system, reason)
        default:
            self.init(.connectionLost, reason)
        }
    }
}
