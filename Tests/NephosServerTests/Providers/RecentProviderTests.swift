import NephosService
import NephosTesting
import NephosWire
import Testing

@testable import NephosServer

/// Whether a sign-in by a provider is recent enough for changes: a provider at which the person is signed in answers
/// without asking.
@Suite struct RecentProviderTests {
    /// Tries to add the second provider at the account's page.
    private func addition(_ browser: Browser) async -> HTTPResponse {
        let page = await browser.get("/account")
        return await browser.post("/account", from: page, "action=add-provider&provider=second")
    }

    private func expectNotRecent(_ browser: Browser, _ reason: String) async {
        let refused = await addition(browser)
        #expect(refused.status == 400 && refused.text.contains(reason), "\(refused.text)")
        let deleted = await browser.post(
            "/account", from: await browser.get("/account"), "action=delete&name=ada@example.org")
        #expect(deleted.status == 400 && deleted.text.contains(reason), "\(deleted.text)")
    }

    private func parameters(_ page: HTTPResponse, _ server: ProviderServer) throws -> [Substring] {
        try server.target(page).split(separator: "&").filter { $0.hasPrefix("max_age=") || $0.hasPrefix("prompt=") }
    }

    @Test func `a provider is asked to ask where another sign-in is wanted, and for a program's login`() async throws {
        let server = try await ProviderServer(appleKey: try TestSigningKey(.p256, id: "x"))
        let browser = Browser(server.production)
        for (purpose, other, expected) in [
            ("return=%2Faccount", "", []), ("return=%2Faccount", "other=1&", ["max_age=0", "prompt=login"]),
            ("return=%2Flogin", "", ["max_age=0", "prompt=login"]),
        ] {
            let page = await server.start(browser, by: "first", for: purpose, other: other)
            #expect(try parameters(page, server).map(String.init) == expected, "\(purpose) \(other)")
        }
        // A provider that does not announce the prompt would refuse it.
        let apple = await server.start(browser, by: "apple")
        #expect(try parameters(apple, server) == ["max_age=0"])
        await server.close()
    }

    @Test(arguments: LyingProvider.Reauthentication.allCases)
    func `a session is recent only if the provider says that it asked`(
        _ reauthentication: LyingProvider.Reauthentication
    ) async throws {
        let server = try await ProviderServer()
        try server.provider("first").reauthentication = reauthentication
        let browser = Browser(server.production)
        #expect(try await server.signIn(browser, by: "first", as: ProviderServer.ada).status == 303)
        #expect(await server.account(browser) == "ada@example.org")
        switch reauthentication {
        case .asks: #expect(await addition(browser).status == 200)
        case .goesOn: await expectNotRecent(browser, "sign in again")
        case .saysNothing, .isOfTheFuture, .saysText: await expectNotRecent(browser, "by a password or a passkey")
        }
        await server.close()
    }

    @Test func `a sign-in without asking is not recent, and one after asking is for 15 minutes`() async throws {
        let server = try await ProviderServer()
        let browser = Browser(server.production)
        let page = await server.start(browser, by: "first", other: "")
        let silent = try server.provider("first").authorize(try server.target(page), as: ProviderServer.ada)
        #expect(await browser.get(server.callback("first", silent)).status == 303)
        await expectNotRecent(browser, "by a password or a passkey")
        #expect(try await server.signIn(browser, by: "first", as: ProviderServer.ada).status == 303)
        server.production.advance(milliseconds: 15 * 60_000)
        #expect(await addition(browser).status == 200)
        server.production.advance(milliseconds: 1000)
        await expectNotRecent(browser, "sign in again")
        await server.close()
    }

    @Test func `a program's login to the administration needs a provider that asked`() async throws {
        let server = try await ProviderServer()
        let (asked, silent) = (Browser(server.production), Browser(server.production))
        #expect(try await server.signIn(asked, by: "first", as: ProviderServer.ada).status == 303)
        try server.provider("first").reauthentication = .saysNothing
        #expect(try await server.signIn(silent, by: "first", as: ProviderServer.ada).status == 303)
        for (browser, status) in [(silent, 400), (asked, 200)] {
            let login = try await server.installation.beginLogin(apiToken: nil, label: "", address: [])
            let page = await browser.get("/login")
            let done = await browser.post("/login", from: page, "action=approve&code=\(login.code)")
            #expect(done.status == status, "\(done.text)")
            #expect(done.text.contains("Sign in again</a>") == (status == 400))
        }
        await server.close()
    }

    @Test(arguments: [true, false])
    func `a login of a page lasts as a sign-in in a browser, and that of a program longer`(isPage: Bool) async throws {
        let server = try await ProviderServer()
        let browser = Browser(server.production)
        #expect(try await server.signIn(browser, by: "first", as: ProviderServer.ada).status == 303)
        let login = try await server.installation.beginLogin(
            apiToken: nil, label: "", keepsSignedIn: !isPage, address: [])
        let page = await browser.get("/login")
        #expect(await browser.post("/login", from: page, "action=approve&code=\(login.code)").status == 200)
        guard case .signedIn(let signedIn, _, _, _) = try await server.installation.login(login.secret, address: [])
        else { return #expect(Bool(false), "the login was approved") }
        // The code's expiry is minutes from now.
        let hours = (signedIn.expiresAt - login.expires) / 3_600_000
        #expect(isPage ? hours == 0 : hours >= 13 * 24, "\(hours)")
        await server.close()
    }
}
