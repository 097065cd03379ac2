import NephosPasskeys
import NephosService
import NephosTesting
import NephosWire
import Testing

@testable import NephosServer

/// Passkeys at the pages of a production server, as browsers with an authenticator use them.
@Suite struct PasskeyPageTests {
    private static let password = "password=" + ProductionServer.password.replacing(" ", with: "+")

    private func server(url: String = ProductionServer.url) async throws -> ProductionServer {
        var people = PeopleSettings(url: url, serverName: "cloud.example.org")
        people.passkeys = FidoVerifier()
        return try await ProductionServer(people: people)
    }

    private func signIn(_ account: String, _ browser: Browser) async {
        let form = await browser.get("/sign-in?other=1")
        let done = await browser.post("/sign-in?other=1", from: form, "account=\(account)&\(Self.password)")
        #expect(done.status == 303, "\(done.text)")
    }

    /// A value of what a page asks the browser for.
    private func value(_ name: String, in page: HTTPResponse) throws -> String {
        let pattern = try Regex(
            "data-passkey=\"[^\"]*&quot;\(name)&quot;:&quot;([^&]*)&quot;", as: (Substring, Substring).self)
        return String(try #require(page.text.firstMatch(of: pattern), "\(page.text)").1)
    }

    private func clientData(_ type: String, _ page: HTTPResponse) throws -> [UInt8] {
        SoftwarePasskey.clientData(
            type: type, challenge: try value("challenge", in: page), origin: ProductionServer.url)
    }

    /// The fields of a new passkey, as the script fills them.
    private func made(_ passkey: SoftwarePasskey, _ page: HTTPResponse, name: String) throws -> String {
        let client = SoftwarePasskey.base64URL(try clientData("webauthn.create", page))
        let data = passkey.authenticatorData(relyingParty: "cloud.example.org", isNew: true)
        return
            "action=add-passkey&clientData=\(client)&authenticatorData=\(SoftwarePasskey.base64URL(data))&name=\(name)"
    }

    /// The fields of a sign-in.
    private func signed(_ passkey: SoftwarePasskey, _ handle: String, _ page: HTTPResponse) throws -> String {
        let client = try clientData("webauthn.get", page)
        let data = passkey.authenticatorData(relyingParty: "cloud.example.org")
        let signature = try passkey.signature(clientData: client, authenticatorData: data)
        return "action=passkey&credential=\(passkey.credential)&handle=\(handle)"
            + "&clientData=\(SoftwarePasskey.base64URL(client))&authenticatorData=\(SoftwarePasskey.base64URL(data))"
            + "&signature=\(SoftwarePasskey.base64URL(signature))"
    }

    /// Adds a passkey at the page of the account.
    /// - Returns: the handle that the authenticator has.
    private func add(_ passkey: SoftwarePasskey, _ browser: Browser, name: String = "laptop") async throws -> String {
        let page = await browser.get("/account")
        let user = try Regex(
            "&quot;user&quot;:\\{[^}]*&quot;id&quot;:&quot;([^&]*)&quot;", as: (Substring, Substring).self)
        let handle = try #require(page.text.firstMatch(of: user)).1
        let done = await browser.post("/account", from: page, try made(passkey, page, name: name))
        #expect(done.status == 303, "\(done.text)")
        return String(handle)
    }

    @Test func `a passkey is added at the account's page, and signs in from another browser`() async throws {
        let server = try await server()
        let (browser, other) = (Browser(server), Browser(server))
        await signIn("lovelace", browser)
        let passkey = try SoftwarePasskey()
        let handle = try await add(passkey, browser, name: "%3Cb%3Elaptop")
        let account = await browser.get("/account").text
        #expect(account.contains("&lt;b&gt;laptop</bdi>") && !account.contains("<b>laptop"))
        #expect(account.contains("&quot;excludeCredentials&quot;:[{&quot;id&quot;:&quot;\(passkey.credential)&quot;"))
        let page = await other.get("/sign-in?return=/login")
        let done = await other.post(
            "/sign-in?return=/login", from: page, try signed(passkey, handle, page) + "&keep=on")
        #expect(done.status == 303 && done.headers.contains { $0.name == "Location" && $0.value == "/login#" })
        #expect(other.cookie("session") != nil && other.cookie("device") != nil)
        #expect(await other.get("/account").text.contains("<h1>lovelace</h1>"))
        #expect(await browser.get("/account").text.contains("last used"))
        await server.close()
    }

    @Test func `a passkey signs in to an app, whose callback gets the token`() async throws {
        let server = try await server()
        let browser = Browser(server)
        await signIn("lovelace", browser)
        let passkey = try SoftwarePasskey()
        let handle = try await add(passkey, browser)
        let token = try await server.installation.createAPIToken(
            container: ProductionServer.container, environment: .development, name: "", origins: [],
            allowsSignIn: true, callback: "https://app.example.org/in", lifetime: nil, by: AuditActor(name: "user 0")
        ).token
        let address = "/sign-in?request=\(try #require(server.installation.signInText(apiToken: token, origin: nil)))"
        let app = Browser(server)
        let page = await app.get(address)
        let policy = try #require(page.headers.first { $0.name == "Content-Security-Policy" }?.value)
        #expect(policy.contains("script-src https://cloud.example.org/passkeys.js;"))
        #expect(policy.contains("form-action 'self' https://app.example.org;"))
        let done = await app.post(address, from: page, try signed(passkey, handle, page))
        let location = try #require(done.headers.first { $0.name == "Location" }?.value)
        let match = try #require(location.firstMatch(of: /in\?ckWebAuthToken=([^&]+)&/))
        let caller = try await server.installation.caller(
            container: ProductionServer.container, environment: .development, apiToken: token, token: String(match.1),
            origin: nil)
        #expect(caller.address == "lovelace")
        await server.close()
    }

    @Test func `a passkey's answer is of the page and the browser that asked, and of one use`() async throws {
        let server = try await server()
        let browser = Browser(server)
        await signIn("lovelace", browser)
        let passkey = try SoftwarePasskey()
        let handle = try await add(passkey, browser)
        let (first, second) = (Browser(server), Browser(server))
        let (page, other) = (await first.get("/sign-in"), await second.get("/sign-in"))
        let elsewhere = await first.get("/sign-in?return=/login")
        for foreign in [other, elsewhere] {
            let refused = await first.post("/sign-in", from: page, try signed(passkey, handle, foreign))
            #expect(refused.status == 403 && refused.text.contains("role=\"alert\""))
            #expect(first.cookie("session") == nil)
        }
        let fields = try signed(passkey, handle, page)
        #expect(await first.post("/sign-in", from: page, fields, origin: "https://evil.example.org").status == 403)
        #expect(await first.post("/sign-in", from: page, fields).status == 303)
        // The form ended with the sign-in.
        #expect(await first.post("/sign-in", from: page, fields).status == 403)
        #expect(await second.post("/sign-in", from: other, fields).status == 403)
        #expect(await second.post("/sign-in", from: other, try signed(passkey, handle, other)).status == 303)
        await server.close()
    }

    @Test func `two accounts see, name and remove their own passkeys alone`() async throws {
        let server = try await server()
        let (ada, bob) = (Browser(server), Browser(server))
        await signIn("lovelace", ada)
        await signIn("bob", bob)
        _ = try await add(try SoftwarePasskey(), ada, name: "phone")
        _ = try await add(try SoftwarePasskey(), bob, name: "tablet")
        func id(_ browser: Browser) async throws -> String {
            let text = await browser.get("/account").text
            return String(try #require(text.firstMatch(of: /name="passkey" value="([0-9a-f]+)"/)).1)
        }
        func act(_ browser: Browser, _ fields: String) async -> Int {
            await browser.post("/account", from: await browser.get("/account"), fields).status
        }
        let (own, others) = (try await id(ada), try await id(bob))
        #expect(own != others)
        #expect(await act(ada, "action=remove-passkey&passkey=\(others)") == 400)
        #expect(await act(ada, "action=name-passkey&passkey=\(others)&name=x") == 400)
        #expect(await act(ada, "action=name-passkey&passkey=\(own)&name=") == 400)
        #expect(await act(ada, "action=name-passkey&passkey=\(own)&name=watch") == 303)
        let (adas, bobs) = (await ada.get("/account").text, await bob.get("/account").text)
        #expect(adas.contains("watch</bdi>") && !adas.contains("tablet") && bobs.contains("tablet</bdi>"))
        #expect(await act(ada, "action=remove-passkey&passkey=\(own)") == 303)
        #expect(await ada.get("/account").text.contains("The account has none"))
        #expect(await bob.get("/account").text.contains("tablet</bdi>"))
        await server.close()
    }

    @Test func `passkeys are changed soon after a sign-in alone`() async throws {
        let server = try await server()
        let browser = Browser(server)
        await signIn("lovelace", browser)
        _ = try await add(try SoftwarePasskey(), browser)
        let open = await browser.get("/account")
        server.advance(milliseconds: 15 * 60_000 + 1)
        let fields = try made(try SoftwarePasskey(), open, name: "tardy")
        #expect(await browser.post("/account", from: open, fields).status == 403)
        let text = await browser.get("/account").text
        #expect(text.contains("need a recent sign-in") && text.contains("laptop</bdi>"))
        #expect(!text.contains("data-passkey") && !text.contains("remove-passkey") && !text.contains("tardy"))
        await server.close()
    }

    @Test func `pages without passkeys have no form for one`() async throws {
        for url in ["https://192.0.2.1", "http://cloud.example.org", ""] {
            let server = try await server(url: url)
            let browser = Browser(server)
            #expect(await browser.get("/sign-in").text.contains("data-passkey") == false, "\(url)")
            await signIn("lovelace", browser)
            #expect(await browser.get("/account").text.lowercased().contains("passkeys\"") == false, "\(url)")
            #expect(await browser.get("/account").text.contains("Passkeys") == false, "\(url)")
            await server.close()
        }
    }

    @Test func `a form for a passkey is hidden until the script shows it`() async throws {
        let server = try await server()
        let browser = Browser(server)
        let page = await browser.get("/sign-in")
        #expect(page.text.contains("<form method=\"post\" hidden data-passkey="))
        #expect(page.text.contains("<script src=\"/passkeys.js\" defer></script>"))
        let script = await browser.get("/passkeys.js")
        #expect(script.status == 200 && script.text.contains("navigator.credentials.get"))
        #expect(script.headers.contains { $0.name == "Content-Type" && $0.value.hasPrefix("text/javascript") })
        await server.close()
    }

    @Test func `a recovery says that passkeys stay, and removes them if it is told to`() async throws {
        let server = try await server()
        let browser = Browser(server)
        await signIn("lovelace", browser)
        _ = try await add(try SoftwarePasskey(), browser)
        func recover(_ account: String, _ fields: String) async throws -> String {
            let link = try await server.installation.makeRecoveryLink(
                ofAccountNamed: account, by: AuditActor(name: "user 0"))
            let path = String(link.dropFirst(ProductionServer.url.count))
            let page = await browser.get(path)
            #expect(await browser.post(path, from: page, "password=another+long+secret" + fields).status == 303)
            return page.text
        }
        func passkeys() async throws -> Int {
            try await server.installation.passkeySummaries(ofAccountNamed: "lovelace").count
        }
        #expect(try await !recover("bob", "").contains("passkeys"))
        #expect(try await recover("lovelace", "").contains("They stay otherwise"))
        #expect(try await passkeys() == 1)
        _ = try await recover("lovelace", "&passkeys=remove")
        #expect(try await passkeys() == 0)
        await server.close()
    }

    @Test func `an administrator lists and removes the passkeys of an account`() async throws {
        let server = try await server()
        for account in ["lovelace", "bob"] {
            let browser = Browser(server)
            await signIn(account, browser)
            for name in ["laptop", "phone"] { _ = try await add(try SoftwarePasskey(), browser, name: name) }
        }
        let list = try #require(Routes.table.first { $0.path == "/installation/passkeys/list" })
        let remove = try #require(Routes.table.first { $0.path == "/installation/passkeys/remove" })
        func send(_ route: Route, _ body: String) async -> String {
            await server.send(route, as: .administrator, body: body).text
        }
        let text = await send(list, #"{"account": "lovelace"}"#)
        #expect(text.matches(of: /"name":"(laptop|phone)"/).count == 2)
        let id = try #require(text.firstMatch(of: /"id":"([0-9a-f]+)"/)).1
        #expect(await send(remove, #"{"account": "bob", "passkey": "\#(id)"}"#).contains("NOT_FOUND"))
        #expect(await send(remove, #"{"account": "lovelace", "passkey": "\#(id)"}"#).contains(#""count":1"#))
        #expect(await send(remove, #"{"account": "lovelace"}"#).contains(#""count":1"#))
        #expect(try await server.installation.passkeySummaries(ofAccountNamed: "bob").count == 2)
        await server.close()
    }
}
