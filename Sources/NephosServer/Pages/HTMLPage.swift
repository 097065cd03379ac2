/// A page for people. It loads nothing and cannot be framed.
struct HTMLPage {
    let title: String
    /// The maximum width of the text, in CSS.
    let width: String
    /// The value of `Referrer-Policy`.
    let referrerPolicy: String

    private static let style = """
        :root{color-scheme:light dark}*{box-sizing:border-box}\
        body{font:16px/1.5 system-ui,sans-serif;margin:2em auto;padding:0 1em;overflow-wrap:anywhere}\
        h1{font-size:1.6em;line-height:1.2}h2{font-size:1.2em;margin:2em 0 .5em}h3{font-size:1em;margin:1.5em 0 .5em}\
        input,button{font:inherit;padding:.35em .6em;border:1px solid GrayText;border-radius:6px}\
        input[type=password],input[autocomplete]{width:100%}\
        button{cursor:pointer}ul{list-style:none;padding:0}li{margin:.5em 0}li form{display:inline-block}\
        li button{padding:.1em .5em}summary{cursor:pointer}details{margin:.25em 0}\
        [role=alert]{border-left:4px solid #c33;padding-left:.75em}\
        [role=status]{border-left:4px solid #393;padding-left:.75em}
        """

    /// - Parameters:
    ///   - script: the source of scripts in the content security policy; none by default.
    ///   - destination: an origin elsewhere to which the answer to the page's form leads; nil for none.
    func response(
        _ content: String, status: Int = 200, script: String = "'none'", destination: String? = nil
    ) -> HTTPResponse {
        let html = """
            <!DOCTYPE html>
            <html lang="en"><head><meta charset="utf-8"><title>\(title)</title>
            <meta name="viewport" content="width=device-width"><style>\(Self.style)body{max-width:\(width)}</style>\
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
