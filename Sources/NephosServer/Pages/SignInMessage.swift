import NephosService

/// The script that ends a sign-in to an app: it passes the token to the app's window, as an object with both of the token's
/// names, and closes the page. The browser delivers the message to pages of the origin alone.
struct SignInMessage {
    /// The element that ends a page.
    let element: String
    /// The source of scripts in the content security policy of that page.
    let policy: String

    /// - Parameter origin: the origin of the app's page.
    init(token: String, origin: String) {
        let nonce = Installation.makeNonce()
        let (token, origin) = (Self.literal(token), Self.literal(origin))
        let message = "{ckWebAuthToken: \(token), ckSession: \(token)}"
        let script = "if (window.opener) { window.opener.postMessage(\(message), \(origin)); window.close(); }"
        element = "<script nonce=\"\(nonce)\">\(script)</script>"
        policy = "'nonce-\(nonce)'"
    }

    /// Returns a text as a literal of JavaScript inside of HTML: what could end either is escaped.
    private static func literal(_ text: String) -> String {
        let escaped = text.utf16.map { unit -> String in
            let scalar = Unicode.Scalar(unit)
            if let scalar, scalar.isASCII,
                scalar.properties.isAlphabetic || scalar.properties.numericType != nil
                    || "-_.:/".unicodeScalars.contains(scalar)
            {
                return String(scalar)
            }
            let digits = String(unit, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
        return "\"\(escaped.joined())\""
    }
}
