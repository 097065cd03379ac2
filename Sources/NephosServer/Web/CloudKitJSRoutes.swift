import NephosWire

/// The route of CloudKit JS: `/ck/2/{name}` and `/ck/1/{name}`, the paths of Apple's CDN; `/ck/{version}/{name}`, whose
/// bytes never change; and `/ck/2/integrity.json`, which lists those addresses. Web pages of every origin may load them.
enum CloudKitJSRoutes {
    static let table: [Route] = [
        Route([.get], CloudKitJS.path, access: .open) { routed throws(Refusal) in
            let (release, name) = (routed.target.components[1], routed.target.components[2])
            if release == "2", name == "integrity.json" { return versions(routed.access.baseURL(routed.request)) }
            if let form = CloudKitJS.forms["\(release)/\(name)"] {
                return response(form, routed.request.transfer, caching: "no-cache")
            }
            guard let form = CloudKitJS.form(version: release, name: name) else { throw .noHandler }
            return response(form, routed.request.transfer, caching: "public, max-age=31536000, immutable")
        }
    ]

    /// Whether a request loads a form. Pages of other names and ports of this machine do.
    static func takes(_ request: HTTPRequest) -> Bool {
        (request.method == .get || request.method == .head) && request.target.hasPrefix(CloudKitJS.path + "/")
    }

    private static let shared = [
        HTTPHeader("Access-Control-Allow-Origin", "*"), HTTPHeader("Cross-Origin-Resource-Policy", "cross-origin"),
        HTTPHeader("X-Content-Type-Options", "nosniff"),
    ]

    private static func response(
        _ form: CloudKitJS.Form, _ transfer: TransferHeaders, caching: String
    ) -> HTTPResponse {
        let compressed = transfer.acceptsGzip ? form.compressed : nil
        let tag = "\"\(form.version)\(compressed == nil ? "" : "-gzip")\""
        var headers =
            shared + [
                HTTPHeader("ETag", tag), HTTPHeader("Cache-Control", caching), HTTPHeader("Vary", "Accept-Encoding"),
            ]
        if let ifNoneMatch = transfer.ifNoneMatch, EntityTag.matches(tag, anyOf: ifNoneMatch) {
            return HTTPResponse(status: 304, headers: headers)
        }
        headers.append(HTTPHeader("Content-Type", form.contentType))
        if compressed != nil { headers.append(HTTPHeader("Content-Encoding", "gzip")) }
        return HTTPResponse(status: 200, headers: headers, parts: [compressed ?? form.bytes])
    }

    /// The addresses of the forms whose bytes never change, with what `integrity` has to say of them.
    private static func versions(_ baseURL: String) -> HTTPResponse {
        let items = CloudKitJS.forms.sorted { $0.key < $1.key }.map { key, form in
            #"  "\#(key)": {"url": "\#(baseURL)/\#(CloudKitJS.module)/\#(form.version)/\#(form.name)", "#
                + #""integrity": "\#(form.integrity)"}"#
        }
        return HTTPResponse(
            status: 200,
            headers: shared + [
                HTTPHeader("Content-Type", "application/json; charset=utf-8"), HTTPHeader("Cache-Control", "no-cache"),
            ],
            body: Array("{\n\(items.joined(separator: ",\n"))\n}\n".utf8))
    }
}
