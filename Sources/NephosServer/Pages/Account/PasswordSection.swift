import NephosService
import NephosWire

/// The change of the account's password, or the mail that sets the first one.
struct PasswordSection: AccountSection {
    static let actions: Set = ["password", "mail-password"]

    let page: OwnPage
    let session: BrowserSession

    func perform(_ action: String, _ form: RequestTarget) async throws(ServiceError) -> AccountOutcome {
        if action == "mail-password" { return try await mailPassword() }
        try await page.installation.changePassword(
            of: session, from: form.field("password"), to: form.field("new"), device: page.device,
            removesOtherMethods: form.field("passkeys") == "remove", address: address)
        return .signedOut
    }

    private func mailPassword() async throws(ServiceError) -> AccountOutcome {
        guard let recipient = session.address else {
            throw ServiceError(.badRequest, .invalidArguments, "the account has no verified address")
        }
        try await page.installation.requestRecovery(of: recipient, isOwn: true, address: address)
        return .noted("A mail to \(recipient) has a link that sets a password")
    }

    func content() async throws(ServiceError) -> String {
        guard try await page.installation.signInMethods(of: session).hasPassword else {
            let hasMail = page.installation.sendsMail && session.address?.contains("@") == true
            let way =
                hasMail
                ? button("mail-password", "Mail a link that sets one")
                : "<p>An administrator can make a link that sets one.</p>"
            return "<h2>Password</h2><p>The account has no password.</p>\(way)"
        }
        let fields = """
            <p><label>Present password<br><input name="password" type="password" autocomplete="current-password" \
            required></label></p>
            <p><label>New password<br><input name="new" type="password" autocomplete="new-password" required></label></p>
            \(otherMethods)<p><button>Change it, and end all sessions</button></p>
            """
        return "<h2>Password</h2>\(form("password", fields))"
    }

    /// The choice to remove the other methods of the account; empty where the server has none.
    private var otherMethods: String {
        if page.installation.passkeyHost == nil, page.installation.providers.isEmpty { return "" }
        return """
            <p><label><input type="checkbox" name="passkeys" value="remove"> Remove all passkeys and identity providers, too. They stay otherwise\
            </label></p>
            """
    }
}
