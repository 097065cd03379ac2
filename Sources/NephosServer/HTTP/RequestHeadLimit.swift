import CMicroHTTPD
import Glibc
import NephosWire

/// The size limit of a request's line and headers. libmicrohttpd stores them and the answer's headers in one memory
/// pool. If a request left too little memory for the answer's headers, the server would execute the request without
/// answering it.
enum RequestHeadLimit {
    /// The number of bytes that are reserved for the answer's headers and for the current piece of the body.
    static let answerRoom = 1536

    /// Returns the refusal of a target as soon as the target is known; nil to accept it.
    static func refusal(target: UnsafePointer<CChar>, _ options: HTTPServer.Options) -> [UInt8]? {
        if ParameterLimit.isExceeded(target) {
            return RawAnswer.error(
                "414 URI Too Long", "the request has more than \(ParameterLimit.count) parameters in its query")
        }
        let limit = options.connectionMemory - answerRoom
        return strlen(target) <= limit
            ? nil : RawAnswer.error("414 URI Too Long", "the request's target is longer than \(limit) bytes")
    }

    /// Returns the refusal of a request whose headers have arrived; nil to accept it.
    static func refusal(_ connection: OpaquePointer, _ options: HTTPServer.Options) -> [UInt8]? {
        let limit = options.connectionMemory - answerRoom
        return nephos_mhd_request_memory(connection) <= limit
            ? nil
            : RawAnswer.error(
                "431 Request Header Fields Too Large",
                "the request's line and headers take more than \(limit) bytes, with 64 for each header and parameter")
    }
}
