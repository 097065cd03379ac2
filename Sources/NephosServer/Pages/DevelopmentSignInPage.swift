import NephosService
import NephosWire

/// The page at which a person chooses an account of `nephos dev`, for an app's page that this machine serves. A page
/// elsewhere gets nothing: the page is not shown for its origin, and the token goes to the origin that is shown alone.
///
/// The query has `origin`, and optionally `container` and `environment`, whose accounts are offered, and `callback`, an
/// address of the origin to which the browser goes with the token in place of a message to the app's window. The `nonce` of
/// the query goes there too, by which the app's page knows the sign-in that it began.
enum DevelopmentSignInPage {
    /// The number of accounts that are offered.
    private static let offered = 20

    /// Returns the path and query of the sign-in for a request.
    static func target(of request: HTTPRequest, _ target: RequestTarget?) -> String {
        guard let origin = request.origin else { return DevelopmentSignIn.path }
        var text = "\(DevelopmentSignIn.path)?origin=\(PercentEncoding.escaped(origin))"
        if let components = target?.components, let path = try? DatabasePath(components) {
            text += "&container=\(path.container)&environment=\(path.environment.rawValue)"
        }
        return "\(text)&nonce=\(Installation.makeNonce())"
    }

    /// Whether a request opens the page from a page of another name or port of this machine.
    static func takesNavigation(_ request: HTTPRequest) -> Bool {
        request.method == .get && request.fetchMode == "navigate"
            && request.target.prefix { $0 != "?" } == DevelopmentSignIn.path
    }

    static func answer(_ routed: RoutedRequest) async throws(Refusal) -> HTTPResponse {
        guard let origin = routed.target.parameter("origin")?.readings.first else {
            return .text(DevelopmentSignIn.page)
        }
        let ownOrigin = routed.access.baseURL(routed.request)
        guard origin == ownOrigin || LoopbackGuard.isLoopback(origin: origin) else {
            throw Refusal(.accessDenied, "nephos dev signs in to web pages served from localhost, 127.0.0.1 or [::1]")
        }
        let callback = try callback(routed.target, origin)
        guard routed.request.method == .post else { return show(await accounts(routed), origin, callback) }
        guard routed.request.origin == ownOrigin else {
            throw Refusal(.accessDenied, "the form was not sent by the page of this server")
        }
        let form = RequestTarget("/?" + String(decoding: routed.request.body, as: UTF8.self))
        let token = DevelopmentSignIn.tokenPrefix + (form?.field("account") ?? "")
        guard DevelopmentSignIn.accountName(token: token) != nil else {
            return show(await accounts(routed), origin, callback, problem: "A name has 1 to 255 printable characters")
        }
        return finished(token, origin, callback, nonce: routed.target.parameter("nonce")?.readings.first)
    }

    /// Returns the callback of the query; nil without one.
    private static func callback(_ target: RequestTarget, _ origin: String) throws(Refusal) -> String? {
        guard let callback = target.parameter("callback")?.readings.first else { return nil }
        let isPlain = callback.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") }
        guard isPlain, callback == origin || callback.hasPrefix(origin + "/") || callback.hasPrefix(origin + "?") else {
            throw Refusal(.badRequest, "the callback of a sign-in is an address of its origin, without '#'")
        }
        return callback
    }

    /// The names of the container's first accounts; empty for a container that does not exist.
    private static func accounts(_ routed: RoutedRequest) async -> [String] {
        guard let container = routed.target.parameter("container")?.readings.first,
            let name = routed.target.parameter("environment")?.readings.first,
            let environment = ContainerEnvironment(rawValue: name)
        else { return [] }
        let context = RequestContext(
            container: container, environment: environment, scope: .public, account: nil, requestID: routed.requestID)
        let answer = try? await routed.service.listAccounts(ListAccountsRequest(), context)
        return (answer?.accounts ?? []).prefix(offered).map(\.name)
    }

    private static func finished(
        _ token: String, _ origin: String, _ callback: String?, nonce: String?
    ) -> HTTPResponse {
        if let callback {
            let url = SignInCallback.url(
                callback, token: PercentEncoding.escaped(token), nonce: nonce.map { PercentEncoding.escaped($0) })
            return HTTPResponse(
                status: 303,
                headers: [
                    HTTPHeader("Location", url), HTTPHeader("Cache-Control", "no-store"),
                    HTTPHeader("Referrer-Policy", "no-referrer"),
                ])
        }
        let message = SignInMessage(token: token, origin: origin)
        return page.response(
            "<h1>Signed in</h1><p>You can close this page.</p>" + message.element, script: message.policy)
    }

    private static var page: HTMLPage { HTMLPage(title: "Sign in", width: "24em", referrerPolicy: "same-origin") }

    private static func show(
        _ accounts: [String], _ origin: String, _ callback: String?, problem: String? = nil
    ) -> HTTPResponse {
        let buttons = accounts.map {
            "<li><button name=\"account\" value=\"\(OwnPage.escaped($0))\">\(OwnPage.shown($0))</button></li>"
        }
        let known = buttons.isEmpty ? "" : "<form method=\"post\"><ul>\(buttons.joined())</ul></form>"
        let content = """
            <h1>Sign in</h1><p>The local CloudKit signs in by name, without a password. You go on at \
            \(OwnPage.escaped(origin)).</p>\(OwnPage.alert(problem))\(known)
            <form method="post"><p><label>Account<br><input name="account" autocomplete="off" required autofocus></label></p>
            <p><button>Sign in</button></p></form>
            """
        return page.response(
            content, status: problem == nil ? 200 : 400, destination: callback.map(SignInCallback.origin))
    }
}
