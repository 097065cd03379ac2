import NephosService
import NephosWire
import Testing

@testable import NephosServer

/// Sign-ups that an app or a page began, and the names that people see before they sign in to an app.
@Suite struct SignUpReturnTests {
    private static let page = ProductionServer.page
    private static let new = "password=another+long+secret"

    /// Asks for an account in a browser, from the sign-in at a path.
    private func ask(_ browser: Browser, at signIn: String, for address: String) async throws {
        let form = await browser.get(signIn)
        let target = String(try #require(form.text.firstMatch(of: /href="(\/sign-up[^"]+)"/), "\(form.text)").1)
        let asked = await browser.post(target, from: await browser.get(target), "address=\(address)")
        #expect(asked.status == 200, "\(asked.text)")
    }

    private func makeAccount(_ browser: Browser, at link: String) async -> String? {
        let done = await browser.post(link, from: await browser.get(link), Self.new)
        #expect(done.status == 303, "\(done.text)")
        return done.headers.first { $0.name == "Location" }?.value
    }

    @Test func `a sign-up that an app began goes on at the app, in the browser that asked for it`() async throws {
        let mailing = try await MailingServer()
        let server = mailing.server
        let callback = "https://app.example.org/signed-in"
        let apiToken = try await server.makeAPIToken(name: "The <b>app</b>", callback: callback)
        let signIn = try server.signInPath(apiToken)
        let (browser, other) = (Browser(server), Browser(server))
        try await ask(browser, at: signIn, for: "ada@example.org")
        try await ask(browser, at: signIn, for: "eve@example.org")
        var links = try await mailing.links()
        try #require(links.count == 2)
        // The text that the app gave has expired by the time at which the mail is read.
        server.advance(milliseconds: 30 * 60_000)
        #expect(await browser.get(signIn).status == 401)
        // In another browser the account's page is the end, and in no case the app's.
        #expect(await makeAccount(other, at: links.removeFirst()) == "/account#")
        let next = try #require(await makeAccount(browser, at: links.removeFirst()))
        #expect(next.hasPrefix("/sign-in?request="))
        let path = String(next.dropLast())
        let offer = await browser.get(path)
        // Mails are sent side by side, so either link may be the first.
        #expect(offer.text.contains(/Continue as (ada|eve)@example\.org/))
        let done = await browser.post(path, from: offer, "action=continue")
        let location = try #require(done.headers.first { $0.name == "Location" }?.value)
        #expect(location.hasPrefix(callback))
        let nonce = try #require(signIn.firstMatch(of: /&nonce=([0-9a-f]{64})$/), "\(signIn)").1
        #expect(location.hasSuffix("&ckNonce=\(nonce)#"))
        await server.close()
    }

    @Test func `a callback has the nonce of the address that began the sign-in`() async throws {
        let mailing = try await MailingServer()
        let apiToken = try await mailing.server.makeAPIToken(callback: "https://app.example.org/signed-in")
        let paths = try (0..<2).map { _ in try mailing.server.signInPath(apiToken) }
        for path in paths.reversed() {
            let browser = await mailing.server.browser(of: "bob")
            let done = await browser.post(path, from: await browser.get(path), "action=continue")
            let location = try #require(done.headers.first { $0.name == "Location" }?.value)
            let nonce = try #require(path.firstMatch(of: /&nonce=(.+)$/)).1
            #expect(location.hasSuffix("&ckNonce=\(nonce)#"), "\(location)")
            // What the page's address says of the nonce is not the callback's.
            let other = path.replacing(nonce, with: "other")
            let forged = await browser.post(other, from: await browser.get(other), "action=continue")
            #expect(forged.headers.first { $0.name == "Location" }?.value.hasSuffix("&ckNonce=\(nonce)#") == true)
        }
        #expect(paths[0] != paths[1])
        await mailing.server.close()
    }

    @Test func `a sign-up that a share's page began goes on there in every browser`() async throws {
        let mailing = try await MailingServer()
        let browser = Browser(mailing.server)
        try await ask(browser, at: "/sign-in?return=%2Fshare%2F0123456789", for: "ada@example.org")
        let link = try #require(try await mailing.links().first)
        #expect(await makeAccount(Browser(mailing.server), at: link) == "/share/0123456789#")
        await mailing.server.close()
    }

    @Test func `a sign-up for an app needs the text of this server`() async throws {
        let mailing = try await MailingServer()
        for text in ["x", "/account"] {
            #expect(await Browser(mailing.server).get("/sign-up?request=\(text)").status != 200, "\(text)")
        }
        await mailing.server.close()
    }

    @Test func `a sign-up ends the browser's former session and those that it began`() async throws {
        let mailing = try await MailingServer()
        let server = mailing.server
        let apiToken = try await server.makeAPIToken(origins: [Self.page])
        let (browser, other) = (await server.browser(of: "bob"), await server.browser(of: "bob"))
        let path = try server.signInPath(apiToken, origin: Self.page)
        let continued = await browser.post(path, from: await browser.get(path), "action=continue")
        let session = String(try #require(continued.text.firstMatch(of: /ckWebAuthToken: "([^"]+)"/)).1)
        func isLive() async -> Bool {
            let caller = try? await server.installation.caller(
                container: ProductionServer.container, environment: .development, apiToken: apiToken, token: session,
                origin: nil)
            return caller?.account != nil
        }
        #expect(await isLive())
        let former = try #require(browser.cookie("session"))
        try await server.installation.requestSignUp(of: "ada@example.org", continuation: nil, address: [])
        #expect(await makeAccount(browser, at: try #require(try await mailing.links().first)) == "/account#")
        #expect(try await server.installation.browserSession(former) == nil)
        #expect(await !isLive())
        #expect(await browser.get("/account").text.contains("<h1>ada@example.org</h1>"))
        #expect(await other.get("/account").text.contains("<h1>bob</h1>"))
        await server.close()
    }

    @Test func `people see which app asks them to sign in, and where it goes on`() async throws {
        let server = try await ProductionServer()
        let named = try await server.makeAPIToken(name: "Notes <i>\u{202E}", callback: "https://app.example.org/end")
        let other = try await server.makeAPIToken(origins: [Self.page])
        for browser in [Browser(server), await server.browser(of: "bob")] {
            let first = await browser.get(try server.signInPath(named)).text
            #expect(first.contains("<bdi>Notes &lt;i&gt;\\u{202e}</bdi>") && first.contains(ProductionServer.container))
            #expect(first.contains("at https://app.example.org."))
            let second = await browser.get(try server.signInPath(other, origin: Self.page)).text
            #expect(second.contains("at \(Self.page).") && !second.contains("Notes"))
        }
        // The server's own pages are no app.
        #expect(await !Browser(server).get("/sign-in").text.contains("asks you"))
        let unknown = try server.signInPath(String(repeating: "a", count: 64))
        #expect(await Browser(server).get(unknown).status == 401)
        await server.close()
    }

    @Test(
        arguments: [
            ([192, 0, 2, 7], "192.0.2.7"), ([0x20, 1, 0xD, 0xB8, 0, 0, 0, 1], "2001:db8:0:1::/64"),
        ] as [([UInt8], String)])
    func `people see the app and the network of a program's login`(_ address: [UInt8], _ text: String) async throws {
        let server = try await ProductionServer()
        let apiToken = try await server.makeAPIToken(name: "Notes")
        let begun = try await server.installation.beginLogin(apiToken: apiToken, label: "a\u{202E}b", address: address)
        let browser = await server.browser(of: "bob")
        let asked = await browser.post("/login", from: await browser.get("/login"), "code=\(begun.code)").text
        #expect(asked.contains("from the network \(text) ") && asked.contains("<bdi>Notes</bdi>"), "\(asked)")
        #expect(asked.contains("<bdi>a\\u{202e}b</bdi>"))
        await server.close()
    }

    @Test func `labels of sessions are printable and apart from the text around them`() async throws {
        let server = try await ProductionServer()
        let apiToken = try await server.makeAPIToken()
        _ = try await server.installation.signIn(
            SignIn(name: "bob", password: ProductionServer.password, apiToken: apiToken, label: "<b>\u{202E}x\u{1B}"))
        let page = await server.browser(of: "bob").get("/account").text
        #expect(page.contains("(<bdi>&lt;b&gt;\\u{202e}x\\u{1b}</bdi>)"), "\(page)")
        await server.close()
    }
}
