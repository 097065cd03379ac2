import CMicroHTTPD
import Glibc
import NephosWire

/// The size limit of a request's line and headers. libmicrohttpd stores them and the answer's headers in one memory
/// pool. If a request left too little memory for the answer's headers, the server would execute the request without
/// answering it.
///
/// The headers of a refusal need less than `answerRoom`. A request that leaves not even room for those, by a few hundred
/// bytes, ends its connection unanswered. The library itself answers a request that exceeds the pool.
enum RequestHeadLimit {
    /// The number of bytes that are reserved for the answer's headers and for the current piece of the body.
    static let answerRoom = 1536
    private static let requestIDs = RequestIDs()

    /// Returns the refusal of a target as soon as the target is known; nil to accept it.
    static func refusal(target: UnsafePointer<CChar>, _ options: HTTPServer.Options) -> Refusal? {
        if ParameterLimit.isExceeded(target) {
            return refusal(414, "the request has more than \(ParameterLimit.count) parameters in its query")
        }
        let limit = options.connectionMemory - answerRoom
        return strlen(target) <= limit ? nil : refusal(414, "the request's target is longer than \(limit) bytes")
    }

    /// Returns the refusal of a request whose headers have arrived; nil to accept it.
    static func refusal(_ connection: OpaquePointer, _ options: HTTPServer.Options) -> Refusal? {
        let limit = options.connectionMemory - answerRoom
        return nephos_mhd_request_memory(connection) <= limit
            ? nil
            : refusal(
                431,
                "the request's line and headers take more than \(limit) bytes, with 64 for each header and parameter")
    }

    private static func refusal(_ status: Int, _ reason: String) -> Refusal {
        var refusal = Refusal(.badRequest, reason)
        refusal.status = status
        return refusal
    }

    /// Returns the answer to a refused request. It has the fewest headers, as little memory is left for them.
    static func response(_ refusal: Refusal?) -> HTTPResponse {
        let refusal = refusal ?? Refusal(.badRequest, "the request's line and headers are too large")
        return refusal.response(requestID: requestIDs.next(), signIn: nil)
    }
}
