import NephosService
import NephosWire

/// The pages between this server and an identity provider: the one that leads the browser to the provider, and the one to
/// which the provider leads it back. Each provider has a callback of its own. Both work without a script.
struct ProviderPage {
    static let (module, component) = ("account", "providers")
    /// The prefix of the paths. The action and the provider's name follow.
    static let path = "/\(module)/\(component)/"

    private let page: OwnPage
    private let installation: Installation
    private let provider: IdentityProvider

    /// - Throws: the refusal of an unknown path for a provider that the server does not have.
    init(_ routed: RoutedRequest, _ installation: Installation) throws(Refusal) {
        let components = routed.target.components
        guard components.count == 4, let found = installation.providers.first(where: { $0.name == components[3] })
        else {
            throw .noHandler
        }
        (self.installation, provider) = (installation, found)
        page = OwnPage(routed, installation, name: Self.path)
    }

    private var request: HTTPRequest { page.routed.request }

    /// Whether a request may come from a page without an origin: of a provider that sends no referrer. Its answer is a
    /// page that sends the form again.
    static func takesNullOrigin(_ request: HTTPRequest) -> Bool {
        request.method == .post && request.target.hasPrefix("\(PeopleSettings.providerCallbackPath)/")
    }

    /// The forms of a page, one for each provider; empty without providers.
    /// - Parameters:
    ///   - target: the hidden field that says what the sign-in is for.
    ///   - name: the name of the sign-in page for it.
    ///   - asksAgain: whether the provider is to ask who the person is, though they are signed in there.
    static func forms(_ target: String, of page: OwnPage, for name: String, asksAgain: Bool = false) -> String {
        let target = target + (asksAgain ? "<input type=\"hidden\" name=\"again\" value=\"1\">" : "")
        return page.installation.providers.map { provider in
            """
            <form method="post" action="\(path)start/\(provider.name)">\(page.formField(of: name))\(target)<p><button>Sign in by \
            \(OwnPage.escaped(provider.title))</button> <label><input type="checkbox" name="keep"> Keep me signed in\
            </label></p></form>
            """
        }.joined()
    }

    // MARK: To the provider

    /// Begins a sign-in that a form of this server's pages asked for: so a page elsewhere cannot have a person whom the
    /// provider knows sign in, to an app or to another's link, unasked.
    func start() async throws(Refusal) -> HTTPResponse {
        guard let fields = RequestTarget("/?" + String(decoding: request.body, as: UTF8.self)) else {
            throw Refusal(.badRequest, "the form cannot be read")
        }
        let signIn = try await SignInPage(
            page.routed, installation, request: fields.parameter("request")?.readings.first,
            path: fields.parameter("return")?.readings.first)
        let keepsSignedIn = try signIn.page.form().field("keep") == "on"
        let url: String
        do throws(ServiceError) {
            url = try await installation.beginSignIn(
                by: provider.name, signIn.providerPurpose, keepsSignedIn: keepsSignedIn,
                asksAgain: fields.parameter("again") != nil, browserSecret: page.browserSecret, address: request.client)
        } catch {
            return show(OwnPage.alert(error.reason), status: ProviderPage.status(of: error))
        }
        return Self.leading(to: url, provider, page)
    }

    /// Returns a page that leads to the provider's. A redirect after a form would need the provider's origin in the
    /// form's policy.
    static func leading(to url: String, _ provider: IdentityProvider, _ page: OwnPage) -> HTTPResponse {
        let (url, title) = (OwnPage.escaped(url), OwnPage.escaped(provider.title))
        return page.page(
            "Sign in",
            """
            <h1>Sign in by \(title)</h1><meta http-equiv="refresh" content="0; url=\(url)">
            <p><a href="\(url)">Continue at \(title)</a></p>
            """)
    }

    // MARK: Back

    func callback() async throws(Refusal) -> HTTPResponse {
        var parameters = page.routed.target
        if request.method == .post {
            guard let form = RequestTarget("/?" + String(decoding: request.body, as: UTF8.self)) else {
                throw Refusal(.badRequest, "the form cannot be read")
            }
            parameters = form
        }
        guard let signIn = installation.providerSignIn(parameters.field("state"), by: provider.name) else {
            return show(OwnPage.alert(Self.isOver), status: 400)
        }
        // A form of another site comes without cookies.
        if request.method == .post, request.origin != page.routed.access.baseURL(request) {
            return try await continuing(parameters, signIn)
        }
        return try await finish(signIn, ProviderResponse(parameters))
    }

    private static let isOver = "The sign-in has expired: begin it again"

    private func finish(_ signIn: ProviderSignIn, _ response: ProviderResponse) async throws(Refusal) -> HTTPResponse {
        do throws(ServiceError) {
            if case .addition = signIn.purpose {
                return try await add(signIn, response)
            }
        } catch {
            return show(OwnPage.alert(error.reason), signIn, status: Self.status(of: error))
        }
        let signInPage = try await self.signInPage(of: signIn)
        do throws(ServiceError) {
            let request = signInPage.providerRequest(keepsSignedIn: signIn.keepsSignedIn)
            let outcome = try await installation.signIn(
                signIn, response, request: request, browserSecret: page.browserSecret)
            switch outcome {
            case .signedIn(let signedIn):
                let answer = signInPage.finished(signedIn)
                return page.signingIn(signedIn, keepsSignedIn: signIn.keepsSignedIn, answer)
            case .signedUp(let signedIn, let continuation):
                let answer = page.redirect(to: page.next(continuation))
                return page.signingIn(signedIn, keepsSignedIn: signIn.keepsSignedIn, answer)
            case .noAccount(let isAddressTaken):
                return show(refusal(isAddressTaken: isAddressTaken), signIn, status: 403)
            }
        } catch {
            return show(OwnPage.alert(error.reason), signIn, status: Self.status(of: error))
        }
    }

