import CMicroHTTPD
import Glibc
import NephosWire

/// The limit of a request's line and headers. libmicrohttpd keeps them and the headers of the answer in one piece of memory: what
/// leaves those no room would be carried out, and its client told nothing.
enum RequestHeadLimit {
    /// Bytes that are left for the headers of the answer, and for the piece of the body that arrives.
    static let answerRoom = 1536

    /// Why a target is refused as soon as it is known; nil where it is not.
    static func refusal(target: UnsafePointer<CChar>, _ options: HTTPServer.Options) -> [UInt8]? {
        if ParameterLimit.isExceeded(target) {
            return RawAnswer.error(
                "414 URI Too Long", "the request has more than \(ParameterLimit.count) parameters in its query")
        }
        let limit = options.connectionMemory - answerRoom
        return strlen(target) <= limit
            ? nil : RawAnswer.error("414 URI Too Long", "the request's target is longer than \(limit) bytes")
    }

    /// Why a request is refused whose headers have arrived; nil where it is not.
    static func refusal(_ connection: OpaquePointer, _ options: HTTPServer.Options) -> [UInt8]? {
        let limit = options.connectionMemory - answerRoom
        return nephos_mhd_request_memory(connection) <= limit
            ? nil
            : RawAnswer.error(
                "431 Request Header Fields Too Large",
                "the request's line and headers take more than \(limit) bytes, with 64 for each header and parameter")
    }
}
