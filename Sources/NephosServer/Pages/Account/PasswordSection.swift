import NephosService

/// The change of the account's password.
struct PasswordSection: AccountSection {
    static let actions: Set = ["password"]

    let page: OwnPage
    let session: BrowserSession

    func perform(_ action: String, _ form: RequestTarget) async throws(ServiceError) -> AccountOutcome {
        try await page.installation.changePassword(
            of: session, from: form.field("password"), to: form.field("new"), device: page.device, address: address)
        return .signedOut
    }

    func content() async throws(ServiceError) -> String {
        let fields = """
            <p><label>Present password<br><input name="password" type="password" autocomplete="current-password" \
            required></label></p>
            <p><label>New password<br><input name="new" type="password" autocomplete="new-password" required></label></p>
            <p><button>Change it, and end all sessions</button></p>
            """
        return "<h2>Password</h2>\(form("password", fields))"
    }
}
