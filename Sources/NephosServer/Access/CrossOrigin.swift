/// The cross-origin headers (CloudKit Web Services; the Fetch standard). Without them, an error reaches the script of a
/// web page as a network failure. So every answer to an allowed origin has them.
enum CrossOrigin {
    static let exposedHeaders =
        "X-Apple-Request-UUID,X-Apple-CloudKit-Web-Auth-Token,X-Apple-CloudKit-Session,"
        + "Accept-Ranges,Content-Disposition,Content-Length,Content-Range,ETag,Retry-After"
    private static let allowedHeaders =
        "Authorization, Content-Type, X-Apple-CloudKit-Request-KeyID, X-Apple-CloudKit-Request-ISO8601Date, "
        + "X-Apple-CloudKit-Request-SignatureV1, Range, If-Range, If-None-Match"

    /// What a browser keeps of an answer to one origin, or to an image, is not the answer to another.
    static let vary = HTTPHeader("Vary", "Origin")

    /// - Parameter origin: the web origin that may read the answer.
    static func headers(allowing origin: String) -> [HTTPHeader] {
        [
            HTTPHeader("Access-Control-Allow-Origin", origin),
            HTTPHeader("Access-Control-Expose-Headers", exposedHeaders),
            vary,
        ]
    }

    /// Returns the answer to OPTIONS, the preflight that a browser sends before any request that is not simple.
    static func preflight(_ route: Route?) -> HTTPResponse {
        let methods = route?.allowedMethods ?? Route.allMethods
        return HTTPResponse(
            status: 200,
            headers: [
                HTTPHeader("Allow", methods),
                HTTPHeader("Access-Control-Allow-Methods", methods),
                HTTPHeader("Access-Control-Allow-Headers", allowedHeaders),
                HTTPHeader("Access-Control-Max-Age", "3600"),
            ])
    }
}
