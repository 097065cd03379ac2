import Foundation
import NephosService
import NephosWire
import Testing

@testable import NephosServer

/// The pages of a production server, as browsers see them.
@Suite struct PageTests {
    private static let password = "password=" + ProductionServer.password.replacing(" ", with: "+")

    private func apiToken(_ server: ProductionServer, origins: [String] = [], callback: String? = nil) async throws
        -> String
    {
        try await server.installation.createAPIToken(
            container: ProductionServer.container, environment: .development, name: "", origins: origins,
            allowsSignIn: true, callback: callback, lifetime: nil, by: AuditActor(name: "user 0")
        ).token
    }

    /// The path of the `redirectURL` that an app gets.
    private func redirect(_ server: ProductionServer, _ apiToken: String, origin: String?) async throws -> String {
        let request = HTTPRequest(
            method: .get,
            target: "/database/1/\(ProductionServer.container)/development/public/users/current?ckAPIToken=\(apiToken)",
            host: "cloud.example.org", origin: origin)
        let answer = await server.responder.respond(to: request)
        let url = try #require(try ErrorDictionary(decoding: answer.body).redirectURL)
        #expect(url.hasPrefix(ProductionServer.url + "/sign-in?request="))
        return String(url.dropFirst(ProductionServer.url.count))
    }

    @Test func `an API token that is for reading alone is given no address of a sign-in`() async throws {
        let server = try await ProductionServer()
        let reading = try await server.installation.createAPIToken(
            container: ProductionServer.container, environment: .development, name: "", origins: [],
            allowsSignIn: false,
            callback: nil, lifetime: nil, by: AuditActor(name: "user 0")
        ).token
        for (token, hasAddress) in [(reading, false), (try await apiToken(server), true)] {
            let answer = await server.responder.respond(
                to: HTTPRequest(
                    method: .get,
                    target:
                        "/database/1/\(ProductionServer.container)/development/public/users/caller?ckAPIToken=\(token)",
                    host: "cloud.example.org"))
            let error = try ErrorDictionary(decoding: answer.body)
            #expect(answer.status == 421 && error.serverErrorCode == .authenticationRequired)
            #expect((error.redirectURL != nil) == hasAddress)
        }
        await server.close()
    }

    /// Whether a web auth token is that of the account.
    private func expectSession(_ token: String, _ account: String, _ apiToken: String, _ server: ProductionServer)
        async throws
    {
        let caller = try await server.installation.caller(
            container: ProductionServer.container, environment: .development, apiToken: apiToken, token: token,
            origin: nil)
        #expect(caller.address == account)
    }

