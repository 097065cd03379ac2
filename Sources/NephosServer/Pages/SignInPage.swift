import NephosService
import NephosWire

/// The page at which people sign in: for an app (CloudKit Web Services, `redirectURL`), or for a page of this server. It
/// works without a script. After the sign-in the token goes to the callback of the API token, or by `postMessage` to the
/// app's window, to the app's origin alone.
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

    /// Returns the address of the sign-in for a page of this server.
    static func address(returningTo path: String) -> String { "\(Self.path)?return=\(PercentEncoding.escaped(path))" }

    /// Returns the address of the sign-in to the app of a request.
    static func address(ofRequest text: String) -> String { "\(path)?request=\(text)" }

    /// Returns the request of a text.
    /// - Throws: the refusal of a text that this server did not make, or that has expired.
    static func request(_ text: String, _ installation: Installation) throws(Refusal) -> SignInRequest {
        guard let request = installation.signInRequest(text) else {
            throw Refusal(.authenticationFailed, "the address of the sign-in has expired: go back to the app")
        }
        return request
    }

    enum Purpose {
        case app(SignInRequest, SignInApp)
        case ownPage(String)
    }

    let page: OwnPage
    let purpose: Purpose
    private let installation: Installation
    /// Whether another account than the browser's is to sign in.
    private let isForOther: Bool

    init(_ routed: RoutedRequest, _ installation: Installation) async throws(Refusal) {
        try await self.init(
            routed, installation, request: routed.target.parameter("request")?.readings.first,
            path: routed.target.parameter("return")?.readings.first)
    }

    /// - Parameters:
    ///   - request: the text of a `redirectURL`; nil for a page of this server.
    ///   - path: the path of that page; nil for the account's.
    init(
        _ routed: RoutedRequest, _ installation: Installation, request text: String?, path: String?
    ) async throws(Refusal) {
        self.installation = installation
        isForOther = routed.target.parameter("other") != nil
        if let text {
            let request = try Self.request(text, installation)
            page = OwnPage(routed, installation, name: text)
            purpose = .app(request, try await Self.app(request, installation))
            return
        }
        let path = path ?? AccountPage.path
        guard OwnPage.isReturnPath(path) else {
            throw Refusal(.badRequest, "a sign-in leads to pages of this server alone")
        }
        page = OwnPage(routed, installation, name: Self.name(returningTo: path))
        purpose = .ownPage(path)
    }

    /// The name of the page that leads to a page of this server.
    static func name(returningTo path: String) -> String { "\(Self.path) \(path)" }

    private static func app(
        _ request: SignInRequest, _ installation: Installation
    ) async throws(Refusal) -> SignInApp {
        if let origin = request.origin, !(await installation.allows(origin: origin, apiToken: request.apiToken)) {
            throw Refusal(ServiceError.invalidAPIToken)
        }
        do throws(ServiceError) {
            return try await installation.app(ofAPIToken: request.apiToken)
        } catch {
            throw Refusal(error)
        }
    }

    func answer() async throws(Refusal) -> HTTPResponse {
        let session = isForOther ? nil : try await page.session()
        guard page.routed.request.method == .post else {
            if session != nil, case .ownPage(let path) = purpose { return page.redirect(to: path) }
            return try await show(session, nil)
        }
        let form = try page.form()
        let keepsSignedIn = form.field("keep") == "on"
        var continued: (session: BrowserSession, app: SignInRequest)?
        if form.field("action") == "continue" {
            guard let session, case .app(let request, _) = purpose else { return try await show(nil, nil) }
            continued = (session, request)
        }
        do throws(ServiceError) {
            if let (session, app) = continued {
                let signedIn = try await installation.signIn(
                    session, apiToken: app.apiToken, origin: app.origin, keepsSignedIn: keepsSignedIn,
                    address: page.routed.request.client)
                return finished(signedIn)
            }
            let request = signIn(form, keepsSignedIn: keepsSignedIn)
            let signedIn =
                form.field("action") == PasskeySignInForm.action
                ? try await passkeys.signIn(form, request) : try await installation.signIn(request)
            return page.signingIn(signedIn, keepsSignedIn: keepsSignedIn, finished(signedIn))
        } catch {
            guard error.code == .authenticationFailed || error.code == .throttled else { throw Refusal(error) }
            guard error.code == .throttled else { return try await show(nil, error.reason, status: 403) }
            var response = try await show(nil, error.reasonWithDelay, status: 429)
            response.headers += Refusal(error).retryHeaders
            return response
        }
    }

    private func signIn(_ form: RequestTarget, keepsSignedIn: Bool) -> SignIn {
        var (apiToken, origin): (String?, String?) = (nil, nil)
        if case .app(let request, _) = purpose { (apiToken, origin) = (request.apiToken, request.origin) }
        var request = SignIn(
            name: form.field("account"), password: form.field("password"), apiToken: apiToken, origin: origin,
            device: page.device, label: "browser", keepsSignedIn: keepsSignedIn, address: page.routed.request.client)
        request.startsBrowserSession = true
        request.formerBrowserToken = page.browserToken
        return request
    }

    // MARK: Content

    private func show(
        _ session: BrowserSession?, _ problem: String?, status: Int = 200
    ) async throws(Refusal) -> HTTPResponse {
        if let session { return page.page("Sign in", offer(session), status: status, destination: destination) }
        return page.page(
            "Sign in", form(problem, try await passkeys.content()), status: status,
            script: PasskeyScript.policy(page), destination: destination)
    }

    private var passkeys: PasskeySignInForm { PasskeySignInForm(page: page, installation: installation) }

    /// The origin to which the form leads after the sign-in, besides this server.
    var destination: String? {
        guard case .app(_, let app) = purpose else { return nil }
        return app.callback.map(SignInCallback.origin)
    }

    /// What the person signs in to; empty for this server's own pages.
    private var subject: String {
        guard case .app(let request, let app) = purpose else { return "" }
        let place = "\(OwnPage.escaped(app.container)), \(OwnPage.escaped(app.environment))"
        let name = app.name.isEmpty ? "<b>\(place)</b>," : "<b>\(OwnPage.shown(app.name))</b> (\(place))"
        let end = app.callback.map(SignInCallback.origin) ?? request.origin
        return """
            <p>\(name) asks you to sign in.\(end.map { " You go on at \(OwnPage.escaped($0))." } ?? "")</p>
            """
    }

    private static let keep = "<p><label><input type=\"checkbox\" name=\"keep\"> Keep me signed in</label></p>"

    /// The form for a browser that is signed in.
    private func offer(_ session: BrowserSession) -> String {
        """
        <h1>Sign in</h1>\(subject)<form method="post">\(page.formField)\
        <input type="hidden" name="action" value="continue">\
        \(Self.keep)<p><button>Continue as \(OwnPage.escaped(session.name))</button></p></form>
        <form method="get">\(target)<input type="hidden" name="other" value="1"><p><button>Use another account</button>\
        </p></form>
        """
    }

    /// The hidden field that a form by GET repeats.
    var target: String {
        let (field, value) = if case .ownPage(let path) = purpose { ("return", path) } else { ("request", page.name) }
        return "<input type=\"hidden\" name=\"\(field)\" value=\"\(OwnPage.escaped(value))\">"
    }

    /// Whether a provider is to ask who the person is: where another account signs in, and where the session has to be
    /// recent, as for what a program's login may give.
    private var asksAgain: Bool {
        guard case .ownPage(LoginPage.path) = purpose else { return isForOther }
        return true
    }

    /// - Parameter passkeys: the form for a passkey; empty for none.
    private func form(_ problem: String?, _ passkeys: String) -> String {
        """
        <h1>Sign in</h1>\(subject)\(OwnPage.alert(problem))<form method="post">\(page.formField)
        <p><label>Name or e-mail address<br><input name="account" autocomplete="username" required autofocus></label></p>
        <p><label>Password<br><input name="password" type="password" autocomplete="current-password" required></label></p>
        \(Self.keep)<p><button>Sign in</button></p></form>\(passkeys)\(providers)\(others)
        """
    }

    private var providers: String {
        ProviderPage.forms(target, of: page, for: page.name, asksAgain: asksAgain)
    }

    /// The links to recovery and sign-up.
    private var others: String {
        var links = ""
        if installation.sendsMail { links += "<p><a href=\"\(MailRequestPage.recovery)\">Forgot the password?</a></p>" }
        if installation.isOpenToSignUps {
            var target = MailRequestPage.signUp
            switch purpose {
            // A link's path has its secret, which no store is to have.
            case .ownPage(let path) where path.hasPrefix(LinkPage.path): break
            case .ownPage(let path): target += "?return=\(PercentEncoding.escaped(path))"
            case .app: target += "?request=\(page.name)"
            }
            links += "<p><a href=\"\(target)\">Make an account</a></p>"
        }
        return links
    }

    func finished(_ signedIn: SignedIn) -> HTTPResponse {
        switch purpose {
        case .ownPage(let path): page.redirect(to: path)
        case .app(let request, let app):
            if let callback = app.callback {
                page.redirect(to: SignInCallback.url(callback, token: signedIn.token, nonce: request.nonce))
            } else {
                messagePage(signedIn, request.origin)
            }
        }
    }

    /// The page that passes the token to the app's window, as an object with both names of the token.
    private func messagePage(_ signedIn: SignedIn, _ origin: String?) -> HTTPResponse {
        // A provider's page may have cut the window's tie to the app (Cross-Origin-Opener-Policy).
        let content = """
            <h1>Signed in</h1><p>You can close this page. If the app does not go on, begin its sign-in again: it \
            needs no password now.</p>
            """
        guard let origin else { return page.page("Sign in", content) }
        let message = SignInMessage(token: signedIn.token, origin: origin)
        return page.page("Sign in", content + message.element, script: message.policy)
    }
}
