import Foundation
import NephosService
import NephosTesting
import NephosWire
import Testing

@testable import NephosServer

/// Which account a provider's person is, and how accounts get and lose providers.
@Suite struct ProviderAccountTests {
    private static let root = AuditActor(name: "user 0")

    private func names(_ server: ProviderServer) async throws -> [String] {
        try await server.installation.accounts(after: "").accounts.map(\.name)
    }

    // MARK: New accounts

    @Test func `an address of another account joins nothing, and only its person is told of the account`() async throws
    {
        let server = try await ProviderServer()
        _ = try await server.installation.createAccount(
            named: "ada@example.org", password: ProductionServer.password, isVerified: true, by: Self.root)
        // An unverified name is the account's, too.
        _ = try await server.installation.createAccount(
            named: "bob@example.org", password: ProductionServer.password, by: Self.root)
        let before = try await names(server)
        for person in [ProviderServer.ada, ProviderServer.bob] {
            let browser = Browser(server.production)
            let refused = try await server.signIn(browser, by: "first", as: person)
            #expect(refused.status == 403 && refused.text.contains("An account has your address"), "\(refused.text)")
            #expect(browser.cookie("session") == nil)
        }
        #expect(try await names(server) == before)
        // Of an address that the provider did not verify nothing is said: it is as if there were none.
        var made: [String] = []
        for (subject, isVerified) in [("3", false), ("4", nil)] as [(String, Bool?)] {
            for address in ["ada@example.org", "new@example.org"] {
                let browser = Browser(server.production)
                let person = LyingProvider.Person(
                    "\(subject) \(address)", address, isVerified: isVerified, name: "Ada <b>@ x")
                #expect(try await server.signIn(browser, by: "first", as: person).status == 303)
                let name = try #require(await server.account(browser))
                #expect(name.wholeMatch(of: /ada b x \d{6}/) != nil, "\(name)")
                made.append(name)
            }
        }
        #expect(Set(made).count == 4)
        await server.close()
    }

