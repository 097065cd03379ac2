import NephosWire

/// The routes of the dashboard, `/dashboard` and `/dashboard/{file}`, and `/`, which leads there.
enum WebRoutes {
    static let table: [Route] = [
        Route([.get], "/", access: .open) { _ in
            HTTPResponse(status: 302, headers: [HTTPHeader("Location", WebFiles.path)])
        },
        Route([.get], WebFiles.path, access: .open) { routed throws(Refusal) in
            let components = routed.target.components
            guard let file = WebFiles.files[components.count > 1 ? components[1] : WebFiles.page] else {
                throw .noHandler
            }
            return response(file, routed.request.transfer.ifNoneMatch)
        },
    ]

    private static func response(_ file: WebFiles.File, _ ifNoneMatch: String?) -> HTTPResponse {
        let caching = [HTTPHeader("ETag", file.tag), HTTPHeader("Cache-Control", "no-cache")]
        if let ifNoneMatch, EntityTag.matches(file.tag, anyOf: ifNoneMatch) {
            return HTTPResponse(status: 304, headers: caching)
        }
        return HTTPResponse(
            status: 200, headers: [HTTPHeader("Content-Type", file.contentType)] + caching + policies,
            parts: [file.bytes])
    }

    /// Scripts are files of this server, and make no markup of text (Trusted Types): names and values of clients stay
    /// text. Pictures are files of records that a script has read.
    private static let policies = [
        HTTPHeader(
            "Content-Security-Policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' blob: data:; "
                + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
                + "require-trusted-types-for 'script'; trusted-types 'none'"),
        HTTPHeader("X-Content-Type-Options", "nosniff"),
        HTTPHeader("X-Frame-Options", "DENY"),
        HTTPHeader("Referrer-Policy", "no-referrer"),
        HTTPHeader("Cross-Origin-Opener-Policy", "same-origin"),
    ]
}
