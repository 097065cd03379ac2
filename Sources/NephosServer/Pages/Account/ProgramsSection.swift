import NephosService
import NephosWire

/// Lists the program tokens of an account, with forms that make and revoke them.
struct ProgramsSection: AccountSection {
    static let actions: Set = ["make-program", "revoke-program"]

    /// The field of the form that ends all sessions.
    static let endsTokensField = """
        <p><label><input type="checkbox" name="programs" value="yes"> revoke all program tokens too</label></p>
        """

    let page: OwnPage
    let session: BrowserSession

    func perform(_ action: String, _ form: RequestTarget) async throws(ServiceError) -> AccountOutcome {
        if action == "make-program" {
            return .response(
                shown(try await page.installation.createProgramToken(try new(form), of: session, address: address)))
        }
        _ = try await page.installation.revokeProgramTokens(
            ofAccountNamed: session.name, id: form.field("program"),
            by: AuditActor(name: session.account, address: SignInCounters.network(address) ?? ""))
        return .done
    }

    private func new(_ form: RequestTarget) throws(ServiceError) -> NewProgramToken {
        guard let days = Int64(form.field("days")), (1...365).contains(days) else {
            throw .invalidForm("a program token expires after 1 to 365 days")
        }
        let places = form.all("place").compactMap { text -> ProgramPlace? in
            let parts = text.split(separator: " ")
            return parts.count == 2 ? ProgramPlace(container: String(parts[0]), environment: String(parts[1])) : nil
        }
        return NewProgramToken(
            name: form.field("name"), places: places, databases: form.all("database"),
            isReadOnly: form.field("access") != "write", lifetime: days * 86_400_000)
    }

    /// The page that shows a new token, once.
    private func shown(_ made: MadeProgramToken) -> HTTPResponse {
        page.page(
            "Program token",
            """
            <h1>Program token</h1><p>This is the token of \(OwnPage.escaped(made.programToken.name)). Copy it now: it is not \
            shown again.</p><p><code style="overflow-wrap:anywhere">\(OwnPage.escaped(made.token))</code></p>
            <p><a href="\(AccountPage.path)">Back to the account</a></p>
            """)
    }

    func content() async throws(ServiceError) -> String {
        let tokens = try await page.installation.programTokenSummaries(ofAccountNamed: session.name)
        let places = try await page.installation.programPlaces(of: session)
        return """
            <h2>Program tokens</h2><p>A program with one is signed in as you, in the apps you choose, and enrols no device. \
            A new password does not revoke it.</p>
            <ul>\(tokens.map(row).joined())</ul>\(makingForm(places))
            """
    }

    private func row(_ token: ProgramTokenSummary) -> String {
        let places = token.places.map { "\($0.container), \($0.environment)" }.joined(separator: "; ")
        let access = "\(token.isReadOnly ? "reads" : "reads and writes") \(token.databases.joined(separator: ", "))"
        let until = LogTime.text(token.expiresAt).prefix(10)
        return """
            <li>\(OwnPage.shown(token.name)): \(OwnPage.escaped("\(access) of \(places), until \(until)")) \
            \(button("revoke-program", "Revoke", hidden("program", token.id)))</li>
            """
    }

    private func makingForm(_ places: [ProgramPlace]) -> String {
        if places.isEmpty { return "<p>Sign in to an app first: a token is for apps that you are signed in to.</p>" }
        let apps = places.map { place in
            Self.checkbox(
                "place", "\(place.container) \(place.environment)", "\(place.container), \(place.environment)",
                isChecked: places.count == 1)
        }
        let databases = ["private", "shared", "public"].map { Self.checkbox("database", $0, $0, isChecked: true) }
        return form(
            "make-program",
            """
            <p><label>Name<br><input name="name" maxlength="100" required></label></p>
            <fieldset><legend>Apps</legend>\(apps.joined())</fieldset>
            <fieldset><legend>Databases</legend>\(databases.joined())</fieldset>
            <p><label>Access<br><select name="access"><option value="read">read</option>\
            <option value="write">read and write</option></select></label></p>
            <p><label>Days until it expires<br><input name="days" type="number" min="1" max="365" value="90" required>\
            </label></p><p><button>Make a program token</button></p>
            """)
    }

    private static func checkbox(_ name: String, _ value: String, _ label: String, isChecked: Bool) -> String {
        """
        <p><label><input type="checkbox" name="\(name)" value="\(OwnPage.escaped(value))"\(isChecked ? " checked" : "")> \
        \(OwnPage.escaped(label))</label></p>
        """
    }
}

extension RequestTarget {
    /// Returns the values of a form's field that may be there several times.
    fileprivate func all(_ name: StaticString) -> [String] { parameters(name).compactMap(\.readings.first) }
}

extension ServiceError {
    fileprivate static func invalidForm(_ reason: String) -> ServiceError {
        ServiceError(.badRequest, .invalidArguments, reason)
    }
}
