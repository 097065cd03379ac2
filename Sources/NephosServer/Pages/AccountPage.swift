import NephosService
import NephosWire

/// The page of an account: its sessions, its password, signing out. It works without a script.
struct AccountPage {
    static let path = "/account"

    private let page: OwnPage
    private let installation: Installation

    init(_ routed: RoutedRequest, _ installation: Installation) {
        self.installation = installation
        page = OwnPage(routed, installation, name: Self.path)
    }

    func answer() async throws(Refusal) -> HTTPResponse {
        guard let session = try await page.session() else {
            return page.redirect(to: SignInPage.address(returningTo: Self.path))
        }
        guard page.routed.request.method == .post else { return try await show(session) }
        let form = try page.form()
        var notice = ""
        do throws(ServiceError) {
            switch form.field("action") {
            case "sign-out":
                try await installation.endSessions(of: session, id: session.id, address: address)
                return page.signingOut(page.redirect(to: Self.path))
            case "end": try await installation.endSessions(of: session, id: form.field("session"), address: address)
            case "verify":
                try await installation.requestVerification(of: session, address: address)
                notice = "A mail to \(session.name) has a link that confirms the address"
            case "end-all":
                try await installation.endSessions(
                    of: session, id: nil, withProgramTokens: form.field("programs") == "yes", address: address)
                return page.signingOut(page.redirect(to: Self.path))
            case "password":
                try await installation.changePassword(
                    of: session, from: form.field("password"), to: form.field("new"), device: page.device,
                    address: address)
                return page.signingOut(page.redirect(to: Self.path))
            default:
                if let answer = try await AccountPagePrograms(page, installation).answer(form, session) {
                    return answer
                }
                throw ServiceError(.badRequest, .invalidArguments, "the form has an unknown action")
            }
        } catch {
            let status = error.code == .throttled ? 429 : error.code == .authenticationFailed ? 403 : 400
            return try await show(session, error.reason, status: status)
        }
        return notice.isEmpty ? page.redirect(to: Self.path) : try await show(session, notice: notice)
    }

    private var address: [UInt8] { page.routed.request.client }

    // MARK: Content

    private func show(
        _ session: BrowserSession, _ problem: String? = nil, notice: String = "", status: Int = 200
    ) async throws(Refusal) -> HTTPResponse {
        let (sessions, programs): ([SessionSummary], String)
        do throws(ServiceError) {
            programs = try await AccountPagePrograms(page, installation).content(session)
            sessions = try await installation.sessionSummaries(ofAccountNamed: session.name)
        } catch {
            throw Refusal(error)
        }
        return page.page(
            "Account",
            """
            <h1>\(OwnPage.escaped(session.name))</h1>\(OwnPage.alert(problem))\(addressState(session, notice))
            \(button("sign-out", "Sign out"))
            <h2>Sessions</h2><ul>\(sessions.map { row($0, session) }.joined())</ul>
            \(button("end-all", "End all sessions", AccountPagePrograms.endsTokensField))\(programs)
            <h2>Password</h2><form method="post">\(page.formField)<input type="hidden" name="action" value="password">
            <p><label>Present password<br><input name="password" type="password" autocomplete="current-password" \
            required></label></p>
            <p><label>New password<br><input name="new" type="password" autocomplete="new-password" required></label></p>
            <p><button>Change it, and end all sessions</button></p></form>
            """, status: status)
    }

    /// What the page says of the account's address; empty for a name that is none.
    private func addressState(_ session: BrowserSession, _ notice: String) -> String {
        guard session.name.contains("@") else { return "" }
        if !notice.isEmpty { return "<p role=\"status\">\(OwnPage.escaped(notice)).</p>" }
        if session.address == session.name { return "<p>The address is verified.</p>" }
        let action = installation.canVerifyAddress(of: session) ? button("verify", "Verify it by a mail") : ""
        return "<p>The address is not verified: invitations to it do not reach you.</p>\(action)"
    }

    private func button(_ action: String, _ label: String, _ fields: String = "") -> String {
        """
        <form method="post">\(page.formField)<input type="hidden" name="action" value="\(action)">\(fields)\
        <button>\(label)</button></form>
        """
    }

    private func row(_ summary: SessionSummary, _ session: BrowserSession) -> String {
        let place =
            summary.container.map { "\($0), \(summary.environment ?? "")" }
            ?? (summary.isOfBrowser == true ? "these pages" : "administration")
        let label = summary.label.isEmpty ? "" : " (\(summary.label))"
        let text = OwnPage.escaped("\(place)\(label), since \(LogTime.text(summary.signedInAt).prefix(10))")
        if summary.id == session.id { return "<li>\(text): this one</li>" }
        let field = "<input type=\"hidden\" name=\"session\" value=\"\(summary.id)\">"
        return "<li>\(text) \(button("end", "End", field))</li>"
    }
}
