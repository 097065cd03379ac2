import Foundation
import NephosCrypto
import NephosService
import NephosTesting
import NephosWire
import Testing

@testable import NephosServer

/// A provider that acts like Apple: its answer is a form of another site, its client's secret is signed.
@Suite struct AppleProviderTests {
    private static let origin = "https://appleid.apple.example.com"

    /// The form of the provider's page, which comes from another site: without cookies.
    private func sendForm(
        _ server: ProviderServer, _ response: LyingProvider.Response, origin: String, name: String = "apple"
    ) async -> HTTPResponse {
        let body = response.map { "\($0.key)=\(PercentEncoding.escaped($0.value))" }.joined(separator: "&")
        var request = HTTPRequest(
            method: .post, target: "/account/providers/callback/\(name)", host: "cloud.example.org", origin: origin,
            body: Array(body.utf8))
        (request.isSecure, request.fetchSite) = (true, "cross-site")
        return await server.production.responder.respond(to: request)
    }

    /// The fields of the form that the page sends again.
    private func fields(_ page: HTTPResponse) -> String {
        page.text.matches(of: /<input type="hidden" name="(\w+)" value="([^"]*)">/).map {
            let value = String($0.2).replacing("&lt;", with: "<").replacing("&gt;", with: ">")
                .replacing("&quot;", with: "\"").replacing("&#39;", with: "'").replacing("&amp;", with: "&")
            return "\($0.1)=\(PercentEncoding.escaped(value))"
        }.joined(separator: "&")
    }

    @Test(arguments: [origin, "null"])
    func `a form without cookies is sent again by the server's own page`(_ origin: String) async throws {
        let server = try await ProviderServer(appleKey: try TestSigningKey(.p256, id: "x"))
        let (browser, other) = (Browser(server.production), Browser(server.production))
        _ = await other.get("/sign-in")
        let person = LyingProvider.Person("a", "x7@privaterelay.example.com", isVerified: true, name: "Ada")
        let response = try await server.agree(browser, by: "apple", as: person)
        let page = await sendForm(server, response, origin: origin)
        #expect(page.status == 200 && page.text.contains("<button>Continue</button>"), "\(page.text)")
        // It replaces no cookie, and asks the provider for nothing.
        #expect(!page.headers.contains { $0.name == "Set-Cookie" })
        #expect(try server.provider("apple").count("/token") == 0)
        let target = "/account/providers/callback/apple"
        #expect(await other.post(target, from: page, fields(page)).status == 400)
        #expect(await browser.post(target, from: page, fields(page)).status == 303)
        #expect(await server.account(browser) == "x7@privaterelay.example.com")
        #expect(await browser.get("/account").text.contains("The address is verified"))
        await server.close()
    }

    @Test func `the secret is signed for each request, and lasts five minutes`() async throws {
        let key = try TestSigningKey(.p256, id: "x")
        let server = try await ProviderServer(appleKey: key)
        for subject in ["a", "b"] {
            let browser = Browser(server.production)
            let response = try await server.agree(browser, by: "apple", as: LyingProvider.Person(subject))
            #expect(await browser.get(server.callback("apple", response)).status == 303)
            server.production.advance(milliseconds: 1000)
        }
        let secrets = try server.provider("apple").secrets
        #expect(Set(secrets).count == 2)
        let verifying = try #require(SignaturePublicKey(x: key.publicNumbers[0], y: key.publicNumbers[1]))
        for secret in secrets {
            let parts = secret.split(separator: ".").map(String.init)
            try #require(parts.count == 3)
            let signature = try #require(Base64URL.bytes(of: parts[2]))
            #expect(verifying.verifies(signature, of: Array("\(parts[0]).\(parts[1])".utf8)))
            let json = try parts.prefix(2).map { part in
                let bytes = try #require(Base64URL.bytes(of: part))
                let object = try JSONSerialization.jsonObject(with: Data(bytes))
                return try #require(object as? [String: Any])
            }
            #expect(json[0]["alg"] as? String == "ES256" && json[0]["kid"] as? String == "KEY1234567")
            #expect(json[1]["iss"] as? String == "TEAM123456" && json[1]["sub"] as? String == "client of apple")
            #expect(json[1]["aud"] as? String == ProviderServer.apple)
            let (start, end) = (json[1]["iat"] as? Int ?? 0, json[1]["exp"] as? Int ?? 0)
            #expect(end - start == 300)
        }
        await server.close()
    }

    @Test func `the name is a suggestion, and the address beside it counts for nothing`() async throws {
        let server = try await ProviderServer(appleKey: try TestSigningKey(.p256, id: "x"))
        let browser = Browser(server.production)
        let person = LyingProvider.Person("a", "x7@privaterelay.example.com", isVerified: false, name: "Ada")
        let response = try await server.agree(browser, by: "apple", as: person)
        let page = await sendForm(server, response, origin: Self.origin)
        #expect(await browser.post("/account/providers/callback/apple", from: page, fields(page)).status == 303)
        let name = try #require(await server.account(browser))
        #expect(name.wholeMatch(of: /ada lovelace \d{6}/) != nil, "\(name)")
        await server.close()
    }

    @Test func `a form of an unknown sign-in is answered without a cookie, and no other page takes null origins`()
        async throws
    {
        let server = try await ProviderServer(appleKey: try TestSigningKey(.p256, id: "x"))
        let refused = await sendForm(server, ["state": "x", "code": "y"], origin: "null")
        #expect(refused.status == 400 && !refused.headers.contains { $0.name == "Set-Cookie" })
        for (method, target) in [
            (HTTPMethod.post, "/account"), (.get, "/account/providers/callback/apple"), (.post, "/sign-in"),
        ] {
            let request = HTTPRequest(method: method, target: target, host: "cloud.example.org", origin: "null")
            #expect(await server.production.responder.respond(to: request).status == 403, "\(target)")
        }
        await server.close()
    }
}
