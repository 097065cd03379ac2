import NephosService
import NephosWire

/// The pages at which people without a session ask for a mail: with a link that sets a new password, or one that makes
/// an account. What they answer is the same for every address.
struct MailRequestPage {
    static let (recovery, signUp) = ("/recover", "/sign-up")

    private let page: OwnPage
    private let installation: Installation
    private let isSignUp: Bool
    private let continuation: SignUpContinuation?

    init(_ routed: RoutedRequest, _ installation: Installation, isSignUp: Bool) throws(Refusal) {
        guard isSignUp ? installation.isOpenToSignUps : installation.sendsMail else { throw .noHandler }
        self.installation = installation
        self.isSignUp = isSignUp
        let returnPath = routed.target.parameter("return")?.readings.first
        let request = isSignUp ? routed.target.parameter("request")?.readings.first : nil
        page = OwnPage(
            routed, installation,
            name: "\(isSignUp ? Self.signUp : Self.recovery) \(request ?? returnPath ?? "")")
        if let request {
            let app = try SignInPage.request(request, installation)
            continuation = .app(
                apiToken: app.apiToken, origin: app.origin, browser: page.browserName, nonce: app.nonce)
        } else {
            guard returnPath.map(OwnPage.isReturnPath) ?? true else {
                throw Refusal(.badRequest, "a sign-up leads to pages of this server alone")
            }
            continuation = returnPath.map { .page(path: $0) }
        }
    }

    func answer() async throws(Refusal) -> HTTPResponse {
        guard page.routed.request.method == .post else { return show(form(nil)) }
        let (text, address) = (try page.form().field("address"), page.routed.request.client)
        do throws(ServiceError) {
            if isSignUp {
                try await installation.requestSignUp(of: text, continuation: continuation, address: address)
            } else {
                try await installation.requestRecovery(of: text, address: address)
            }
        } catch {
            guard error.code == .badRequest || error.code == .throttled else { throw Refusal(error) }
            return show(form(error.reason), status: error.code == .throttled ? 429 : 400)
        }
        return show(
            isSignUp
                ? "<p>A mail to that address says how to go on. Open its link in this browser.</p>"
                : "<p>If an account has verified that address, a mail to it says how to go on.</p>")
    }

    private func form(_ problem: String?) -> String {
        """
        \(OwnPage.alert(problem))<form method="post">\(page.formField)
        <p><label>E-mail address<br><input name="address" type="email" autocomplete="email" required autofocus></label></p>
        <p><button>Send a mail</button></p></form>
        """
    }

    private func show(_ content: String, status: Int = 200) -> HTTPResponse {
        let title = isSignUp ? "Make an account" : "New password"
        return page.page(title, "<h1>\(title)</h1>\(content)", status: status)
    }
}
