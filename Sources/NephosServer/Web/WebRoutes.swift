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
            return response(file, routed.request.transfer)
        },
    ]

    private static func response(_ file: WebFiles.File, _ headers: TransferHeaders) -> HTTPResponse {
        let compressed = headers.acceptsGzip ? file.compressed : nil
        let tag = compressed == nil ? file.tag : file.compressedTag
        let caching = [
            HTTPHeader("ETag", tag), HTTPHeader("Cache-Control", "no-cache"), HTTPHeader("Vary", "Accept-Encoding"),
        ]
        if let ifNoneMatch = headers.ifNoneMatch, EntityTag.matches(tag, anyOf: ifNoneMatch) {
            return HTTPResponse(status: 304, headers: caching)
        }
        let encoding = compressed == nil ? [] : [HTTPHeader("Content-Encoding", "gzip")]
        return HTTPResponse(
            status: 200, headers: [HTTPHeader("Content-Type", file.contentType)] + encoding + caching + policies,
            parts: [compressed ?? file.bytes])
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
