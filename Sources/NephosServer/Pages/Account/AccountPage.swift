import NephosService
import NephosWire

/// The page of an account: a list of sections, each with its forms. All but adding a passkey works without a script.
struct AccountPage: SessionPage {
    static let path = PeopleSettings.accountPath

    /// The sections, in the order of the page.
    private static let sections: [any AccountSection.Type] = [
        AddressSection.self, SessionsSection.self, PasswordSection.self, PasskeysSection.self, ProvidersSection.self,
        ProgramsSection.self, PlacesSection.self, ExportSection.self, DeletionSection.self,
    ]

    let page: OwnPage
    let session: BrowserSession

    func answer() async throws(Refusal) -> HTTPResponse {
        guard page.routed.request.method == .post else { return try await show() }
        let form = try page.form()
        let outcome: AccountOutcome
        do throws(ServiceError) {
            outcome = try await perform(form)
        } catch {
            let status = error.code == .throttled ? 429 : error.code == .authenticationFailed ? 403 : 400
            return try await show(OwnPage.alert(error.reason), status: status)
        }
        switch outcome {
        case .done: return page.redirect(to: Self.path)
        case .noted(let notice): return try await show("<p role=\"status\">\(OwnPage.escaped(notice)).</p>")
        case .signedOut: return page.signingOut(page.redirect(to: Self.path))
        case .response(let response): return response
        }
    }

    private func perform(_ form: RequestTarget) async throws(ServiceError) -> AccountOutcome {
        let action = form.field("action")
        for section in Self.sections where section.actions.contains(action) {
            return try await section.init(page: page, session: session).perform(action, form)
        }
        throw ServiceError(.badRequest, .invalidArguments, "the form has an unknown action")
    }

    /// - Parameter message: what happened, as HTML; empty for nothing.
    private func show(_ message: String = "", status: Int = 200) async throws(Refusal) -> HTTPResponse {
        var content = "<h1>\(OwnPage.escaped(session.name))</h1>\(message)"
        for section in Self.sections {
            // A section that fails, as that of apps does with a damaged store, leaves the others.
            do throws(ServiceError) {
                content += try await section.init(page: page, session: session).content()
            } catch {
                content += OwnPage.alert("A part of this page cannot be shown now: \(error.reason)")
            }
        }
        return page.page("Account", content, status: status, script: PasskeyScript.policy(page))
    }
}

/// A section of the account's page.
protocol AccountSection: Sendable {
    /// The actions of its forms, which no other section has.
    static var actions: Set<String> { get }

    var page: OwnPage { get }

    init(page: OwnPage, session: BrowserSession)

    /// Performs an action that a form of this page asked for.
    func perform(_ action: String, _ form: RequestTarget) async throws(ServiceError) -> AccountOutcome

    /// Returns the section as HTML; empty for none.
    func content() async throws(ServiceError) -> String
}

/// What follows an action on the account's page.
enum AccountOutcome {
    /// The browser reloads the page.
    case done
    /// The page is shown with a sentence, without its full stop.
    case noted(String)
    /// The browser's session is over.
    case signedOut
    case response(HTTPResponse)
}

extension AccountSection {
    /// The network address of the browser, for the audit and the counts.
    var address: [UInt8] { page.routed.request.client }

    /// Returns a form with one button, as HTML.
    /// - Parameter fields: further fields, as HTML.
    func button(_ action: String, _ label: String, _ fields: String = "") -> String {
        form(action, "\(fields)<button>\(label)</button>")
    }

    /// Returns a form of the page, as HTML.
    /// - Parameter content: its fields and its button, as HTML.
    func form(_ action: String, _ content: String) -> String {
        """
        <form method="post">\(page.formField)<input type="hidden" name="action" value="\(action)">\(content)</form>
        """
    }

    /// Returns a hidden field, as HTML.
    func hidden(_ name: String, _ value: String) -> String {
        "<input type=\"hidden\" name=\"\(name)\" value=\"\(OwnPage.escaped(value))\">"
    }
}
