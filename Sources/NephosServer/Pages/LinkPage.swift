import NephosService
import NephosWire

/// The page of a link in a mail, or of one that an administrator made. Opening it changes nothing, as programs that look
/// at mails open links: its button acts.
struct LinkPage {
    static let path = PeopleSettings.linkPath

    /// Whether a path with its query is that of a link's page.
    static func isPath(_ text: String) -> Bool {
        let start = "\(path)?token="
        guard text.hasPrefix(start) else { return false }
        let secret = text.dropFirst(start.count)
        return (1...200).contains(secret.utf8.count) && secret.utf8.allSatisfy(OwnPage.isURLSafe)
    }

    private let page: OwnPage
    private let installation: Installation
    private let secret: String

    init(_ routed: RoutedRequest, _ installation: Installation) {
        self.installation = installation
        secret = routed.target.parameter("token")?.readings.first ?? ""
        page = OwnPage(routed, installation, name: "\(Self.path) \(secret)", isOfSession: false)
    }

    private var address: [UInt8] { page.routed.request.client }

    func answer() async throws(Refusal) -> HTTPResponse {
        let link: OpenedLink?
        do throws(ServiceError) { link = try await installation.link(secret) } catch { throw Refusal(error) }
        let isPressed = page.routed.request.method == .post
        // A press is counted, also of a link that is not valid.
        guard let link else { return isPressed ? try await press(.recovery, nil) : over }
        let session = link.purpose == .verification ? try await page.session() : nil
        if link.purpose == .verification, session?.account != link.account {
            return show("Confirm your address", signIn(link.name, isSignedIn: session != nil))
        }
        return isPressed ? try await press(link.purpose, session, link) : show(link)
    }

    // MARK: The button

    private func press(
        _ purpose: OpenedLink.Purpose, _ session: BrowserSession?, _ link: OpenedLink? = nil
    ) async throws(Refusal) -> HTTPResponse {
        let form = try page.form()
        do throws(ServiceError) {
            switch (purpose, session) {
            case (.verification, let session?):
                try await installation.verifyAddress(byLink: secret, of: session, address: address)
                return page.redirect(to: AccountPage.path)
            case (.signUp, _):
                let signedIn = try await installation.signUp(
                    byLink: secret, password: form.field("password"), formerBrowserToken: page.browserToken,
                    address: address)
                return page.signingIn(signedIn, keepsSignedIn: false, page.redirect(to: page.next(link?.continuation)))
            default:
                // Read before the recovery ends the account's sessions. The session of another account goes on.
                let former = try await installation.browserSession(page.browserToken)
                try await installation.recover(
                    byLink: secret, password: form.field("password"),
                    removesOtherMethods: form.field("passkeys") == "remove", address: address)
                if let former, former.account != link?.account {
                    return page.redirect(to: "\(SignInPage.address(returningTo: AccountPage.path))&other=1")
                }
                return page.signingOut(page.redirect(to: SignInPage.path))
            }
        } catch {
            switch error.code {
            case .notFound: return over
            case .throttled: return show("Link", OwnPage.alert(error.reason), status: 429)
            case .badRequest, .exists:
                guard let link else { return over }
                return show(link, error.reason, status: 400)
            default: throw Refusal(error)
            }
        }
    }

    // MARK: Content

    private var over: HTTPResponse {
        show("Link", OwnPage.alert("The link was used, or has expired: ask for another"), status: 404)
    }

    private func show(_ link: OpenedLink, _ problem: String? = nil, status: Int = 200) -> HTTPResponse {
        let name = OwnPage.escaped(link.name)
        switch link.purpose {
        case .verification:
            return show(
                "Confirm your address",
                """
                \(OwnPage.alert(problem))<form method="post">\(page.formField)<p><button>\(name) is mine</button></p></form>
                """, status: status)
        case .recovery:
            let label = "Set it, and end all sessions"
            return show("New password", password(name, problem, label, otherMethods(link)), status: status)
        case .signUp:
            let path = "\(Self.path)?token=\(secret)"
            let target = "<input type=\"hidden\" name=\"return\" value=\"\(path)\">"
            let content =
                password(name, problem, "Make the account")
                + ProviderPage.forms(target, of: page, for: SignInPage.name(returningTo: path))
            return show("Your account", content, status: status)
        }
    }

    /// The choice to remove the other methods of the account; empty for an account without one.
    private func otherMethods(_ link: OpenedLink) -> String {
        guard link.otherMethods > 0 else { return "" }
        return """
            <p><label><input type="checkbox" name="passkeys" value="remove"> Remove the account's passkeys and \
            identity providers (\(link.otherMethods)), too. They stay otherwise: remove them if somebody else may have one.</label></p>
            """
    }

    /// - Parameter name: the escaped name of the account.
    private func password(_ name: String, _ problem: String?, _ label: String, _ choice: String = "") -> String {
        """
        \(OwnPage.alert(problem))<form method="post">\(page.formField)
        <p><label>Account<br><input value="\(name)" autocomplete="username" readonly></label></p>
        <p><label>Password<br><input name="password" type="password" autocomplete="new-password" required></label></p>
        \(choice)<p><button>\(label)</button></p></form>
        """
    }

    private func signIn(_ name: String, isSignedIn: Bool) -> String {
        let target =
            SignInPage.address(returningTo: "\(Self.path)?token=\(secret)") + (isSignedIn ? "&amp;other=1" : "")
        return "<p>Sign in as \(OwnPage.escaped(name)) first: <a href=\"\(target)\">Sign in</a>.</p>"
    }

    private func show(_ title: String, _ content: String, status: Int = 200) -> HTTPResponse {
        page.page(title, "<h1>\(title)</h1>\(content)", status: status)
    }
}
