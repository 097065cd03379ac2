import NephosService
import NephosWire

/// A page that needs a session of the browser.
protocol SessionPage: Sendable {
    static var path: String { get }

    init(page: OwnPage, session: BrowserSession)

    func answer() async throws(Refusal) -> HTTPResponse
}

extension Route {
    /// Creates the route of a page that needs a session. A browser without one is led to the sign-in, and back.
    static func page<Page: SessionPage>(_ type: Page.Type, _ methods: [HTTPMethod] = [.get, .post]) -> Route {
        Route(methods, Page.path, bodyLimit: 16 * 1024, access: .open) { routed throws(Refusal) in
            let page = OwnPage(routed, try routed.installation, name: Page.path)
            guard let session = try await page.session() else {
                return page.redirect(to: SignInPage.address(returningTo: Page.path))
            }
            return try await Page(page: page, session: session).answer()
        }
    }
}