    @Test(arguments: [PeopleSettings.SignUp.off, .invitation])
    func `no account is made where people make none, and the answer is the same for every address`(
        _ signUp: PeopleSettings.SignUp
    ) async throws {
        let server = try await ProviderServer(signUp)
        _ = try await server.installation.createAccount(
            named: "ada@example.org", password: ProductionServer.password, isVerified: true, by: Self.root)
        let before = try await names(server)
        var answers: Set<String> = []
        for person in [ProviderServer.ada, ProviderServer.bob, LyingProvider.Person("3")] {
            let refused = try await server.signIn(Browser(server.production), by: "first", as: person)
            answers.insert("\(refused.status) \(refused.text)")
        }
        #expect(
            answers.count == 1 && answers.first?.contains("403") == true
                && answers.first?.contains("No account") == true)
        #expect(try await names(server) == before)
        await server.close()
    }

    @Test func `an invitation makes an account of its address, by either provider, once`() async throws {
        let server = try await ProviderServer(.invitation)
        for (name, address) in [("first", "ada@example.org"), ("second", "dan@example.org")] {
            #expect(try await server.installation.invite(address, by: Self.root) == nil)
            let link = try #require(try await server.links().first)
            let browser = Browser(server.production)
            let page = await browser.get(link)
            #expect(page.text.contains("action=\"/account/providers/start/\(name)\""))
            let purpose = "return=\(PercentEncoding.escaped(link))"
            // The provider's address is another.
            let done = try await server.signIn(browser, by: name, as: ProviderServer.bob, for: purpose)
            #expect(done.status == 303 && done.headers.contains(HTTPHeader("Location", "/account#")), "\(done.text)")
            #expect(await server.account(browser) == address)
            #expect(await browser.get("/account").text.contains("The address is verified"))
            #expect(await Browser(server.production).get(link).status == 404)
            // The used link makes no other account.
            let other = LyingProvider.Person("9", "eve@example.org", isVerified: true)
            #expect(
                try await server.signIn(Browser(server.production), by: name, as: other, for: purpose).status == 403)
        }
        #expect(try await names(server).filter { $0.contains("@") } == ["ada@example.org", "dan@example.org"])
        await server.close()
    }

    @Test func `a person who began at a share's URL is back there`() async throws {
        let server = try await ProviderServer()
        let browser = Browser(server.production)
        let done = try await server.signIn(
            browser, by: "first", as: ProviderServer.ada, for: "return=%2Fshare%2F0123456789")
        #expect(done.headers.contains(HTTPHeader("Location", "/share/0123456789#")))
        await server.close()
    }

    // MARK: The account's page

    @Test func `a provider is added while signed in by the first way, and then signs in`() async throws {
        let server = try await ProviderServer(.off)
        let (browser, other) = (Browser(server.production), Browser(server.production))
        await server.signInByPassword(browser, "lovelace")
        await server.signInByPassword(other, "bob")
        for name in ["first", "second"] {
            let response = try await server.agreeToAdd(browser, name, as: ProviderServer.ada)
            // Another browser, also one that is signed in, adds nothing.
            #expect(await other.get(server.callback(name, response)).status == 400)
            let done = await browser.get(server.callback(name, response))
            #expect(done.status == 303 && done.headers.contains(HTTPHeader("Location", "/account#")), "\(done.text)")
            #expect(await browser.get("/account").text.contains("The &lt;\(name)&gt; (<bdi>Ada@example.org</bdi>)"))
            let fresh = Browser(server.production)
            #expect(try await server.signIn(fresh, by: name, as: ProviderServer.ada).status == 303)
            #expect(await server.account(fresh) == "lovelace")
        }
        // The same again changes nothing, and another account does not get the person.
        let again = try await server.agreeToAdd(browser, "first", as: ProviderServer.ada)
        #expect(await browser.get(server.callback("first", again)).status == 303)
        let taken = try await server.agreeToAdd(other, "first", as: ProviderServer.ada)
        let refused = await other.get(server.callback("first", taken))
        #expect(refused.status == 403 && refused.text.contains("another account signs in by that person"))
        #expect(!(await other.get("/account").text.contains("remove-provider")))
        await server.close()
    }

    @Test func `providers that are added and removed are mailed, and the one that makes the account is not`()
        async throws
    {
        let server = try await ProviderServer()
        let browser = Browser(server.production)
        _ = try await server.signIn(browser, by: "first", as: ProviderServer.ada)
        #expect(try await server.subjects().isEmpty)
        let response = try await server.agreeToAdd(browser, "second", as: ProviderServer.ada)
        _ = await browser.get(server.callback("second", response))
        #expect(try await server.subjects() == ["A new way to sign in at cloud.example.org"])
        let page = await browser.get("/account")
        let id = try #require(page.text.firstMatch(of: /name="identity" value="([0-9a-f]{64})"/)).1
        _ = await browser.post("/account", from: page, "action=remove-provider&identity=\(id)")
        #expect(try await server.subjects() == ["A way to sign in was removed at cloud.example.org"])
        await server.close()
    }

    @Test func `an addition ends with the session that began it`() async throws {
        let server = try await ProviderServer(.off)
        let browser = Browser(server.production)
        await server.signInByPassword(browser, "lovelace")
        let response = try await server.agreeToAdd(browser, "first", as: ProviderServer.ada)
        await server.signInByPassword(browser, "bob")
        #expect(await browser.get(server.callback("first", response)).status == 400)
        #expect(!(await browser.get("/account").text.contains("remove-provider")))
        await server.close()
    }

    @Test func `changes of providers need a recent sign-in and the page's form`() async throws {
        let server = try await ProviderServer(.off)
        let browser = Browser(server.production)
        await server.signInByPassword(browser, "lovelace")
        let response = try await server.agreeToAdd(browser, "first", as: ProviderServer.ada)
        #expect(await browser.get(server.callback("first", response)).status == 303)
        let page = await browser.get("/account")
        let id = try #require(page.text.firstMatch(of: /name="identity" value="([0-9a-f]{64})"/)).1
        for action in ["action=add-provider&provider=second", "action=remove-provider&identity=\(id)"] {
            #expect(
                await browser.post("/account", from: page, action, origin: "https://evil.example.org").status == 403)
        }
        server.production.advance(milliseconds: 15 * 60_000 + 1)
        for action in ["action=add-provider&provider=second", "action=remove-provider&identity=\(id)"] {
            let refused = await browser.post("/account", from: await browser.get("/account"), action)
            #expect(refused.status == 400 && refused.text.contains("sign in again"), "\(refused.text)")
        }
        #expect(await browser.get("/account").text.contains("name=\"identity\" value=\"\(id)\""))
        await server.close()
    }

    @Test func `a recovery removes the providers of an account where that is chosen`() async throws {
        for isChosen in [false, true] {
            let server = try await ProviderServer()
            #expect(
                try await server.signIn(Browser(server.production), by: "first", as: ProviderServer.ada).status == 303)
            let link = try await server.installation.makeRecoveryLink(ofAccountNamed: "ada@example.org", by: Self.root)
            let secret = String(try #require(link.split(separator: "=").last))
            #expect(try await server.installation.link(secret)?.otherMethods == 1)
            try await server.installation.recover(
                byLink: secret, password: ProductionServer.password, removesOtherMethods: isChosen, address: [])
            let again = try await server.signIn(Browser(server.production), by: "first", as: ProviderServer.ada)
            #expect(again.status == (isChosen ? 403 : 303), "\(isChosen): \(again.text)")
            await server.close()
        }
    }

    @Test func `a provider is removed by its account alone, and never the last way to sign in`() async throws {
        let server = try await ProviderServer()
        let (browser, other) = (Browser(server.production), Browser(server.production))
        _ = try await server.signIn(browser, by: "first", as: ProviderServer.ada)
        _ = try await server.signIn(other, by: "first", as: ProviderServer.bob)
        func identities() async -> [String] {
            await browser.get("/account").text.matches(of: /name="identity" value="([0-9a-f]{64})"/).map {
                String($0.1)
            }
        }
        func remove(_ id: String, _ browser: Browser) async -> HTTPResponse {
            await browser.post("/account", from: await browser.get("/account"), "action=remove-provider&identity=\(id)")
        }
        let first = try #require(await identities().first)
        let last = await remove(first, browser)
        #expect(last.status == 400 && last.text.contains("the last way to sign in"))
        let response = try await server.agreeToAdd(browser, "second", as: ProviderServer.ada)
        #expect(await browser.get(server.callback("second", response)).status == 303)
        #expect(await remove(first, other).status == 400)
        #expect(await identities().count == 2)
        #expect(await remove(first, browser).status == 303)
        let rest = await identities()
        #expect(rest.count == 1 && rest != [first])
        #expect(await remove(try #require(rest.first), browser).status == 400)
        // The person whose provider was removed is a stranger whose address is taken.
        let stranger = try await server.signIn(Browser(server.production), by: "first", as: ProviderServer.ada)
        #expect(stranger.status == 403 && stranger.text.contains("An account has your address"))
        await server.close()
    }

    @Test func `an account without a password sets one by a mailed link, and then needs no provider`() async throws {
        let server = try await ProviderServer()
        let browser = Browser(server.production)
        _ = try await server.signIn(browser, by: "first", as: ProviderServer.ada)
        // No password signs in to it, and none can be changed.
        for password in ["", "x", "nine+lives+of+a+grey+cat"] {
            let form = await browser.get("/sign-in?other=1")
            let tried = await browser.post(
                "/sign-in?other=1", from: form, "account=ada@example.org&password=\(password)")
            #expect(tried.status == 403)
        }
        let page = await browser.get("/account")
        #expect(!page.text.contains("Present password"))
        let forced = await browser.post("/account", from: page, "action=password&password=&new=another+long+secret")
        #expect(forced.status == 403)
        let mailed = await browser.post("/account", from: page, "action=mail-password")
        #expect(mailed.status == 200 && mailed.text.contains("A mail to ada@example.org"))
        let link = try #require(try await server.links().first)
        let form = await browser.get(link)
        #expect(await browser.post(link, from: form, "password=another+long+secret").status == 303)
        let signIn = await browser.get("/sign-in")
        let done = await browser.post(
            "/sign-in", from: signIn, "account=ada@example.org&password=another+long+secret")
        #expect(done.status == 303)
        let account = await browser.get("/account")
        let id = try #require(account.text.firstMatch(of: /name="identity" value="([0-9a-f]{64})"/)).1
        #expect(await browser.post("/account", from: account, "action=remove-provider&identity=\(id)").status == 303)
        await server.close()
    }

    @Test func `a deleted account takes its providers along, so that the person begins anew`() async throws {
        let server = try await ProviderServer()
        _ = try await server.signIn(Browser(server.production), by: "first", as: ProviderServer.ada)
        let before = try await server.installation.accountID(named: "ada@example.org")
        _ = try await server.installation.removeAccount(named: "ada@example.org", by: Self.root)
        let browser = Browser(server.production)
        #expect(try await server.signIn(browser, by: "first", as: ProviderServer.ada).status == 303)
        #expect(await server.account(browser) == "ada@example.org")
        #expect(try await server.installation.accountID(named: "ada@example.org") != before)
        await server.close()
    }
}
