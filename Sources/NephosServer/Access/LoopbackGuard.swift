import NephosWire

/// Protects a developer's data from web pages. Only requests that name this machine are answered.
///
/// - `Host` must be a loopback name. Otherwise a page elsewhere could reach the service by a domain name that resolves
///   to 127.0.0.1 (DNS rebinding).
/// - `Origin`, which browsers send for requests of a page, must be a page that this machine serves. `null` is refused.
enum LoopbackGuard {
    static func check(_ request: HTTPRequest) throws(Refusal) {
        guard let host = request.host, isLoopback(host, isLoopback(authority:)) else {
            throw Refusal(
                .accessDenied,
                "nephos dev answers only requests to localhost, 127.0.0.1 or [::1]; the Host header is "
                    + quoted(request.host))
        }
        if request.origin == "null", ShareRoutes.takesNullOrigin(request) { return }
        // The script has no data, so that pages of every origin may load it.
        if CloudKitJSRoutes.takes(request) { return }
        if let origin = request.origin, !isLoopback(origin, isLoopback(origin:)) {
            throw Refusal(
                .accessDenied,
                "nephos dev answers only web pages served from localhost, 127.0.0.1 or [::1]; the Origin header is "
                    + quoted(origin))
        }
        // Refuses an image or a link on a page elsewhere, for which browsers send no Origin. Links to a share's URL, to
        // the sign-in and to the dashboard are allowed: a page of another port or name of this machine counts as cross-site.
        if request.origin == nil, request.fetchSite == "cross-site", !ShareRoutes.takesNavigation(request),
            !DevelopmentSignInPage.takesNavigation(request), !WebFiles.takesNavigation(request)
        {
            throw Refusal(
                .accessDenied,
                "nephos dev does not answer what web pages elsewhere ask for (Sec-Fetch-Site: cross-site)")
        }
    }

    /// Whether pages of an origin are served by this machine.
    static func isLoopback(origin: String) -> Bool { isLoopback(origin, isLoopback(origin:)) }

    private static func isLoopback(_ header: String, _ test: (TextBytes) -> Bool) -> Bool {
        var header = header
        return header.withUTF8 { test($0[...]) }
    }

    private static func isLoopback(origin: TextBytes) -> Bool {
        for scheme in ["http://", "https://"] where origin.starts(with: scheme.utf8) {
            return isLoopback(authority: origin.dropFirst(scheme.utf8.count))
        }
        return false
    }

    /// Whether the authority is a loopback host. A port is optional.
    private static func isLoopback(authority: TextBytes) -> Bool {
        if authority.first == UInt8(ascii: "[") {
            return authority.starts(with: "[::1]".utf8) && isPort(authority.dropFirst("[::1]".utf8.count))
        }
        let end = authority.firstIndex(of: UInt8(ascii: ":")) ?? authority.endIndex
        let host = authority[..<end]
        return isPort(authority[end...]) && (isLocalhost(host) || isLoopbackAddress(host))
    }

    /// Whether the text is empty, or a colon and up to five digits.
    private static func isPort(_ text: TextBytes) -> Bool {
        guard let colon = text.first else { return true }
        return colon == UInt8(ascii: ":") && text.count <= 6 && text.dropFirst().allSatisfy(isDigit)
    }

    /// Whether the host is `localhost`. Host names are case-insensitive.
    private static func isLocalhost(_ host: TextBytes) -> Bool {
        host.elementsEqual("localhost".utf8) { $0 | 0x20 == $1 }
    }

    /// Whether the host is in 127.0.0.0/8, written as four decimal numbers.
    private static func isLoopbackAddress(_ host: TextBytes) -> Bool {
        guard host.starts(with: "127.".utf8) else { return false }
        var rest = host.dropFirst("127.".utf8.count)
        var numbers = 0
        while let number = rest.popField(endedBy: UInt8(ascii: ".")) {
            guard 1...3 ~= number.count, number.allSatisfy(isDigit) else { return false }
            guard number.reduce(0, { min(256, $0 * 10 + Int($1 - UInt8(ascii: "0"))) }) < 256 else { return false }
            numbers += 1
        }
        return numbers == 3 && host.last != UInt8(ascii: ".")
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static func quoted(_ value: String?) -> String {
        value.map { "'\($0.prefix(100))'" } ?? "missing"
    }
}
