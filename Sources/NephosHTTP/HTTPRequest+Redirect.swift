import FoundationEssentials

extension HTTPRequest {
    /// The names of headers that contain no credentials.
    private static let harmlessHeaders: Set<String> = ["accept", "accept-language", "range", "user-agent"]

    /// Returns the request that follows a redirect; nil if the response is no redirect to follow.
    ///
    /// A request with a body is never repeated, and a redirect never leads from TLS to plain HTTP. Another server
    /// receives no header that could contain credentials.
    func redirected(by response: HTTPResponse) -> HTTPRequest? {
        guard [301, 302, 303, 307, 308].contains(response.status), redirectLimit > 0, method == .get || method == .head,
            case .none = body, let target = response.redirectURL, let from = Origin(url), let to = Origin(target),
            from.scheme == "http" || to.scheme == "https"
        else { return nil }
        guard from == to || unixSocket == nil else { return nil }
        var next = self
        next.url = target
        next.redirectLimit -= 1
        if from != to {
            next.headers.removeAll { !Self.harmlessHeaders.contains($0.name.lowercased()) }
            next.certificates = nil
        }
        return next
    }
}

/// The origin of a URL: its scheme, host and port (RFC 6454).
private struct Origin: Equatable {
    let scheme: String
    let host: String
    let port: Int

    init?(_ url: String) {
        guard let parts = URLComponents(string: url), let scheme = parts.scheme?.lowercased(), let host = parts.host
        else { return nil }
        guard scheme == "http" || scheme == "https" else { return nil }
        self.scheme = scheme
        self.host = host.lowercased()
        port = parts.port ?? (scheme == "https" ? 443 : 80)
    }
}