    private func add(_ signIn: ProviderSignIn, _ response: ProviderResponse) async throws(ServiceError) -> HTTPResponse
    {
        guard let session = try await installation.browserSession(page.browserToken) else {
            throw ServiceError(.authenticationRequired, .notAuthenticated, "the session is over: sign in")
        }
        try await installation.addIdentity(
            signIn, response, to: session, browserSecret: page.browserSecret, device: page.device,
            address: request.client)
        return page.redirect(to: AccountPage.path)
    }

    /// The sign-in page that the sign-in came from.
    private func signInPage(of signIn: ProviderSignIn) async throws(Refusal) -> SignInPage {
        switch signIn.purpose {
        case .app(let text): try await SignInPage(page.routed, installation, request: text, path: nil)
        case .page(let path): try await SignInPage(page.routed, installation, request: nil, path: path)
        case .addition: try await SignInPage(page.routed, installation, request: nil, path: nil)
        }
    }

    /// Returns the page that sends a form of the provider's page again, from this site: so it has the browser's cookies. It
    /// gives no cookie, as the browser's would be replaced.
    private func continuing(_ form: RequestTarget, _ signIn: ProviderSignIn) async throws(Refusal) -> HTTPResponse {
        let destination = try await signInPage(of: signIn).destination
        let fields = ProviderResponse.names.compactMap { name in
            form.parameter(name)?.readings.first.map { value in
                "<input type=\"hidden\" name=\"\(name)\" value=\"\(OwnPage.escaped(value))\">"
            }
        }
        let nonce = Installation.makeNonce()
        // The policy keeps the origin of the form, as without a referrer it would have none.
        return HTMLPage(title: "Sign in", width: "24em", referrerPolicy: "same-origin").response(
            """
            <h1>Sign in by \(OwnPage.escaped(provider.title))</h1><form id="continue" method="post">\(fields.joined())\
            <p><button>Continue</button></p></form>
            <script nonce="\(nonce)">document.getElementById("continue").submit();</script>
            """, script: "'nonce-\(nonce)'", destination: destination)
    }

    // MARK: Content

    /// What the page says where no account is the provider's person. Only who has the address learns that an account has
    /// it.
    private func refusal(isAddressTaken: Bool) -> String {
        let title = OwnPage.escaped(provider.title)
        if isAddressTaken {
            return """
                <p role="alert">An account has your address, and does not sign in by \(title) yet. Sign in as you did \
                before, and add \(title) at your <a href="\(AccountPage.path)">account</a>.</p>
                """
        }
        return """
            <p role="alert">No account signs in by this person of \(title). If you have an account, sign in as you did \
            before, and add \(title) at your <a href="\(AccountPage.path)">account</a>.</p>
            """
    }

    private func show(_ content: String, _ signIn: ProviderSignIn? = nil, status: Int) -> HTTPResponse {
        let address =
            switch signIn?.purpose {
            case .app(let text): SignInPage.address(ofRequest: text)
            case .page(let path): SignInPage.address(returningTo: path)
            case .addition: AccountPage.path
            case nil: SignInPage.path
            }
        // Without a cookie: a form of another site, which comes without cookies, is to replace none.
        return HTMLPage(title: "Sign in", width: "24em", referrerPolicy: "same-origin").response(
            """
            <h1>Sign in by \(OwnPage.escaped(provider.title))</h1>\(content)
            <p><a href="\(OwnPage.escaped(address))">Back</a></p>
            """, status: status)
    }

    static func status(of error: ServiceError) -> Int {
        switch error.code {
        case .throttled: 429
        case .tryAgainLater: 503
        case .authenticationFailed, .exists: 403
        default: 400
        }
    }
}

extension ProviderResponse {
    /// The names of the parameters that are passed on.
    static let names: [StaticString] = ["state", "code", "iss", "error", "user"]

    init(_ parameters: RequestTarget) {
        self.init(
            code: parameters.field("code"), issuer: parameters.parameter("iss")?.readings.first,
            isError: parameters.parameter("error") != nil, user: parameters.parameter("user")?.readings.first)
    }
}

extension SignInPage {
    /// What a sign-in by a provider is for, that begins at this page.
    var providerPurpose: ProviderPurpose {
        switch purpose {
        case .app: .app(request: page.name)
        case .ownPage(let path): .page(path)
        }
    }

    /// The sign-in that a provider answers in place of a name and a password.
    func providerRequest(keepsSignedIn: Bool) -> SignIn {
        var (apiToken, origin): (String?, String?) = (nil, nil)
        if case .app(let request, _) = purpose { (apiToken, origin) = (request.apiToken, request.origin) }
        var request = SignIn(
            name: "", password: "", apiToken: apiToken, origin: origin, device: page.device, label: "browser",
            keepsSignedIn: keepsSignedIn, address: page.routed.request.client)
        request.startsBrowserSession = true
        request.formerBrowserToken = page.browserToken
        return request
    }
}
