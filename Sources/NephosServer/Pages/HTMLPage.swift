/// A page for people. It loads nothing and cannot be framed.
struct HTMLPage {
    let title: String
    /// The maximum width of the text, in CSS.
    let width: String
    /// The value of `Referrer-Policy`.
    let referrerPolicy: String

    /// - Parameters:
    ///   - script: the source of scripts in the content security policy; none by default.
    ///   - destination: an origin elsewhere to which the answer to the page's form leads; nil for none.
    func response(
        _ content: String, status: Int = 200, script: String = "'none'", destination: String? = nil
    ) -> HTTPResponse {
        let html = """
            <!DOCTYPE html>
            <html lang="en"><head><meta charset="utf-8"><title>\(title)</title>
            <meta name="viewport" content="width=device-width"><style>body{font:16px/1.5 sans-serif;margin:3em auto;\
            max-width:\(width);padding:0 1em}input[type=password],input[autocomplete]{width:100%;font:inherit}</style>\
            </head><body>
            \(content)
            </body></html>

            """
        return HTTPResponse(
            status: status,
            headers: [
                HTTPHeader("Content-Type", "text/html; charset=UTF-8"),
                HTTPHeader(
                    "Content-Security-Policy",
                    "default-src 'none'; style-src 'unsafe-inline'; script-src \(script); form-action 'self'\(destination.map { " \($0)" } ?? ""); "
                        + "frame-ancestors 'none'; base-uri 'none'"),
                HTTPHeader("X-Frame-Options", "DENY"), HTTPHeader("Referrer-Policy", referrerPolicy),
                HTTPHeader("X-Content-Type-Options", "nosniff"), HTTPHeader("Cache-Control", "no-store"),
            ], body: Array(html.utf8))
    }
}
