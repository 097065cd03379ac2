import NephosService
import NephosWire

/// The page at the URL of a share, `/share/{shortGUID}`. It shows the owner and the shared content, and a button to
/// accept the share. The page has no script, loads nothing, cannot be framed, and sends no referrer. Acceptance needs a
/// token that only this page contains.
enum ShareRoutes {
    static let module = "share"

    static let table: [Route] = [Route([.get, .post], "/" + module, access: .url, answer)]

    /// Whether a request may have `Origin: null`, which browsers send for the form of a page without a referrer.
    static func takesNullOrigin(_ request: HTTPRequest) -> Bool {
        request.method == .post && request.target.hasPrefix("/\(module)/")
    }

    /// Whether a request follows a link to a share's URL, from a page elsewhere or from mail.
    static func takesNavigation(_ request: HTTPRequest) -> Bool {
        request.method == .get && request.fetchMode == "navigate" && request.target.hasPrefix("/\(module)/")
    }

    private static func answer(_ routed: RoutedRequest) async throws(Refusal) -> HTTPResponse {
        let guid = routed.target.components.last ?? ""
        if let installation = routed.access.installation {
            return try await ProductionSharePage(routed, installation, guid: guid).answer()
        }
        let form = form(routed.request)
        let account = try account(form ?? routed.target, routed.request)
        do throws(ServiceError) {
            if routed.request.method == .post {
                guard let form, let account, let token = form.parameter("token")?.readings.first,
                    try await routed.service.acceptShare(
                        guid, account: account, token: token, requestID: routed.requestID)
                else { return page(SharePageText.refused, status: 403) }
                return page(SharePageText.accepted)
            }
            // The first visit creates the account. A link on a page elsewhere must not do that.
            guard let account, routed.request.fetchSite != "cross-site" else {
                return page(SharePageText.signIn(account))
            }
            guard
                let share = try await routed.service.sharePage(guid, account: account, requestID: routed.requestID)
            else { return page(SharePageText.unknown, status: 404) }
            let field = "<input type=\"hidden\" name=\"account\" value=\"\(SharePageText.escaped(account))\">"
            return page(SharePageText.share(share, fields: field))
        } catch {
            throw Refusal(error)
        }
    }

    private static let formSize = 4096

    /// Returns the form of a POST request, which is encoded like a query; nil for any other request.
    private static func form(_ request: HTTPRequest) -> RequestTarget? {
        guard request.method == .post else { return nil }
        return RequestTarget("/?" + String(decoding: request.body.prefix(formSize), as: UTF8.self))
    }

    /// Returns the account of the page: that of the header `Authorization`, which the query or form may repeat, or
    /// without the header that of the query or form; nil for none.
    private static func account(_ target: RequestTarget, _ request: HTTPRequest) throws(Refusal) -> String? {
        guard request.authorization != nil else { return account(target) }
        let name = try DevelopmentSignIn.account(request, target)
        let repeated = target.parameter("account")?.readings.first
        guard repeated == nil || repeated == name else { throw DevelopmentSignIn.differing }
        return name
    }

    /// Returns the account of the page, which `nephos dev` identifies by its name; nil for none.
    private static func account(_ target: RequestTarget) -> String? {
        if let name = target.parameter("account")?.readings.first {
            return DevelopmentSignIn.accountName(token: "dev:" + name)
        }
        return target.parameter("ckWebAuthToken")?.readings.lazy.compactMap(DevelopmentSignIn.accountName).first
    }

    private static func page(_ content: String, status: Int = 200) -> HTTPResponse {
        HTMLPage(title: "Shared with you", width: "30em", referrerPolicy: "no-referrer")
            .response(content, status: status)
    }
}

/// The texts of a share's page.
enum SharePageText {
    static let unknown = "<h1>Nothing here</h1><p>There is no share of this address, or it is not yours to see.</p>"
    static let refused = "<h1>Not accepted</h1><p>Open the page again and accept the share there.</p>"
    static let accepted = "<h1>Accepted</h1><p>You find it in the app, in your shared database.</p>"

    /// - Parameter account: the initial value of the form; nil for none.
    static func signIn(_ account: String?) -> String {
        let value = account.map { " value=\"\(escaped($0))\"" } ?? ""
        return """
            <h1>Shared with you</h1>
            <p>The local CloudKit signs in by name, without a password.</p>
            <form method="get"><label>Account <input name="account"\(value) required></label> <button>Show</button></form>
            """
    }

    /// - Parameter fields: the hidden fields of the form.
    static func share(_ share: SharePage, fields: String) -> String {
        let title = shown(share.title ?? "Untitled")
        let what =
            share.permission == .readWrite ? "You can see and change it." : "You can see it, and not change it."
        let head =
            "<h1>\(title)</h1><p>Shared\(share.owner.map { " by " + shown($0) } ?? "") in \(escaped(share.containerIdentifier))."
        if share.isOwner { return head + " It is yours.</p>" }
        if share.hasAccepted { return head + " You have accepted it: open it in the app.</p>" }
        return """
            \(head) \(what)</p>
            <form method="post">\(fields)
            <input type="hidden" name="token" value="\(escaped(share.token))"><button>Accept</button></form>
            <p>Or open this page's address in the app.</p>
            """
    }

    /// Returns an account's text as an HTML element. Control characters and bidirectional formatting characters are
    /// escaped, and right-to-left text does not affect the text around it.
    static func shown(_ text: String) -> String {
        let visible = text.unicodeScalars.reduce(into: "") { visible, scalar in
            // Keeps the joiners, which are part of words and of emoji.
            if scalar == "\u{200C}" || scalar == "\u{200D}" {
                visible.unicodeScalars.append(scalar)
            } else {
                visible += String(scalar).printable(limit: 1)
            }
        }
        return "<bdi>\(escaped(visible))</bdi>"
    }

    /// Returns text escaped for HTML elements and quoted attributes.
    static func escaped(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "") { html, scalar in
            switch scalar {
            case "&": html += "&amp;"
            case "<": html += "&lt;"
            case ">": html += "&gt;"
            case "\"": html += "&quot;"
            case "'": html += "&#39;"
            default: html.unicodeScalars.append(scalar)
            }
        }
    }
}
