import NephosService
import NephosWire
import Testing

@testable import NephosServer

/// Program tokens on the page of an account, and requests with them.
@Suite struct ProgramTokenPageTests {
    private static let password = "password=" + ProductionServer.password.replacing(" ", with: "+")
    private static let place = "place=\(ProductionServer.container)+development"

    private func signedIn(_ name: String, _ server: ProductionServer) async -> Browser {
        let browser = Browser(server)
        let form = await browser.get("/sign-in")
        _ = await browser.post("/sign-in", from: form, "account=\(name)&\(Self.password)")
        return browser
    }

    private func send(
        _ server: ProductionServer, _ action: String, _ body: String = "{}", database: String = "private",
        token: String,
        origin: String? = nil
    ) async -> HTTPResponse {
        var request = HTTPRequest(
            method: .post, target: "/database/1/\(ProductionServer.container)/development/\(database)/\(action)",
            host: "cloud.example.org", origin: origin, body: Array(body.utf8))
        request.authorization = "Bearer \(token)"
        return await server.responder.respond(to: request)
    }

    private func make(_ browser: Browser, _ fields: String) async throws -> String {
        let made = await browser.post(
            "/account", from: await browser.get("/account"), "action=make-program&\(Self.place)&\(fields)")
        #expect(made.status == 200, "\(made.text)")
        #expect(made.headers.contains { $0.name == "Cache-Control" && $0.value == "no-store" })
        return String(try #require(made.text.firstMatch(of: /nephos_program_[A-Za-z0-9_-]{66}/)).0)
    }

    @Test func `a person makes tokens that are shown once, and revokes them one by one`() async throws {
        let server = try await ProductionServer()
        let (ada, bob) = (await signedIn("lovelace", server), await signedIn("bob", server))
        let reads = try await make(ada, "name=%3Cb%3Ereport&database=private&access=read&days=1")
        let writes = try await make(ada, "name=import&database=private&database=public&access=write&days=365")
        let page = await ada.get("/account")
        #expect(
            page.text.contains("&lt;b&gt;report</bdi>: reads private of \(ProductionServer.container), development"))
        #expect(page.text.contains("import</bdi>: reads and writes private, public"))
        #expect(!page.text.contains(reads) && !page.text.contains(writes))
        #expect(await send(server, "zones/list", token: reads).status == 200)
        let save = #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"notes"}}}]}"#
        let refused = await send(server, "zones/modify", save, token: reads)
        #expect(refused.status == 403)
        #expect(try ErrorDictionary(decoding: refused.body).serverErrorCode == .accessDenied)
        #expect(await send(server, "zones/modify", save, token: writes).status == 200)
        #expect(await send(server, "zones/list", database: "shared", token: writes).status == 403)
        #expect(await send(server, "zones/list", token: writes, origin: ProductionServer.page).status == 401)
        let id = try #require(
            try await server.installation.programTokenSummaries(ofAccountNamed: "lovelace").first {
                $0.name.hasSuffix("report")
            }?.id)
        // Another's token is unknown.
        let other = await bob.post("/account", from: await bob.get("/account"), "action=revoke-program&program=\(id)")
        #expect(other.status == 400)
        _ = await ada.post("/account", from: await ada.get("/account"), "action=revoke-program&program=\(id)")
        #expect(await send(server, "zones/list", token: reads).status == 421)
        #expect(await send(server, "zones/list", token: writes).status == 200)
        await server.close()
    }

    @Test(arguments: [false, true])
    func `ending all sessions revokes program tokens only if that is ticked`(isTicked: Bool) async throws {
        let server = try await ProductionServer()
        let browser = await signedIn("lovelace", server)
        let token = try await make(browser, "name=import&database=private&access=read&days=90")
        let page = await browser.get("/account")
        _ = await browser.post("/account", from: page, "action=end-all\(isTicked ? "&programs=yes" : "")")
        #expect(await send(server, "zones/list", token: token).status == (isTicked ? 421 : 200))
        await server.close()
    }

    @Test func `a form that makes no token says why`() async throws {
        let server = try await ProductionServer()
        let browser = await signedIn("lovelace", server)
        let page = await browser.get("/account")
        for (fields, reason) in [
            ("\(Self.place)&name=a&database=private&days=366", "365 days"),
            ("name=a&database=private&days=9", "containers"),
            ("\(Self.place)&name=a&days=9", "databases"), ("\(Self.place)&database=private&days=9", "has a name"),
            ("place=iCloud.none+production&name=a&database=private&days=9", "signed in to"),
        ] {
            let answer = await browser.post("/account", from: page, "action=make-program&\(fields)")
            #expect(answer.status == 400 && answer.text.contains(reason), "\(fields): \(answer.text)")
        }
        server.advance(milliseconds: 16 * 60_000)
        let late = await browser.post(
            "/account", from: page, "action=make-program&\(Self.place)&name=a&database=private&days=9")
        #expect(late.status == 400 && late.text.contains("sign in again"))
        #expect(try await server.installation.programTokenSummaries(ofAccountNamed: "lovelace").count == 3)
        // An account that is signed in to no app has nothing to choose.
        let viewer = await signedIn("viewer", server)
        #expect(await viewer.get("/account").text.contains("Sign in to an app first"))
        await server.close()
    }
}
