import NephosService

/// The account's sessions, which it ends one by one or all at once.
struct SessionsSection: AccountSection {
    static let actions: Set = ["sign-out", "end", "end-all"]

    let page: OwnPage
    let session: BrowserSession

    func perform(_ action: String, _ form: RequestTarget) async throws(ServiceError) -> AccountOutcome {
        let id: String? =
            switch action {
            case "sign-out": session.id
            case "end": form.field("session")
            default: nil
            }
        try await page.installation.endSessions(
            of: session, id: id, withProgramTokens: id == nil && form.field("programs") == "yes", address: address)
        return action == "end" ? .done : .signedOut
    }

    func content() async throws(ServiceError) -> String {
        let sessions = try await page.installation.sessionSummaries(ofAccountNamed: session.name)
        return """
            \(button("sign-out", "Sign out"))
            <h2>Sessions</h2><ul>\(sessions.map(row).joined())</ul>
            \(button("end-all", "End all sessions", ProgramsSection.endsTokensField))
            """
    }

    private func row(_ summary: SessionSummary) -> String {
        let place =
            summary.container.map { "\($0), \(summary.environment ?? "")" }
            ?? (summary.isOfBrowser == true ? "These pages" : "Administration")
        let label = summary.label.isEmpty ? "" : " (\(OwnPage.shown(summary.label)))"
        let text = "\(OwnPage.escaped(place))\(label), since \(LogTime.text(summary.signedInAt).prefix(10))"
        if summary.id == session.id { return "<li>\(text): this one</li>" }
        return "<li>\(text) \(button("end", "End", hidden("session", summary.id)))</li>"
    }
}
