import NephosService
import NephosWire

/// The page at which people sign in for a web app (CloudKit Web Services, `redirectURL`). It works without a script; the
/// page after the sign-in passes the token to the app's window by `postMessage`, to the app's origin alone.
struct SignInPage {
    static let path = "/sign-in"

    /// Whether a text has the form of an API token.
    static func isToken(_ text: String) -> Bool {
        text.utf8.count == 64
            && text.utf8.allSatisfy { byte in
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
            }
    }

    private let routed: RoutedRequest
    private let installation: Installation
    private let apiToken: String
    /// The origin of the app's page; nil for a page that was opened by itself.
    private let origin: String?

    init(_ routed: RoutedRequest, _ installation: Installation) throws(Refusal) {
        self.routed = routed
        self.installation = installation
        guard let token = routed.target.parameter("ckAPIToken")?.readings.first, Self.isToken(token) else {
            throw Refusal(ServiceError.invalidAPIToken)
        }
        apiToken = token
        origin = routed.target.parameter("origin")?.readings.first
    }

    func answer() async throws(Refusal) -> HTTPResponse {
        if let origin, !(await installation.allows(origin: origin, apiToken: apiToken)) {
            throw Refusal(ServiceError.invalidAPIToken)
        }
        guard routed.request.method == .post else { return page(form(nil)) }
        // A page elsewhere must not sign its visitor in to another account.
        guard routed.request.origin == routed.access.baseURL(routed.request) else {
            throw Refusal(.accessDenied, "the form was not sent by the page of this server")
        }
        guard let sent = RequestTarget("/?" + String(decoding: routed.request.body, as: UTF8.self)) else {
            throw Refusal(.badRequest, "the form cannot be read")
        }
        let value = { (name: StaticString) in sent.parameter(name)?.readings.first ?? "" }
        let request = SignIn(
            name: value("account"), password: value("password"), apiToken: apiToken, origin: origin,
            device: routed.request.cookie.flatMap { deviceCookie.value(in: $0) }, label: "browser",
            keepsSignedIn: value("keep") == "on", address: routed.request.client)
        do throws(ServiceError) {
            return done(try await installation.signIn(request))
        } catch  where error.code == .authenticationFailed || error.code == .throttled {
            return page(form(error.reason), status: error.code == .throttled ? 429 : 403)
        } catch {
            throw Refusal(error)
        }
    }

    // MARK: Content

    private func form(_ problem: String?) -> String {
        """
        <h1>Sign in</h1>\(problem.map { "<p role=\"alert\">\(Self.escaped($0)).</p>" } ?? "")
        <form method="post"><p><label>Name or e-mail address<br><input name="account" autocomplete="username" required \
        autofocus></label></p><p><label>Password<br><input name="password" type="password" \
        autocomplete="current-password" required></label></p><p><label><input type="checkbox" name="keep"> Keep me signed \
        in</label></p><p><button>Sign in</button></p></form>
        """
    }

    /// The page after the sign-in. The window of the app gets an object with both names of the token.
    private func done(_ signedIn: SignedIn) -> HTTPResponse {
        var done = donePage(signedIn)
        // The device is known at its next sign-in: strangers' guesses do not delay it.
        done.headers.append(HTTPHeader("Set-Cookie", deviceCookie.header(signedIn.device)))
        return done
    }

    private var deviceCookie: DeviceCookie {
        DeviceCookie(isSecure: routed.access.baseURL(routed.request).hasPrefix("https:"))
    }

    private func donePage(_ signedIn: SignedIn) -> HTTPResponse {
        guard let origin else { return page("<h1>Signed in</h1><p>You can close this page.</p>") }
        let nonce = Installation.makeNonce()
        let message = "{ckWebAuthToken: \"\(signedIn.token)\", ckSession: \"\(signedIn.token)\"}"
        let script = "if (window.opener) { window.opener.postMessage(\(message), \"\(origin)\"); window.close(); }"
        return page(
            "<h1>Signed in</h1><p>You can close this page.</p><script nonce=\"\(nonce)\">\(script)</script>",
            script: "'nonce-\(nonce)'")
    }

    /// The form is sent with the origin of this page.
    private func page(_ content: String, status: Int = 200, script: String = "'none'") -> HTTPResponse {
        HTMLPage(title: "Sign in", width: "24em", referrerPolicy: "same-origin")
            .response(content, status: status, script: script)
    }

    private static func escaped(_ text: String) -> String { SharePageText.escaped(text) }
}

/// The cookie with the secret by which a browser is known at its next sign-in. It signs no caller in.
struct DeviceCookie {
    let isSecure: Bool

    /// Browsers take a name with this prefix from the server itself alone, over TLS (RFC 6265bis §4.1.3).
    private var name: String { isSecure ? "__Host-nephos-device" : "nephos-device" }

    func header(_ secret: String) -> String {
        "\(name)=\(secret); Path=/; Max-Age=31536000; HttpOnly; SameSite=Lax\(isSecure ? "; Secure" : "")"
    }

    /// Returns the secret in a header `Cookie`; nil if there is none.
    func value(in header: String) -> String? {
        for pair in header.split(separator: ";") {
            let parts = pair.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
            if parts.count == 2, parts[0] == name[...] { return String(parts[1]) }
        }
        return nil
    }
}
