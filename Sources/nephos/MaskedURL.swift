/// URLs in messages, without what may be secret in them.
enum MaskedURL {
    /// Masks the user's password and the query of a URL, and the password of a text that lacks a scheme.
    /// - Parameter hidesPath: whether the path is a secret too, as that of a web hook.
    static func text(_ value: String, hidesPath: Bool = false) -> String {
        guard let scheme = value.firstRange(of: "://") else { return value }
        var rest = value[scheme.upperBound...]
        var tail = ""
        if let query = rest.firstIndex(where: { $0 == "?" || $0 == "#" }) { (rest, tail) = (rest[..<query], "?…") }
        let path = rest.firstIndex(of: "/") ?? rest.endIndex
        var (authority, place) = (rest[..<path], rest[path...])
        if hidesPath, place.count > 1 { place = "/…" }
        authority = withoutPassword(authority)
        return value[..<scheme.upperBound] + authority + place + tail
    }

    /// Masks a text that should have been a URL.
    static func wrong(_ value: String) -> String {
        Console.printable(value.contains("://") ? text(value) : String(withoutPassword(value[...])))
    }

    private static func withoutPassword(_ authority: Substring) -> Substring {
        guard let at = authority.lastIndex(of: "@"), authority[..<at].contains(":") else { return authority }
        return authority.prefix { $0 != ":" } + ":…" + authority[at...]
    }
}
