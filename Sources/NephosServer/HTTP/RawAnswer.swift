import CMicroHTTPD
import NephosWire

/// An answer that is sent without libmicrohttpd. The connection ends after it.
enum RawAnswer {
    private static let requestIDs = RequestIDs()

    static func error(_ status: String, _ reason: String) -> [UInt8] {
        let dictionary = ErrorDictionary(uuid: requestIDs.next(), serverErrorCode: .badRequest, reason: reason)
        return bytes(
            status, [HTTPHeader("Content-Type", "application/json; charset=UTF-8")],
            dictionary.encoded() + [UInt8(ascii: "\n")])
    }

    private static func bytes(_ status: String, _ headers: [HTTPHeader], _ body: [UInt8]) -> [UInt8] {
        var head = "HTTP/1.1 \(status)\r\n"
        for header in headers { head += "\(header.name): \(header.value)\r\n" }
        head += "Content-Length: \(body.count)\r\nConnection: close\r\n\r\n"
        return Array(head.utf8) + body
    }

    /// Returns the answer to a body that exceeds the limit of every route.
    static func bodyTooLarge(_ options: HTTPServer.Options, _ request: HTTPRequest) -> HTTPResponse {
        Refusal.bodyTooLarge(limit: options.bodyLimit).response(requestID: requestIDs.next(), signIn: nil)
            .withoutUnwantedAdditions(request)
    }

    /// Returns a short response as bytes.
    static func bytes(_ response: HTTPResponse) -> [UInt8] {
        let reason = MHD_get_reason_phrase_for(UInt32(response.status)).map { String(cString: $0) } ?? "Unknown"
        return bytes("\(response.status) \(reason)", response.headers, response.parts.flatMap { Array($0.buffer) })
    }
}
