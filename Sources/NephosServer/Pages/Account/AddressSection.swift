import NephosService

/// Whether the account's name, if it is an address, is verified.
struct AddressSection: AccountSection {
    static let actions: Set = ["verify"]

    let page: OwnPage
    let session: BrowserSession

    func perform(_ action: String, _ form: RequestTarget) async throws(ServiceError) -> AccountOutcome {
        try await page.installation.requestVerification(of: session, address: address)
        return .noted("A mail to \(session.name) has a link that confirms the address")
    }

    func content() async throws(ServiceError) -> String {
        guard session.name.contains("@") else { return "" }
        if session.address == session.name { return "<p>The address is verified.</p>" }
        let action = page.installation.canVerifyAddress(of: session) ? button("verify", "Verify it by a mail") : ""
        return "<p>The address is not verified: invitations to it do not reach you.</p>\(action)"
    }
}
