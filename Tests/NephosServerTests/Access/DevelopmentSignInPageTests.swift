import Foundation
import NephosSQLite
import NephosService
import NephosWire
import Testing

@testable import NephosServer

/// The account chooser of `nephos dev`, to which apps of CloudKit JS lead.
@Suite struct DevelopmentSignInPageTests {
    private static let host = "127.0.0.1:8484"
    private static let app = "http://localhost:3000"
    private static let container = "iCloud.org.example.App"

    private func withServer(_ body: (Responder) async throws -> Void) async throws {
        let service = NephosService(stores: MemoryStores())
        try await body(Responder(service))
        await service.close()
    }

    private func get(_ responder: Responder, _ target: String, origin: String? = nil) async -> HTTPResponse {
        var request = HTTPRequest(method: .get, target: target, host: Self.host, origin: origin)
        if origin == nil { (request.fetchSite, request.fetchMode) = ("cross-site", "navigate") }
        return await responder.respond(to: request)
    }

    private func choose(
        _ responder: Responder, _ target: String, _ account: String, from origin: String? = "http://\(host)"
    ) async -> HTTPResponse {
        let body = Array("account=\(PercentEncoding.escaped(account))".utf8)
        return await responder.respond(
            to: HTTPRequest(method: .post, target: target, host: Self.host, origin: origin, body: body))
    }

    private func target(_ origin: String, _ more: String = "") -> String {
        "/sign-in?origin=\(PercentEncoding.escaped(origin))\(more)"
    }

    private func text(_ response: HTTPResponse) -> String { String(decoding: response.body, as: UTF8.self) }

    @Test func `an app's page gets the address of the chooser, and a program that of the text`() async throws {
        try await withServer { responder in
            let current = "/database/1/\(Self.container)/development/public/users/caller"
            let refused = await get(responder, current, origin: Self.app)
            let url = try #require(try ErrorDictionary(decoding: refused.body).redirectURL)
            let stem =
                "http://\(Self.host)/sign-in?origin=http%3A%2F%2Flocalhost%3A3000"
                + "&container=\(Self.container)&environment=development&nonce="
            #expect(url.hasPrefix(stem) && url.count == stem.count + 64, "\(url)")
            let again = await get(responder, current, origin: Self.app)
            #expect(try ErrorDictionary(decoding: again.body).redirectURL != url)
            let program = await responder.respond(to: HTTPRequest(method: .get, target: current, host: Self.host))
            #expect(try ErrorDictionary(decoding: program.body).redirectURL == "http://\(Self.host)/sign-in")
        }
    }

    @Test func `the chooser offers the container's accounts, and looking makes none`() async throws {
        try await withServer { responder in
            let page = target(Self.app, "&container=\(Self.container)&environment=development")
            #expect(!text(await get(responder, page)).contains("<li>"))
            for name in ["mei", "<b>tom</b>"] {
                let token = PercentEncoding.escaped("dev:" + name)
                let path = "/database/1/\(Self.container)/development/private/zones/list?ckWebAuthToken=\(token)"
                #expect(await get(responder, path, origin: Self.app).status == 200)
            }
            let shown = text(await get(responder, page))
            #expect(shown.contains("value=\"mei\"") && shown.contains("&lt;b&gt;tom") && !shown.contains("<b>tom"))
            #expect(!text(await get(responder, target(Self.app, "&container=iCloud.other"))).contains("<li>"))
        }
    }

    @Test func `the token goes to the origin that is shown alone`() async throws {
        try await withServer { responder in
            let response = await choose(responder, target(Self.app), "o'hara \"</script>")
            #expect(response.status == 200)
            #expect(
                text(response).contains("postMessage({ckWebAuthToken: \"dev:o\\u0027hara\\u0020\\u0022\\u003c/script"))
            #expect(text(response).contains("}, \"\(Self.app)\")"))
            for name in ["", "a\nb", String(repeating: "x", count: 256)] {
                #expect(await choose(responder, target(Self.app), name).status == 400, "\(name)")
            }
        }
    }

    @Test func `a page elsewhere gets nothing`() async throws {
        try await withServer { responder in
            for origin in [
                "https://evil.example", "null", "http://localhost.evil.example", "http://127.0.0.1@evil.example",
                "javascript://localhost", "",
            ] {
                let page = await get(responder, target(origin))
                #expect(page.status == 403 || !text(page).contains("<form"), "\(origin)")
                let chosen = await choose(responder, target(origin), "mei")
                #expect(chosen.status == 403 || !text(chosen).contains("dev:mei"), "\(origin)")
            }
            // No page sends the form but the server's own.
            for origin in [nil, Self.app, "https://evil.example"] {
                #expect(await choose(responder, target(Self.app), "mei", from: origin).status == 403)
            }
            var framed = HTTPRequest(method: .get, target: target(Self.app), host: Self.host)
            (framed.fetchSite, framed.fetchMode) = ("cross-site", "no-cors")
            #expect(await responder.respond(to: framed).status == 403)
        }
    }

    @Test func `a callback is an address of the origin`() async throws {
        try await withServer { responder in
            func location(_ callback: String, _ more: String = "") async -> (Int, String?) {
                let page = target(Self.app, "&callback=\(PercentEncoding.escaped(callback))\(more)")
                let response = await choose(responder, page, "mei")
                return (response.status, response.headers.first { $0.name == "Location" }?.value)
            }
            let token = "ckWebAuthToken=dev%3Amei&ckSession=dev%3Amei"
            #expect(await location(Self.app + "/a") == (303, "\(Self.app)/a?\(token)"))
            #expect(await location(Self.app + "/a?b=c") == (303, "\(Self.app)/a?b=c&\(token)"))
            let nonce = await location(Self.app + "/a", "&nonce=0f%0d%0a%26")
            #expect(nonce == (303, "\(Self.app)/a?\(token)&ckNonce=0f%0D%0A%26"))
            for other in ["https://evil.example", Self.app + ".evil.example/", Self.app + "0/", Self.app + "/#a", "/a"]
            {
                #expect(await location(other) == (400, nil), "\(other)")
            }
        }
    }
}
