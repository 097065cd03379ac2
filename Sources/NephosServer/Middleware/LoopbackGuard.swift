import NephosWire

/// Keeps the web away from a developer's data: answers only requests that name this machine.
///
/// - `Host` must be a loopback name, or a page elsewhere could reach the service by a name of its own that it points at
///   127.0.0.1.
/// - `Origin`, which browsers send for a page's requests, must be a page that this machine serves. `null` is not.
enum LoopbackGuard {
    static func check(_ request: HTTPRequest) throws(Refusal) {
        guard let host = request.host, isLoopback(authority: host[...]) else {
            throw Refusal(
                .accessDenied,
                "nephos dev answers only requests to localhost, 127.0.0.1 or [::1]; the Host header is "
                    + quoted(request.host))
        }
        if let origin = request.origin, !isLoopback(origin: origin) {
            throw Refusal(
                .accessDenied,
                "nephos dev answers only web pages served from localhost, 127.0.0.1 or [::1]; the Origin header is "
                    + quoted(origin))
        }
    }

    static func isLoopback(origin: String) -> Bool {
        for scheme in ["http://", "https://"] where origin.hasPrefix(scheme) {
            return isLoopback(authority: origin.dropFirst(scheme.count))
        }
        return false
    }

    /// A host with or without a port.
    static func isLoopback(authority: Substring) -> Bool {
        if authority.first == "[" {
            guard let end = authority.firstIndex(of: "]") else { return false }
            return authority[...end] == "[::1]" && isPort(authority[end...].dropFirst())
        }
        let host = authority.prefix { $0 != ":" }
        guard isPort(authority[host.endIndex...]) else { return false }
        return host.lowercased() == "localhost" || isLoopbackAddress(host)
    }

    /// Nothing, or a colon and digits.
    private static func isPort(_ text: Substring) -> Bool {
        guard let colon = text.first else { return true }
        return colon == ":" && text.dropFirst().utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }

    /// 127.0.0.0/8, written as four decimal numbers.
    private static func isLoopbackAddress(_ host: Substring) -> Bool {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4, parts[0] == "127" else { return false }
        return parts.allSatisfy { part in
            part.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } && UInt8(part) != nil
        }
    }

    private static func quoted(_ value: String?) -> String {
        value.map { "'\($0.prefix(100))'" } ?? "missing"
    }
}
