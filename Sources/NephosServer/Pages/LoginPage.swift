import NephosService
import NephosWire

/// The page at which a person approves the login of a program, by the code that the program shows (as in RFC 8628). The
/// address has no code, so that no link leads a person to approve another's login.
struct LoginPage: SessionPage {
    static let path = "/login"

    let page: OwnPage
    let session: BrowserSession

    private var installation: Installation { page.installation }

    func answer() async throws(Refusal) -> HTTPResponse {
        guard page.routed.request.method == .post else { return show(form(nil)) }
        let form = try page.form()
        let (code, address) = (form.field("code"), page.routed.request.client)
        do throws(ServiceError) {
            switch form.field("action") {
            case "approve", "deny":
                let approves = form.field("action") == "approve"
                try await installation.decideLogin(code, approves: approves, by: session, address: address)
                return show(
                    approves
                        ? "<h1>Signed in</h1><p>Go back to the program.</p>"
                        : "<h1>Denied</h1><p>The program is not signed in.</p>")
            default:
                let login = try await installation.pendingLogin(code, for: session, address: address)
                return show(question(login, code))
            }
        } catch {
            let again = error.code == .authenticationRequired ? Self.signInAgain : ""
            var response = show(self.form(error.reasonWithDelay) + again, status: error.code == .throttled ? 429 : 400)
            response.headers += Refusal(error).retryHeaders
            return response
        }
    }

    // MARK: Content

    private static let signInAgain =
        "<p><a href=\"\(SignInPage.address(returningTo: path))&amp;other=1\">Sign in again</a></p>"

    private func show(_ content: String, status: Int = 200) -> HTTPResponse {
        page.page("Sign in a program", content, status: status)
    }

    private func form(_ problem: String?) -> String {
        """
        <h1>Sign in a program</h1>\(OwnPage.alert(problem))<form method="post">\(page.formField)
        <p><label>The code that the program shows<br><input name="code" autocomplete="off" required autofocus></label></p>
        <p><button>Continue</button></p></form><p>You are \(OwnPage.escaped(session.name)).</p>
        """
    }

    private func question(_ login: PendingLogin, _ code: String) -> String {
        let place =
            login.container.map { container in
                let place = "\(OwnPage.escaped(container)), \(OwnPage.escaped(login.environment ?? ""))"
                return login.app.isEmpty ? "to <b>\(place)</b>" : "to <b>\(OwnPage.shown(login.app))</b> (\(place))"
            } ?? "to <b>the administration of this server</b>"
        let label = login.label.isEmpty ? "A program" : "“\(OwnPage.shown(String(login.label.prefix(100))))”"
        let network =
            login.network.isEmpty ? "" : " from the network \(OwnPage.escaped(NetworkText.readable(login.network)))"
        let hidden = "<input type=\"hidden\" name=\"code\" value=\"\(OwnPage.escaped(code))\">"
        return """
            <h1>Sign in a program</h1><p>\(label) asks\(network) to sign in \(place) as \(OwnPage.escaped(session.name)). Approve it \
            only if you began this yourself.</p>
            <form method="post">\(page.formField)\(hidden)<p><button name="action" value="approve">Approve</button>
            <button name="action" value="deny">Deny</button></p></form>
            """
    }
}
