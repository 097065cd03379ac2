import NephosService
import NephosWire

/// The passkeys of the account. Adding one needs the script, the rest does not.
struct PasskeysSection: AccountSection {
    /// What the browser is asked for (Web Authentication §5.4).
    private struct Options: Encodable {
        struct Party: Encodable { var id, name: String }
        struct User: Encodable { var id, name, displayName: String }
        struct Parameter: Encodable {
            var type = "public-key"
            var alg: Int
        }
        struct Descriptor: Encodable {
            var type = "public-key"
            var id: String
        }
        struct Selection: Encodable {
            var residentKey = "required"
            var requireResidentKey = true
            var userVerification = "required"
        }

        var challenge: String
        var rp: Party
        var user: User
        var pubKeyCredParams = PasskeyKey.Algorithm.allCases.map { Parameter(alg: $0.rawValue) }
        var excludeCredentials: [Descriptor]
        var authenticatorSelection = Selection()
        var attestation = "none"
        var timeout = Limits.passkeyChallengeLifetime
    }

    static let actions: Set = ["add-passkey", "name-passkey", "remove-passkey"]

    let page: OwnPage
    let session: BrowserSession

    func perform(_ action: String, _ form: RequestTarget) async throws(ServiceError) -> AccountOutcome {
        let (id, installation) = (form.field("passkey"), page.installation)
        switch action {
        case "add-passkey":
            let new = NewPasskey(
                name: form.field("name"), clientData: form.field("clientData"),
                authenticatorData: form.field("authenticatorData"))
            try await installation.addPasskey(new, of: session, binding: page.formToken, address: address)
        case "name-passkey":
            try await installation.renamePasskey(id, to: form.field("name"), of: session, address: address)
        default: try await installation.removePasskey(id, of: session, address: address)
        }
        return .done
    }

    /// The section; empty where the server has no passkeys, and the account neither.
    func content() async throws(ServiceError) -> String {
        let state = try await page.installation.passkeys(of: session, binding: page.formToken)
        if page.installation.passkeyHost == nil, state.passkeys.isEmpty { return "" }
        let rows = state.passkeys.map { row($0, isRecent: state.isRecent) }.joined()
        let list =
            rows.isEmpty
            ? "<p>The account has none.</p>"
            : "<ul>\(rows)</ul><p>They stay when sessions end: remove those that you do not know, and end the sessions that they began.</p>"
        return "<h2>Passkeys</h2>\(list)\(addition(state))"
    }

    private func row(_ passkey: PasskeySummary, isRecent: Bool) -> String {
        let since = LogTime.text(passkey.createdAt).prefix(10)
        let used = passkey.lastUsedAt.map { ", last used \(LogTime.text($0).prefix(10))" } ?? ""
        let ended =
            passkey.relyingParty == page.installation.passkeyHost
            ? ""
            : ". It ended: it was made for \(OwnPage.escaped(passkey.relyingParty)), which is not this server's name"
        let text = "\(OwnPage.shown(passkey.name)), since \(since)\(used)\(ended)"
        guard isRecent else { return "<li>\(text)</li>" }
        let name = """
            <input name="name" value="\(OwnPage.escaped(passkey.name))" aria-label="Name" maxlength="\(Limits.passkeyName)" \
            autocomplete="off" required>
            """
        let id = hidden("passkey", passkey.id)
        return
            "<li>\(text) \(button("name-passkey", "Rename", id + name)) \(button("remove-passkey", "Remove", id))</li>"
    }

    /// The form that adds a passkey, or why there is none.
    private func addition(_ state: PasskeyState) -> String {
        if !state.isRecent {
            let target = "\(SignInPage.address(returningTo: AccountPage.path))&amp;other=1"
            return "<p>Changes of passkeys need a recent sign-in: <a href=\"\(target)\">sign in again</a>.</p>"
        }
        guard let creation = state.creation else { return "" }
        let options = Options(
            challenge: creation.challenge, rp: .init(id: creation.relyingParty, name: creation.relyingParty),
            user: .init(id: creation.handle, name: session.name, displayName: session.name),
            excludeCredentials: creation.excluded.map { .init(id: $0) })
        let content = """
            <p><label>Name of this device<br><input name="name" maxlength="\(Limits.passkeyName)" autocomplete="off" \
            required></label></p><p><button>Add a passkey</button></p>
            """
        return PasskeyScript.form(
            page, action: "add-passkey", options, fields: ["clientData", "authenticatorData"], content)
            + PasskeyScript.element + "<noscript><p>Adding a passkey needs a script.</p></noscript>"
    }
}
