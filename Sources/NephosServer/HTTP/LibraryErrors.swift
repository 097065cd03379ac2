import CMicroHTTPD
import Glibc
import NephosWire

/// What a client is told that sent no HTTP, or more of it than there is room for. libmicrohttpd answers that by itself,
/// before any handler knows of the request, and with pages in HTML. It makes these, and nothing else, by this function of
/// its own, which the program's takes the place of; `LibraryErrorTests` shows that it does.
///
/// `public`: the library finds what the program exports.
@_cdecl("MHD_create_response_from_buffer")
public func makeLibraryErrorResponse(
    _ size: Int, _ buffer: UnsafeMutableRawPointer?, _ mode: UInt32
) -> OpaquePointer? {
    let page = String(decoding: UnsafeRawBufferPointer(start: buffer, count: size), as: UTF8.self)
    let dictionary = ErrorDictionary(
        uuid: LibraryError.requestIDs.next(), serverErrorCode: .badRequest, reason: LibraryError.reason(page))
    guard let response = ResponseBody([JSONBytes(dictionary.encoded() + [UInt8(ascii: "\n")])]).makeResponse() else {
        return nil
    }
    MHD_add_response_header(response, "Content-Type", "application/json; charset=UTF-8")
    return response
}

enum LibraryError {
    fileprivate static let requestIDs = RequestIDs()

    /// libmicrohttpd keeps a record of each parameter, has no room for more than a few hundred, and then answers nothing.
    static let parameterLimit = 64

    static func hasTooManyParameters(_ target: UnsafePointer<CChar>) -> Bool {
        var count = 0
        var next = target
        while let found = strchr(next, Int32(UInt8(ascii: "&"))) {
            count += 1
            if count >= parameterLimit { return true }
            next = UnsafePointer(found) + 1
        }
        return false
    }

    static var tooManyParameters: [UInt8] {
        let dictionary = ErrorDictionary(
            uuid: requestIDs.next(), serverErrorCode: .badRequest,
            reason: "the request has more than \(parameterLimit) parameters in its query")
        let body = dictionary.encoded() + [UInt8(ascii: "\n")]
        let head =
            "HTTP/1.1 414 URI Too Long\r\nContent-Type: application/json; charset=UTF-8\r\n"
            + "Content-Length: \(body.count)\r\nConnection: close\r\n\r\n"
        return Array(head.utf8) + body
    }

    /// The text of a page's body, without its tags.
    static func reason(_ page: String) -> String {
        var text = page[...]
        if let begin = page.firstRange(of: "<body>"), let end = page.firstRange(of: "</body>") {
            text = page[begin.upperBound..<end.lowerBound]
        }
        var isInTag = false
        let plain = text.filter { character in
            defer { if character == ">" { isInTag = false } }
            if character == "<" { isInTag = true }
            return !isInTag
        }
        return plain.isEmpty ? "this is not HTTP as it should be" : plain.replacing("&quot;", with: "'")
    }
}