    @Test func `a sign-in passes the token to the app's window alone, and the browser goes on without the password`()
        async throws
    {
        let server = try await ProductionServer()
        let token = try await apiToken(server, origins: [ProductionServer.page])
        let browser = Browser(server)
        let first = try await redirect(server, token, origin: ProductionServer.page)
        let form = await browser.get(first)
        #expect(form.status == 200 && form.text.contains("name=\"password\""))
        let done = await browser.post(first, from: form, "account=lovelace&\(Self.password)&keep=on")
        #expect(done.text.contains("postMessage(") && done.text.contains("\"\(ProductionServer.page)\")"))
        #expect(!done.text.contains("\"*\""))
        let sent = try #require(done.text.firstMatch(of: /ckWebAuthToken: "([^"]+)"/)).1
        let (device, session) = (try #require(browser.cookie("device")), try #require(browser.cookie("session")))
        #expect(device != session && sent != session[...])
        // The browser's session is none of a container, and none of the administration.
        for target in [
            "/installation/accounts/list",
            "/database/1/\(ProductionServer.container)/development/private/users/current",
        ] {
            var request = HTTPRequest(
                method: .post,
                target: target.hasPrefix("/inst") ? "/nephos/1\(target)" : "\(target)?ckAPIToken=\(token)",
                host: "cloud.example.org", body: Array("{}".utf8))
            request.authorization = "Bearer \(session)"
            request.origin = target.hasPrefix("/inst") ? nil : ProductionServer.page
            #expect(await server.responder.respond(to: request).status == 421, "\(target)")
        }
        let second = try await redirect(server, token, origin: ProductionServer.page)
        let offer = await browser.get(second)
        #expect(offer.text.contains("Continue as lovelace") && !offer.text.contains("name=\"password\""))
        let continued = await browser.post(second, from: offer, "action=continue")
        let next = try #require(continued.text.firstMatch(of: /ckWebAuthToken: "([^"]+)"/)).1
        #expect(next != sent)
        // Another account of the same browser replaces the first.
        let other = await browser.get(second + "&other=1")
        _ = await browser.post(second + "&other=1", from: other, "account=bob&\(Self.password)")
        #expect(browser.cookie("session") != session)
        #expect(await browser.get(second).text.contains("Continue as bob"))
        await server.close()
    }

    @Test func `apps stay signed in when their account signs in once more, and not when another one does`() async throws
    {
        let server = try await ProductionServer()
        let token = try await apiToken(server, origins: [ProductionServer.page])
        let browser = Browser(server)
        let address = try await redirect(server, token, origin: ProductionServer.page)
        _ = await browser.post(address, from: await browser.get(address), "account=lovelace&\(Self.password)")
        let offer = await browser.get(address)
        let continued = await browser.post(address, from: offer, "action=continue")
        let app = String(try #require(continued.text.firstMatch(of: /ckWebAuthToken: "([^"]+)"/)).1)
        for account in ["lovelace", "lovelace", "bob"] {
            try await expectSession(app, "lovelace", token, server)
            let former = try #require(browser.cookie("session"))
            let form = await browser.get("\(address)&other=1")
            _ = await browser.post("\(address)&other=1", from: form, "account=\(account)&\(Self.password)")
            #expect(try await server.installation.browserSession(former) == nil)
        }
        await #expect(throws: ServiceError.self) {
            _ = try await server.installation.caller(
                container: ProductionServer.container, environment: .development, apiToken: token, token: app,
                origin: ProductionServer.page)
        }
        await server.close()
    }

    @Test func `a sign-in ends at the token's callback, and nowhere else`() async throws {
        let server = try await ProductionServer()
        let callback = "https://app.example.org/signed-in?from=nephos"
        let token = try await apiToken(server, callback: callback)
        let browser = Browser(server)
        let address = try await redirect(server, token, origin: nil)
        let form = await browser.get(address)
        let policy = try #require(form.headers.first { $0.name == "Content-Security-Policy" }?.value)
        #expect(
            policy.contains("form-action 'self' https://app.example.org;") && policy.contains("frame-ancestors 'none'"))
        let done = await browser.post(address, from: form, "account=lovelace&\(Self.password)")
        let location = try #require(done.headers.first { $0.name == "Location" }?.value)
        #expect(done.status == 303)
        let match = try #require(
            location.wholeMatch(
                of:
                    /https:\/\/app.example.org\/signed-in\?from=nephos&ckWebAuthToken=(\S+)&ckSession=([^&]+)&ckNonce=\w{64}#/
            ))
        #expect(match.1 == match.2)
        try await expectSession(String(match.1), "lovelace", token, server)
        await server.close()
    }

    @Test func `a form counts from this server's page, in the browser that opened it`() async throws {
        let server = try await ProductionServer()
        let token = try await apiToken(server, origins: [ProductionServer.page])
        let (browser, other) = (Browser(server), Browser(server))
        let address = try await redirect(server, token, origin: ProductionServer.page)
        let another = try await redirect(server, try await apiToken(server), origin: nil)
        let (form, otherForm) = (await browser.get(address), await other.get(address))
        let fields = "account=lovelace&\(Self.password)"
        for origin in ["https://evil.example.org", "null", nil] {
            #expect(
                await browser.post(address, from: form, fields, origin: origin).status == 403, "\(origin ?? "none")")
        }
        let refused = await browser.post(address, from: otherForm, fields)
        #expect(refused.status == 403 && refused.text.contains("<h1>Refused</h1><p>the form is not this browser"))
        #expect(await Browser(server).post(address, from: form, fields).status == 403)
        #expect(await browser.post(another, from: form, fields).status == 403)
        #expect(browser.cookie("session") == nil)
        #expect(await browser.post(address, from: form, fields).status == 200)
        await server.close()
    }

    @Test func `the address of a sign-in expires, and is the server's own`() async throws {
        let server = try await ProductionServer()
        let token = try await apiToken(server, origins: [ProductionServer.page])
        let address = try await redirect(server, token, origin: ProductionServer.page)
        let browser = Browser(server)
        let form = await browser.get(address)
        for target in [
            address.replacing("&nonce=", with: "x&nonce="), "/sign-in?request=x", "/sign-in?request=",
            "/sign-in?return=//evil.example.org",
            "/sign-in?return=https://evil.example.org", "/sign-in?return=/share/..%2Fstatus", "/sign-in?return=/status",
            "/sign-in?return=/account%0d%0aX:1",
        ] where target != "/sign-in?request=" {
            let status = await browser.get(target).status
            #expect(status == 401 || status == 400, "\(target)")
        }
        server.advance(milliseconds: 20 * 60_000)
        #expect(await browser.get(address).status == 401)
        #expect(await browser.post(address, from: form, "account=lovelace&\(Self.password)").status == 401)
        await server.close()
    }

    @Test func `the page of an API token that is read-only or revoked says so, without a form`() async throws {
        let server = try await ProductionServer()
        let root = AuditActor(name: "user 0")
        let readOnly = try await server.installation.createAPIToken(
            container: ProductionServer.container, environment: .development, name: "", origins: [],
            allowsSignIn: false, lifetime: nil, by: root
        ).token
        let revoked = try await apiToken(server, origins: [])
        let address = try await redirect(server, revoked, origin: nil)
        try await server.installation.revokeAPIToken(revoked, by: root)
        let readingQuery = try #require(server.installation.signInQuery(apiToken: readOnly, origin: nil))
        for (address, reason) in [
            ("/sign-in?\(readingQuery)", "the API token allows no sign-in"),
            (address, "ckAPIToken is missing or not valid"),
        ] {
            let browser = Browser(server)
            let page = await browser.get(address)
            #expect(page.status == 401 && page.text.contains("<!DOCTYPE html>"), "\(page.text)")
            #expect(page.text.contains(reason) && !page.text.contains("<form"), "\(page.text)")
        }
        await server.close()
    }

    @Test func `a wrong password is told without what was typed`() async throws {
        let server = try await ProductionServer()
        let browser = Browser(server)
        let form = await browser.get("/sign-in")
        for account in ["lovelace", "%3Cb%3E"] {
            let wrong = await browser.post("/sign-in", from: form, "account=\(account)&password=x")
            #expect(wrong.status == 403 && wrong.text.contains("role=\"alert\"") && !wrong.text.contains("<b>"))
        }
        #expect(browser.cookie("session") == nil)
        await server.close()
    }

    @Test func `an account ends its sessions and changes its password`() async throws {
        let server = try await ProductionServer()
        let (browser, phone) = (Browser(server), Browser(server))
        let first = await browser.get("/account")
        #expect(first.status == 303 && first.headers.contains(HTTPHeader("Location", "/sign-in?return=%2Faccount#")))
        for device in [browser, phone] {
            let form = await device.get("/sign-in?return=/account")
            let done = await device.post("/sign-in?return=/account", from: form, "account=bob&\(Self.password)")
            #expect(done.headers.contains(HTTPHeader("Location", "/account#")))
        }
        let page = await browser.get("/account")
        #expect(page.text.contains("<h1>bob</h1>") && page.text.contains("\(ProductionServer.container), development"))
        let row = try #require(
            page.text.firstMatch(
                of:
                    /These pages \(<bdi>browser<\/bdi>\)[^<]*<form[^<]*<input[^<]*<input[^<]*<input type="hidden" name="session" value="([0-9a-f]+)"/
            ))
        // A form of the sign-in is none of the account.
        let signIn = await browser.get("/sign-in?other=1")
        #expect(await browser.post("/account", from: signIn, "action=end-all").status == 403)
        #expect(await browser.post("/account", from: page, "action=end&session=\(row.1)").status == 303)
        #expect(await phone.get("/account").status == 303)
        #expect(await browser.get("/account").status == 200)
        #expect(
            await browser.post("/account", from: page, "action=password&password=wrong&new=a+new+and+long+one").status
                == 403)
        #expect(await browser.post("/account", from: page, "action=password&\(Self.password)&new=short").status == 400)
        #expect(
            await browser.post("/account", from: page, "action=password&\(Self.password)&new=a+new+and+long+one").status
                == 303)
        #expect(browser.cookie("session") == nil)
        let again = await browser.get("/sign-in")
        #expect(await browser.post("/sign-in", from: again, "account=bob&\(Self.password)").status == 403)
        #expect(await browser.post("/sign-in", from: again, "account=bob&password=a+new+and+long+one").status == 303)
        // Sessions of others go on.
        let route = try #require(Routes.table.first { $0.path == "users/current" })
        #expect(await server.send(route, as: .session).status == 200)
        #expect(await server.send(route, as: .otherAccount).status == 421)
        await server.close()
    }

    private struct Begun: Decodable {
        var secret: String
        var code: String
    }

    private func begin(_ server: ProductionServer, _ apiToken: String, label: String = "laptop") async throws -> Begun {
        let request = HTTPRequest(
            method: .post, target: "/nephos/1/installation/logins/begin?ckAPIToken=\(apiToken)",
            host: "cloud.example.org", body: Array("{\"label\":\"\(label)\"}".utf8))
        return try JSONDecoder().decode(Begun.self, from: Data(await server.responder.respond(to: request).body))
    }

    private func poll(_ server: ProductionServer, _ secret: String) async -> HTTPResponse {
        await server.responder.respond(
            to: HTTPRequest(
                method: .post, target: "/nephos/1/installation/logins/poll", host: "cloud.example.org",
                body: Array("{\"secret\":\"\(secret)\"}".utf8)))
    }

    private func signedIn(_ account: String, _ server: ProductionServer) async -> Browser {
        let browser = Browser(server)
        let form = await browser.get("/sign-in?return=/login")
        let done = await browser.post("/sign-in?return=/login", from: form, "account=\(account)&\(Self.password)")
        #expect(done.headers.contains(HTTPHeader("Location", "/login#")))
        return browser
    }

    @Test func `a program is signed in by the account that approves its code, once`() async throws {
        let server = try await ProductionServer()
        let token = try await apiToken(server)
        let (first, second) = (try await begin(server, token, label: "<b>"), try await begin(server, token))
        let (ada, bob) = (await signedIn("lovelace", server), await signedIn("bob", server))
        #expect(await poll(server, first.secret).text.contains("\"status\":\"pending\""))
        let form = await ada.get("/login")
        let asked = await ada.post("/login", from: form, "code=\(first.code.lowercased().replacing("-", with: "+"))")
        #expect(asked.text.contains("&lt;b&gt;") && asked.text.contains(ProductionServer.container))
        #expect(await ada.post("/login", from: asked, "code=\(first.code)&action=approve").status == 200)
        // A code is used once, by whomever.
        let other = await bob.get("/login")
        #expect(await bob.post("/login", from: other, "code=\(first.code)&action=approve").status == 400)
        #expect(await bob.post("/login", from: other, "code=\(second.code)&action=deny").status == 200)
        #expect(await poll(server, second.secret).text.contains("\"denied\""))
        let answer = await poll(server, first.secret).text
        #expect(answer.contains("\"account\":\"lovelace\"") && answer.contains(ProductionServer.container))
        let session = try #require(answer.firstMatch(of: /"ckWebAuthToken":"([^"]+)"/)).1
        try await expectSession(String(session), "lovelace", token, server)
        #expect(await poll(server, first.secret).status == 401)
        await server.close()
    }

    @Test func `codes expire, and guesses of them are slowed down`() async throws {
        let server = try await ProductionServer()
        let token = try await apiToken(server)
        let begun = try await begin(server, token)
        let browser = await signedIn("bob", server)
        let form = await browser.get("/login")
        #expect(await browser.post("/login", from: form, "code=nothing").status == 400)
        server.advance(milliseconds: 15 * 60_000)
        #expect(await browser.post("/login", from: form, "code=\(begun.code)&action=approve").status == 400)
        #expect(await poll(server, begun.secret).status == 401)
        for _ in 0..<8 { _ = await browser.post("/login", from: form, "code=BBBB-BBBB") }
        let next = try await begin(server, token)
        #expect(await browser.post("/login", from: form, "code=\(next.code)&action=approve").status == 429)
        server.advance(milliseconds: 60_000)
        #expect(await browser.post("/login", from: form, "code=\(next.code)&action=approve").status == 200)
        await server.close()
    }

    @Test func `a form is none once another account signed in to the browser`() async throws {
        let server = try await ProductionServer()
        let token = try await apiToken(server, origins: [ProductionServer.page])
        let browser = await signedIn("lovelace", server)
        let address = try await redirect(server, token, origin: ProductionServer.page)
        let (offer, account) = (await browser.get(address), await browser.get("/account"))
        let session = try #require(browser.cookie("session"))
        let form = await browser.get("/sign-in?other=1")
        _ = await browser.post("/sign-in?other=1", from: form, "account=bob&\(Self.password)")
        #expect(await browser.post(address, from: offer, "action=continue").status == 403)
        #expect(await browser.post("/account", from: account, "action=end-all").status == 403)
        // The former session of the browser is over.
        #expect(try await server.installation.browserSession(session) == nil)
        #expect(await browser.get("/account").text.contains("bob"))
        await server.close()
    }

    @Test func `a login's label is cut by bytes`() async throws {
        let server = try await ProductionServer()
        let begun = try await begin(
            server, try await apiToken(server), label: "e" + String(repeating: "\u{301}", count: 3000))
        let browser = await signedIn("bob", server)
        let form = await browser.get("/login")
        #expect(await browser.post("/login", from: form, "code=\(begun.code)").body.count < 4000)
        await server.close()
    }

    @Test func `a login to the administration needs a recent sign-in of the browser`() async throws {
        let server = try await ProductionServer()
        let browser = await signedIn("administrator", server)
        let form = await browser.get("/login")
        func approve() async throws -> Int {
            let begun = try await server.installation.beginLogin(apiToken: nil, label: "", address: [])
            return await browser.post("/login", from: form, "code=\(begun.code)&action=approve").status
        }
        #expect(try await approve() == 200)
        server.advance(milliseconds: 16 * 60_000)
        #expect(try await approve() == 400)
        await server.close()
    }

    @Test func `a session that another one began continues its sign-in`() async throws {
        let server = try await ProductionServer()
        let token = try await apiToken(server)
        let start = server.now
        var session = try await server.installation.signIn(
            SignIn(name: "bob", password: ProductionServer.password, apiToken: token, keepsSignedIn: true)
        ).token
        for _ in 0..<2 {
            server.advance(milliseconds: 60_000)
            var request = HTTPRequest(
                method: .post,
                target:
                    "/database/1/\(ProductionServer.container)/development/public/users/webAuthToken?ckAPIToken=\(token)",
                host: "cloud.example.org", body: Array("{\"apiToken\":\"\(token)\"}".utf8))
            request.authorization = "Bearer \(session)"
            let answer = await server.responder.respond(to: request).text
            session = String(try #require(answer.firstMatch(of: /"webAuthToken":"([^"]+)"/), "\(answer)").1)
        }
        let stored = try await server.installation.sessionSummaries(ofAccountNamed: "bob")
        #expect(stored.filter { $0.label == "app" }.map(\.signedInAt) == [start, start])
        await server.close()
    }

    @Test func `a login that was approved ends with the sessions of its account`() async throws {
        let server = try await ProductionServer()
        let token = try await apiToken(server)
        let begun = try await begin(server, token)
        let browser = await signedIn("bob", server)
        let form = await browser.get("/login")
        #expect(await browser.post("/login", from: form, "code=\(begun.code)&action=approve").status == 200)
        try await server.installation.setPassword(
            "another line that is long", ofAccountNamed: "bob", by: AuditActor(name: "user 0"))
        #expect(await poll(server, begun.secret).status == 401)
        await server.close()
    }

    @Test func `a login is no web page's, and needs an API token that allows sign-in`() async throws {
        let server = try await ProductionServer()
        let reading = try await server.installation.createAPIToken(
            container: ProductionServer.container, environment: .development, name: "", origins: [],
            allowsSignIn: false, lifetime: nil, by: AuditActor(name: "user 0")
        ).token
        func begin(_ query: String, _ body: String, origin: String? = nil) async -> Int {
            await server.responder.respond(
                to: HTTPRequest(
                    method: .post, target: "/nephos/1/installation/logins/begin\(query)", host: "cloud.example.org",
                    origin: origin, body: Array(body.utf8))
            ).status
        }
        #expect(await begin("", "{}") == 400)
        #expect(await begin("", #"{"administration":true}"#) == 200)
        #expect(await begin("", #"{"administration":true}"#, origin: ProductionServer.page) == 403)
        #expect(await begin("?ckAPIToken=\(reading)", "{}") == 401)
        #expect(await begin("?ckAPIToken=\(String(repeating: "a", count: 64))", "{}") == 401)
        #expect(await poll(server, "x").status == 401)
        await server.close()
    }

    @Test func `a share is accepted on its page by who signed in`() async throws {
        let server = try await ProductionServer()
        let token = try await apiToken(server)
        func session(_ account: String) async throws -> String {
            try await server.installation.signIn(
                SignIn(name: account, password: ProductionServer.password, apiToken: token)
            ).token
        }
        func call(_ path: String, _ session: String, _ body: String) async -> HTTPResponse {
            var request = HTTPRequest(
                method: .post,
                target: "/database/1/\(ProductionServer.container)/development/\(path)?ckAPIToken=\(token)",
                host: "cloud.example.org", body: Array(body.utf8))
            request.authorization = "Bearer \(session)"
            return await server.responder.respond(to: request)
        }
        try await server.installation.grant(
            .developer, toAccountNamed: "lovelace", container: ProductionServer.container,
            by: AuditActor(name: "user 0"))
        let (owner, guest) = (try await session("lovelace"), try await session("bob"))
        _ = await call(
            "private/zones/modify", owner,
            #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"z"}}}]}"#)
        let saved = await call(
            "private/records/modify", owner,
            """
            {"zoneID":{"zoneName":"z"},"operations":[
            {"operationType":"create","record":{"recordName":"root","recordType":"Note"}},
            {"operationType":"create","record":{"recordName":"share","recordType":"cloudkit.share",
            "forRecord":{"recordName":"root"},"publicPermission":"READ_WRITE",
            "fields":{"cloudkit.title":{"value":"<i>Trip</i>"}}}}]}
            """)
        let guid = try #require(saved.text.firstMatch(of: /"shortGUID":"([^"]+)"/), "\(saved.text)").1
        let browser = Browser(server)
        let stranger = await browser.get("/share/\(guid)")
        let unknown = await browser.get("/share/\(String(guid.reversed()))")
        // Who is not signed in learns nothing.
        #expect(
            stranger.status == 200
                && stranger.text.replacing(guid, with: "") == unknown.text.replacing(String(guid.reversed()), with: ""))
        let address = "/sign-in?return=%2Fshare%2F\(guid)"
        #expect(stranger.text.contains("href=\"\(address)\""))
        let form = await browser.get(address)
        let done = await browser.post(address, from: form, "account=bob&\(Self.password)")
        #expect(done.headers.contains(HTTPHeader("Location", "/share/\(guid)#")))
        let page = await browser.get("/share/\(guid)")
        #expect(page.text.contains("&lt;i&gt;Trip") && page.text.contains("Accept"))
        let before = await call("shared/zones/list", guest, "{}")
        #expect(!before.text.contains("\"zoneName\""))
        #expect(await browser.post("/share/\(guid)", from: page, "", origin: "https://evil.example.org").status == 403)
        #expect(await Browser(server).post("/share/\(guid)", from: page, "").text.contains("Sign in"))
        let accepted = await browser.post("/share/\(guid)", from: page, "")
        #expect(accepted.status == 200 && accepted.text.contains("Accepted"), "\(accepted.text)")
        #expect(await call("shared/zones/list", guest, "{}").text.contains("\"zoneName\":\"z\""))
        #expect(await browser.get("/share/\(String(guid.reversed()))").status == 404)
        await server.close()
    }
}
