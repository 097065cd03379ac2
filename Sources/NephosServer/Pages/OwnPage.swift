import NephosService
import NephosWire

/// What the server's own pages have in common: cookies, forms, the browser's session.
///
/// A form is accepted from this server's pages alone: it has the origin of this server, and a token that is bound to the
/// browser and the page.
struct OwnPage: Sendable {
    let routed: RoutedRequest
    let installation: Installation
    private let isSecure: Bool
    private let cookies: String
    private let secret: FormSecret
    /// What the page is for. Forms of one page are none of another.
    let name: String
    /// Whether forms end with the session. Forms of a link end with the link.
    private let isOfSession: Bool

    init(_ routed: RoutedRequest, _ installation: Installation, name: String, isOfSession: Bool = true) {
        self.routed = routed
        self.installation = installation
        self.name = name
        self.isOfSession = isOfSession
        isSecure = routed.access.baseURL(routed.request).hasPrefix("https:")
        cookies = routed.request.cookie ?? ""
        secret = FormSecret(PageCookie.form(isSecure: isSecure).value(in: cookies))
    }

    var device: String? { PageCookie.device(isSecure: isSecure).value(in: cookies) }
    /// The name of this browser, of which it alone knows the secret. No form has this text as its token.
    var browserName: String { secret.token(of: "browser") }
    /// The browser's own secret; a new one in a browser without cookies, until `page` gives it.
    var browserSecret: String { secret.secret }
    var browserToken: String? { PageCookie.session(isSecure: isSecure).value(in: cookies) }

    /// The session of the browser; nil if it is not signed in.
    func session() async throws(Refusal) -> BrowserSession? {
        do throws(ServiceError) {
            return try await installation.browserSession(browserToken)
        } catch {
            throw Refusal(error)
        }
    }

    /// Whether a path is that of a page to which a sign-in or a sign-up leads.
    static func isReturnPath(_ path: String) -> Bool {
        [AccountPage.path, LoginPage.path].contains(path) || ProductionSharePage.isPath(path) || LinkPage.isPath(path)
    }

    /// Whether a byte is one of base64url.
    static func isURLSafe(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// The page where the person goes on after a sign-up.
    func next(_ continuation: SignUpContinuation?) -> String {
        switch continuation {
        case .page(let path)? where OwnPage.isReturnPath(path): return path
        case .app(let apiToken, let origin, let browser, let nonce)? where browser == browserName:
            // The text that the app gave may have expired meanwhile.
            guard let text = installation.signInText(apiToken: apiToken, origin: origin, nonce: nonce) else { break }
            return SignInPage.address(ofRequest: text)
        default: break
        }
        return AccountPage.path
    }

    // MARK: Forms

    /// Forms are of the page and of the session that it was shown in: after another sign-in they are none.
    var formToken: String { secret.token(of: isOfSession ? "\(name) \(browserToken ?? "")" : name) }

    /// The hidden field of a form.
    var formField: String { Self.formField(formToken) }

    /// The hidden field of a form of this page that another one answers, whose forms end with the session.
    func formField(of name: String) -> String { Self.formField(secret.token(of: "\(name) \(browserToken ?? "")")) }

    private static func formField(_ token: String) -> String {
        "<input type=\"hidden\" name=\"form\" value=\"\(token)\">"
    }

    /// Returns the fields of a form that this page sent.
    func form() throws(Refusal) -> RequestTarget {
        guard routed.request.origin == routed.access.baseURL(routed.request) else {
            throw Refusal(.accessDenied, "the form was not sent by the page of this server")
        }
        guard let form = RequestTarget("/?" + String(decoding: routed.request.body, as: UTF8.self)) else {
            throw Refusal(.badRequest, "the form cannot be read")
        }
        guard !secret.isNew, form.field("form") == formToken else {
            throw Refusal(.accessDenied, "the form is not this browser's: open the page again, and allow its cookies")
        }
        return form
    }

    // MARK: Responses

    /// Returns a page with this browser's cookie for forms.
    /// - Parameters:
    ///   - script: the source of scripts in the content security policy.
    ///   - destination: an origin elsewhere to which the answer to the page's form leads; nil for none.
    func page(
        _ title: String, _ content: String, status: Int = 200, script: String = "'none'", destination: String? = nil
    ) -> HTTPResponse {
        var response = HTMLPage(title: title, width: "24em", referrerPolicy: "same-origin")
            .response(content, status: status, script: script, destination: destination)
        if secret.isNew { response.headers.append(PageCookie.form(isSecure: isSecure).header(secret.secret)) }
        return response
    }

    /// Leads the browser to another page. An empty fragment replaces one that the present address has: that of a share
    /// has a key.
    func redirect(to url: String) -> HTTPResponse {
        HTTPResponse(
            status: 303,
            headers: [
                HTTPHeader("Location", "\(url)#"), HTTPHeader("Cache-Control", "no-store"),
                HTTPHeader("Referrer-Policy", "no-referrer"),
            ], body: [])
    }

    /// Adds the cookies of a sign-in.
    func signingIn(_ signedIn: SignedIn, keepsSignedIn: Bool, _ response: HTTPResponse) -> HTTPResponse {
        var response = response
        if !signedIn.device.isEmpty {
            // The device is known at its next sign-in: strangers' guesses do not delay it.
            response.headers.append(
                PageCookie.device(isSecure: isSecure).header(signedIn.device, lifetime: 365 * 86_400))
        }
        if let token = signedIn.browserToken {
            response.headers.append(
                PageCookie.session(isSecure: isSecure).header(token, lifetime: keepsSignedIn ? 365 * 86_400 : nil))
        }
        return response
    }

    /// Removes the cookie of the browser's session.
    func signingOut(_ response: HTTPResponse) -> HTTPResponse {
        var response = response
        response.headers.append(PageCookie.session(isSecure: isSecure).header("", lifetime: 0))
        return response
    }

    static func escaped(_ text: String) -> String { SharePageText.escaped(text) }

    /// Returns a text that people or programs chose, as an HTML element of its own: printable, and without effect on the
    /// text around it.
    static func shown(_ text: String) -> String { SharePageText.shown(text) }

    /// Returns a message about what went wrong; empty for none.
    static func alert(_ problem: String?) -> String {
        problem.map { "<p role=\"alert\">\(escaped($0)).</p>" } ?? ""
    }
}

extension RequestTarget {
    /// Returns the value of a form's field; empty if it has none.
    func field(_ name: StaticString) -> String { parameter(name)?.readings.first ?? "" }
}
