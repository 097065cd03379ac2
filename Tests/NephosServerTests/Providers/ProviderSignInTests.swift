import Foundation
import NephosService
import NephosTesting
import NephosWire
import Testing

@testable import NephosServer

/// Sign-ins by identity providers, as browsers see them.
@Suite struct ProviderSignInTests {
    private static let root = AuditActor(name: "user 0")

    private func expectRefusal(
        _ response: HTTPResponse, _ status: Int, _ reason: String, _ browser: Browser,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(response.status == status, "\(response.text)", sourceLocation: sourceLocation)
        #expect(response.text.contains(reason), "\(response.text)", sourceLocation: sourceLocation)
        #expect(browser.cookie("session") == nil, sourceLocation: sourceLocation)
    }

    @Test(arguments: TestSigningKey.Kind.allCases)
    func `a person without an account gets one, and is in it the next time`(_ kind: TestSigningKey.Kind) async throws {
        let server = try await ProviderServer(kind: kind)
        let browser = Browser(server.production)
        let form = await browser.get("/sign-in")
        #expect(
            form.text.contains("action=\"/account/providers/start/first\"") && form.text.contains("The &lt;first&gt;"))
        let done = try await server.signIn(browser, by: "first", as: ProviderServer.ada)
        #expect(done.status == 303 && done.headers.contains(HTTPHeader("Location", "/account#")), "\(done.text)")
        let account = await browser.get("/account")
        #expect(await server.account(browser) == "ada@example.org")
        #expect(account.text.contains("The address is verified") && account.text.contains("has no password"))
        #expect(account.text.contains("The &lt;first&gt; (<bdi>Ada@example.org</bdi>), since"))
        // The provider's address changed: the person is the same.
        let other = Browser(server.production)
        let moved = LyingProvider.Person("1", "ada@example.net", isVerified: true)
        #expect(try await server.signIn(other, by: "first", as: moved).status == 303)
        #expect(await server.account(other) == "ada@example.org")
        #expect(
            try await server.installation.accounts(after: "a").accounts.filter { $0.name.hasPrefix("ada") }.map(
                \.hasPassword)
                == [false])
        await server.close()
    }

    @Test func `the page of the provider gets a proof, a state and a nonce that differ each time`() async throws {
        let server = try await ProviderServer()
        let browser = Browser(server.production)
        var seen: Set<String> = []
        for _ in 1...2 {
            let url = try server.target(await server.start(browser, by: "first", for: "return=%2Flogin"))
            let query = try #require(URLComponents(string: url)?.queryItems)
            func value(_ name: String) -> String { query.first { $0.name == name }?.value ?? "" }
            #expect(url.hasPrefix("https://id.example.com/authorize?tenant=1&response_type=code&"))
            #expect(value("redirect_uri") == "https://cloud.example.org/account/providers/callback/first")
            #expect(value("client_id") == "client of first" && value("scope") == "openid email profile")
            #expect(value("code_challenge").utf8.count == 43 && value("code_challenge_method") == "S256")
            for name in ["state", "nonce", "code_challenge"] { #expect(seen.insert(value(name)).inserted, "\(name)") }
            #expect(!value("state").contains("login"))
        }
        await server.close()
    }

    @Test func `two persons of two providers in two browsers are four accounts`() async throws {
        let server = try await ProviderServer()
        // The subjects are the same at both providers.
        let persons: [(String, LyingProvider.Person, String)] = [
            ("first", ProviderServer.ada, "ada@example.org"), ("first", ProviderServer.bob, "bob@example.org"),
            ("second", LyingProvider.Person("1", "eve@example.org", isVerified: true), "eve@example.org"),
            ("second", LyingProvider.Person("2", "dan@example.org", isVerified: true), "dan@example.org"),
        ]
        let browsers = [Browser(server.production), Browser(server.production)]
        for round in 0..<2 {
            let begun = try await persons.indices.asyncMap { index in
                let (name, person, _) = persons[index]
                return try await server.agree(browsers[(index + round) % 2], by: name, as: person)
            }
            // They come back in the other order.
            for index in persons.indices.reversed() {
                let browser = browsers[(index + round) % 2]
                let done = await browser.get(server.callback(persons[index].0, begun[index]))
                #expect(done.status == 303, "\(done.text)")
                #expect(await server.account(browser) == persons[index].2)
            }
        }
        #expect(try await server.installation.accounts(after: "").accounts.filter { $0.name.contains("@") }.count == 4)
        await server.close()
    }

    // MARK: Lies

    @Test(arguments: LyingProvider.Lie.allCases)
    func `a provider that lies signs nobody in`(_ lie: LyingProvider.Lie) async throws {
        let server = try await ProviderServer(kind: .rsa)
        let (browser, provider) = (Browser(server.production), try server.provider("first"))
        provider.lie = lie
        let start = await server.start(browser, by: "first")
        if [.otherIssuersDocument, .plainEndpoint, .redirectedDocument, .failure].contains(lie) {
            let isAway = lie == .failure
            expectRefusal(start, isAway ? 503 : 403, isAway ? "cannot be reached" : "did not sign you in", browser)
        } else {
            let response = provider.authorize(try server.target(start), as: ProviderServer.ada)
            let (status, reason) =
                [.failingToken, .refusingClient].contains(lie)
                ? (503, "cannot be reached") : (403, "did not sign you in")
            expectRefusal(await browser.get(server.callback("first", response)), status, reason, browser)
        }
        #expect(try await server.installation.accounts(after: "").accounts.filter { $0.name.contains("@") }.isEmpty)
        // Soon it says the truth, and its documents are fetched again.
        provider.lie = nil
        server.production.advance(milliseconds: 61_000)
        #expect(try await server.signIn(browser, by: "first", as: ProviderServer.ada).status == 303, "\(lie)")
        await server.close()
    }

    @Test(arguments: [LyingProvider.Lie.algorithmOfOtherKey, .signedByOtherKey, .signedByPublicKey, .unsigned])
    func `a token that another key signed is refused for keys on a curve too`(_ lie: LyingProvider.Lie) async throws {
        for kind in [TestSigningKey.Kind.p256, .ed25519] {
            let server = try await ProviderServer(kind: kind)
            let browser = Browser(server.production)
            try server.provider("first").lie = lie
            let done = try await server.signIn(browser, by: "first", as: ProviderServer.ada)
            expectRefusal(done, 403, "did not sign you in", browser)
            await server.close()
        }
    }

    // MARK: States

    @Test func `an answer counts once`() async throws {
        let server = try await ProviderServer()
        let browser = Browser(server.production)
        let response = try await server.agree(browser, by: "first", as: ProviderServer.ada)
        let target = server.callback("first", response)
        #expect(await browser.get(target).status == 303)
        // With the cookies that it had then, in another session.
        let again = await browser.get(target)
        #expect(again.status == 400 && again.text.contains("was used"))
        #expect(try server.provider("first").count("/token") == 1)
        // A code of one sign-in is none of another's: its proof is another.
        var second = try await server.agree(browser, by: "first", as: ProviderServer.ada)
        let third = try await server.agree(browser, by: "first", as: ProviderServer.bob)
        second["code"] = third["code"]
        #expect(await browser.get(server.callback("first", second)).status == 403)
        await server.close()
    }

    @Test func `an answer is its browser's and its provider's, for ten minutes`() async throws {
        let server = try await ProviderServer()
        let (browser, other) = (Browser(server.production), Browser(server.production))
        _ = await other.get("/sign-in")
        let response = try await server.agree(browser, by: "first", as: ProviderServer.ada)
        let target = server.callback("first", response)
        for stranger in [other, Browser(server.production)] {
            expectRefusal(await stranger.get(target), 400, "another browser", stranger)
        }
        // The way that mixes two providers up.
        expectRefusal(await browser.get(server.callback("second", response)), 400, "has expired", browser)
        for change in [{ $0 + "A" }, { String($0.dropLast()) }, { "A" + $0.dropFirst() }, { _ in "" }]
            as [(String) -> String]
        {
            var changed = response
            changed["state"] = change(changed["state"] ?? "")
            expectRefusal(await browser.get(server.callback("first", changed)), 400, "has expired", browser)
        }
        #expect(try server.provider("first").count("/token") + server.provider("second").count("/token") == 0)
        // None of these used it up.
        server.production.advance(milliseconds: 10 * 60_000 - 1)
        let late = try await server.agree(browser, by: "first", as: ProviderServer.ada)
        #expect(await browser.get(target).status == 303)
        server.production.advance(milliseconds: 10 * 60_000)
        #expect(await browser.get(server.callback("first", late)).status == 400)
        await server.close()
    }

    @Test func `the issuer of an answer is compared, and needed where the provider announces it`() async throws {
        let server = try await ProviderServer(namesItself: true)
        for (name, change) in [
            ("first", ["iss": nil]), ("first", ["iss": ProviderServer.second]),
            ("first", ["iss": "\(ProviderServer.first)/"]),
            ("second", ["iss": ProviderServer.first]),
        ] as [(String, [String: String?])] {
            let browser = Browser(server.production)
            var response = try await server.agree(browser, by: name, as: ProviderServer.ada)
            for (key, value) in change { response[key] = value }
            expectRefusal(await browser.get(server.callback(name, response)), 403, "did not sign you in", browser)
            #expect(try server.provider(name).count("/token") == 0)
        }
        #expect(try await server.signIn(Browser(server.production), by: "first", as: ProviderServer.ada).status == 303)
        await server.close()
    }

    @Test func `a person who does not agree goes back to the sign-in`() async throws {
        let server = try await ProviderServer()
        let browser = Browser(server.production)
        var response = try await server.agree(browser, by: "first", as: ProviderServer.ada, for: "return=%2Flogin")
        response["code"] = nil
        response["error"] = "<b>access_denied"
        let refused = await browser.get(server.callback("first", response))
        expectRefusal(refused, 403, "href=\"/sign-in?return=%2Flogin\"", browser)
        #expect(!refused.text.contains("access_denied"))
        await server.close()
    }

    @Test func `no page elsewhere begins a sign-in, and no form of another page or browser`() async throws {
        let server = try await ProviderServer()
        let (browser, other) = (Browser(server.production), Browser(server.production))
        let (page, target) = (await browser.get("/sign-in"), "/account/providers/start/first")
        #expect(await browser.get("\(target)?return=%2Faccount").status == 405)
        for origin in [nil, "null", "https://evil.example.org"] {
            let status = await browser.post(target, from: page, "return=%2Faccount", origin: origin).status
            #expect(status == 403, "\(origin ?? "none")")
        }
        #expect(await browser.post(target, from: page, "return=%2Flogin").status == 403)
        #expect(await other.post(target, from: page, "return=%2Faccount").status == 403)
        #expect(await browser.post(target, from: page, "return=%2Faccount").status == 200)
        await server.close()
    }

    @Test func `unknown providers and targets elsewhere are refused`() async throws {
        let server = try await ProviderServer()
        let browser = Browser(server.production)
        for target in ["callback/none", "callback", "x/first"] {
            #expect(await browser.get("/account/providers/\(target)").status == 404, "\(target)")
        }
        let page = await browser.get("/sign-in")
        for target in ["start/none", "start", "start/first/x"] {
            let status = await browser.post("/account/providers/\(target)", from: page, "return=%2Faccount").status
            #expect(status == 404, "\(target)")
        }
        for purpose in ["return=https:%2F%2Fevil.example.org", "return=%2Fstatus", "request=x"] {
            let status = await server.start(browser, by: "first", for: purpose).status
            #expect(status == 400 || status == 401, "\(purpose)")
        }
        await server.close()
    }

    @Test func `failed answers of a network are counted, and those of persons are not`() async throws {
        let server = try await ProviderServer()
        let browser = Browser(server.production, client: [192, 0, 2, 7])
        var statuses: [Int] = []
        for _ in 1...5 {
            statuses.append(try await server.signIn(browser, by: "first", as: ProviderServer.ada).status)
        }
        // A provider that is away, and a person who does not agree, use nothing up.
        for _ in 1...31 {
            var response = try await server.agree(browser, by: "first", as: ProviderServer.ada)
            (response["code"], response["error"]) = (nil, "access_denied")
            #expect(await browser.get(server.callback("first", response)).status == 403)
        }
        try server.provider("first").lie = .failingToken
        for _ in 1...31 {
            #expect(try await server.signIn(browser, by: "first", as: ProviderServer.ada).status == 503)
        }
        try server.provider("first").lie = .noToken
        for _ in 1...31 {
            let stranger = Browser(server.production, client: [192, 0, 2, 7])
            statuses.append(try await server.signIn(stranger, by: "first", as: ProviderServer.ada).status)
        }
        #expect(
            statuses.prefix(5).allSatisfy { $0 == 303 } && statuses.dropFirst(5).prefix(30).allSatisfy { $0 == 403 })
        #expect(statuses.last == 429, "\(statuses)")
        await server.close()
    }

    @Test func `a browser that signed in by a provider before has an allowance of its own`() async throws {
        let server = try await ProviderServer()
        let network: [UInt8] = [192, 0, 2, 7]
        let (first, second) = (Browser(server.production, client: network), Browser(server.production, client: network))
        for browser in [first, second] {
            #expect(try await server.signIn(browser, by: "first", as: ProviderServer.ada).status == 303)
        }
        try server.provider("first").lie = .noToken
        for _ in 1...30 {
            let stranger = Browser(server.production, client: network)
            #expect(try await server.signIn(stranger, by: "first", as: ProviderServer.bob).status == 403)
        }
        for status in [403, 403, 403, 403, 403, 429] {
            #expect(try await server.signIn(first, by: "first", as: ProviderServer.ada).status == status)
        }
        try server.provider("first").lie = nil
        let stranger = Browser(server.production, client: network)
        #expect(try await server.signIn(stranger, by: "first", as: ProviderServer.bob).status == 429)
        #expect(try await server.signIn(second, by: "first", as: ProviderServer.ada).status == 303)
        let elsewhere = Browser(server.production, client: [192, 0, 2, 8])
        #expect(try await server.signIn(elsewhere, by: "first", as: ProviderServer.bob).status == 303)
        await server.close()
    }

    // MARK: Apps

    @Test func `an app gets its session, at its callback or in its window`() async throws {
        let server = try await ProviderServer()
        let callback = "https://app.example.org/signed-in"
        for target in [callback, nil] {
            let token = try await server.installation.createAPIToken(
                container: ProductionServer.container, environment: .development, name: "",
                origins: [ProductionServer.page], allowsSignIn: true, callback: target, lifetime: nil, by: Self.root
            ).token
            let asked = await server.production.responder.respond(
                to: HTTPRequest(
                    method: .get,
                    target:
                        "/database/1/\(ProductionServer.container)/development/public/users/current?ckAPIToken=\(token)",
                    host: "cloud.example.org", origin: ProductionServer.page))
            let url = try #require(try ErrorDictionary(decoding: asked.body).redirectURL)
            let request = try #require(url.split(separator: "?").last)
            let browser = Browser(server.production)
            let form = await browser.get("/sign-in?\(request)")
            #expect(form.text.contains("action=\"/account/providers/start/first\""))
            let done = try await server.signIn(
                browser, by: "first", as: ProviderServer.ada, for: "\(request)&keep=on")
            let text = done.headers.first { $0.name == "Location" }?.value ?? done.text
            let session = try #require(text.firstMatch(of: /ckWebAuthToken(?:=|: ")([\w-]+)/), "\(text)").1
            #expect(text.hasPrefix(callback) == (target != nil))
            let caller = try await server.installation.caller(
                container: ProductionServer.container, environment: .development, apiToken: token,
                token: String(session), origin: nil)
            #expect(caller.address == "ada@example.org")
            #expect(browser.cookie("session") != nil)
            // The app's window may be lost: the browser goes on without the provider.
            #expect(await browser.get("/sign-in?\(request)").text.contains("Continue as ada@example.org"))
        }
        let sessions = try await server.installation.sessionSummaries(ofAccountNamed: "ada@example.org")
        #expect(sessions.filter { $0.container != nil }.allSatisfy { $0.expiresAt - $0.signedInAt > 86_400_000 })
        await server.close()
    }
}

extension Sequence {
    fileprivate func asyncMap<T>(_ transform: (Element) async throws -> T) async rethrows -> [T] {
        var result: [T] = []
        for element in self { result.append(try await transform(element)) }
        return result
    }
}
