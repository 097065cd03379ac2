import Glibc
import NephosWire

/// The limit of parameters in a request's query. libmicrohttpd keeps a record of each, has no room for more than a few hundred,
/// and then answers nothing.
enum ParameterLimit {
    private static let requestIDs = RequestIDs()
    static let count = 64

    static func isExceeded(_ target: UnsafePointer<CChar>) -> Bool {
        var count = 0
        var next = target
        while let found = strchr(next, Int32(UInt8(ascii: "&"))) {
            count += 1
            if count >= Self.count { return true }
            next = UnsafePointer(found) + 1
        }
        return false
    }

    /// The whole answer, as bytes.
    static var refusal: [UInt8] {
        let dictionary = ErrorDictionary(
            uuid: requestIDs.next(), serverErrorCode: .badRequest,
            reason: "the request has more than \(count) parameters in its query")
        let body = dictionary.encoded() + [UInt8(ascii: "\n")]
        let head =
            "HTTP/1.1 414 URI Too Long\r\nContent-Type: application/json; charset=UTF-8\r\n"
            + "Content-Length: \(body.count)\r\nConnection: close\r\n\r\n"
        return Array(head.utf8) + body
    }
}
