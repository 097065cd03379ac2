import FoundationEssentials

/// The one public address of a production server. Every address that the server gives out starts with it.
package struct PublicURL: Hashable, Sendable {
    /// The URL without a trailing slash, such as `https://cloud.example.org`.
    package let text: String
    /// The value of the `Host` header, in lower case: without the scheme's own port.
    let authority: String
    /// Whether the port is the scheme's own, which a `Host` header may leave out or not.
    private let hasOwnPort: Bool

    /// Nil unless the text is an `https` URL, or an `http` URL, with a host and nothing after it.
    package init?(_ text: String) {
        guard let url = URLComponents(string: text), let scheme = url.scheme?.lowercased(),
            scheme == "https" || scheme == "http", let host = url.host?.lowercased(), !host.isEmpty,
            // Browsers send an international name in its xn-- form.
            host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "%") }),
            url.percentEncodedPath.isEmpty || url.percentEncodedPath == "/", url.query == nil, url.fragment == nil,
            url.user == nil, url.password == nil, url.port.map({ (1...65_535).contains($0) }) ?? true
        else { return nil }
        let name = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        let ownPort = scheme == "https" ? 443 : 80
        let port = url.port.flatMap { $0 == ownPort ? nil : ":\($0)" } ?? ""
        authority = name + port
        hasOwnPort = port.isEmpty
        self.text = "\(scheme)://\(authority)"
    }

    /// The host without the port, in lower case. An IPv6 address has no brackets.
    package var host: String {
        String(authority.hasPrefix("[") ? authority.dropFirst().prefix { $0 != "]" } : authority.prefix { $0 != ":" })
    }

    /// Whether the host is this machine.
    package var isLoopback: Bool { IPAddress.isLoopback(host: host) }

    package var isSecure: Bool { text.hasPrefix("https:") }

    /// Whether a `Host` header names this server.
    func isHost(_ host: String) -> Bool {
        let host = host.lowercased()
        return host == authority || hasOwnPort && host == authority + (isSecure ? ":443" : ":80")
    }
}

extension PublicURL {
    /// The URL of a server that only this process calls.
    package static let unused = PublicURL(host: "localhost")

    private init(host: String) {
        text = "http://\(host)"
        authority = host
        hasOwnPort = true
    }
}
