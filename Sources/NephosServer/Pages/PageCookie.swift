import NephosService

/// A cookie of the server's own pages. Scripts cannot read it, and only this host can set it.
struct PageCookie: Sendable {
    /// The secret by which a browser is known at its next sign-in. It signs no caller in.
    static func device(isSecure: Bool) -> PageCookie { PageCookie(use: "device", isSecure: isSecure) }
    /// The token of the browser's session.
    static func session(isSecure: Bool) -> PageCookie { PageCookie(use: "session", isSecure: isSecure) }
    /// A random text that forms of this browser are bound to.
    static func form(isSecure: Bool) -> PageCookie { PageCookie(use: "form", isSecure: isSecure) }

    let use: String
    let isSecure: Bool

    /// Browsers take a name with this prefix from the server itself alone, over TLS (RFC 6265bis §4.1.3).
    private var name: String { isSecure ? "__Host-nephos-\(use)" : "nephos-\(use)" }

    /// - Parameter lifetime: in seconds; nil for as long as the browser runs, 0 to remove the cookie.
    func header(_ value: String, lifetime: Int? = nil) -> HTTPHeader {
        let age = lifetime.map { "; Max-Age=\($0)" } ?? ""
        return HTTPHeader(
            "Set-Cookie", "\(name)=\(value); Path=/\(age); HttpOnly; SameSite=Lax\(isSecure ? "; Secure" : "")")
    }

    /// Returns the value in a header `Cookie`; nil if there is none.
    func value(in header: String) -> String? {
        for pair in header.split(separator: ";") {
            let parts = pair.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
            if parts.count == 2, parts[0] == name[...] { return String(parts[1]) }
        }
        return nil
    }
}

/// The secret of a browser that its forms contain a hash of, so that no page elsewhere can make such a form.
struct FormSecret: Sendable {
    let secret: String
    let isNew: Bool

    init(_ cookie: String?) {
        isNew = cookie?.utf8.count != 64
        secret = isNew ? Installation.makeNonce() : cookie ?? ""
    }

    /// The token of the forms of a page.
    /// - Parameter page: what the form is for, such as the text of a `redirectURL`.
    func token(of page: String) -> String { Installation.formToken(of: page, secret: secret) }
}
