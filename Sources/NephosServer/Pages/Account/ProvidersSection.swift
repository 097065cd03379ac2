import NephosService
import NephosWire

/// Lists the identity providers of an account, with forms that add and remove them.
struct ProvidersSection: AccountSection {
    static let actions: Set = ["add-provider", "remove-provider"]

    let page: OwnPage
    let session: BrowserSession

    func perform(_ action: String, _ form: RequestTarget) async throws(ServiceError) -> AccountOutcome {
        if action == "remove-provider" {
            try await page.installation.removeIdentity(form.field("identity"), of: session, address: address)
            return .done
        }
        let name = form.field("provider")
        guard let provider = page.installation.providers.first(where: { $0.name == name }) else {
            throw ServiceError(.badRequest, .invalidArguments, "there is no such provider")
        }
        let url = try await page.installation.beginAddition(
            of: name, to: session, browserSecret: page.browserSecret, address: address)
        return .response(ProviderPage.leading(to: url, provider, page))
    }

    func content() async throws(ServiceError) -> String {
        let providers = page.installation.providers
        let identities = try await page.installation.signInMethods(of: session).identities
        if providers.isEmpty, identities.isEmpty { return "" }
        let buttons = providers.map {
            button("add-provider", "Add \(OwnPage.escaped($0.title))", hidden("provider", $0.name))
        }
        return """
            <h2>Sign-in by others</h2><ul>\(identities.map(row).joined())</ul>\(buttons.joined())
            <p>Sessions that a removed one began go on: end them above. Changes need a sign-in of the last 15 minutes: \
            <a href="\(SignInPage.address(returningTo: AccountPage.path))&amp;other=1">sign in again</a>.</p>
            """
    }

    private func row(_ identity: SignInMethods.Identity) -> String {
        let label = identity.label.isEmpty ? "" : " (\(OwnPage.shown(identity.label)))"
        let state = identity.isUsable ? "" : ", which this server does not use any more"
        let text =
            "\(OwnPage.escaped(identity.provider))\(label), since \(LogTime.text(identity.addedAt).prefix(10))\(state)"
        return "<li>\(text) \(button("remove-provider", "Remove", hidden("identity", identity.id)))</li>"
    }
}
