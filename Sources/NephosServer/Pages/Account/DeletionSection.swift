import NephosService

/// The deletion of the account, which its name confirms.
struct DeletionSection: AccountSection {
    static let actions: Set = ["delete"]

    let page: OwnPage
    let session: BrowserSession

    func perform(_ action: String, _ form: RequestTarget) async throws(ServiceError) -> AccountOutcome {
        let erases = form.field("public") == "on"
        try await page.routed.service.deleteAccount(
            of: session, confirmedBy: form.field("name"), erasesPublicRecords: erases, of: page.installation,
            address: address)
        let text = "<h1>Deleted</h1><p>The account and its data are deleted.</p>"
        return .response(page.signingOut(page.page("Deleted", text)))
    }

    func content() async throws(ServiceError) -> String {
        let fields = """
            <p><label>Type <b>\(OwnPage.escaped(session.name))</b> to confirm<br><input name="name" autocomplete="off" \
            autocapitalize="none" required></label></p>
            <p><label><input type="checkbox" name="public"> Delete what I made in public databases, too</label></p>
            <p><button>Delete the account</button></p>
            """
        return """
            <h2>Deletion</h2><details><summary>Delete the account</summary><p>Your records of all apps are deleted, on \
            every device, and what you share ends. Nothing brings them back. It needs a sign-in of the last 15 minutes: \
            <a href="\(SignInPage.address(returningTo: AccountPage.path))&amp;other=1">sign in again</a>.</p>
            \(form("delete", fields))</details>
            """
    }
}
