import Foundation
import NephosSQLite
import NephosService
import Testing

@testable import NephosServer

/// `nephos dev` beyond its machine: every request needs the access token.
@Suite struct AccessTokenTests {
    private static let secret = "open-sesame-open-sesame"
    private static let target = "/database/1/iCloud.a/development/private/zones/list"

    private func responder() throws -> Responder {
        Responder(
            NephosService(stores: MemoryStores()), access: .developmentElsewhere(try #require(AccessToken(Self.secret)))
        )
    }

    private func request(
        _ target: String = target, token: String? = nil, authorization: String? = nil, origin: String? = nil,
        method: HTTPMethod = .get
    ) -> HTTPRequest {
        var request = HTTPRequest(method: method, target: target, host: "build.lan:8484", origin: origin)
        (request.accessToken, request.authorization) = (token, authorization)
        return request
    }

    private func basic(_ password: String) -> String { "Basic " + Data("any:\(password)".utf8).base64EncodedString() }

    @Test func `the token lets in by its header, or as a password, and accounts are names`() async throws {
        let responder = try responder()
        for (token, authorization, target) in [
            (Self.secret, "Bearer dev:ada", Self.target), (Self.secret, nil, Self.target + "?ckWebAuthToken=dev:ada"),
            (nil, basic(Self.secret), Self.target + "?ckWebAuthToken=dev:ada"),
        ] as [(String?, String?, String)] {
            let answer = await responder.respond(to: request(target, token: token, authorization: authorization))
            #expect(answer.status == 200)
        }
    }

    @Test func `without the token nothing is answered, also not health and the page`() async throws {
        let responder = try responder()
        for target in [Self.target, "/health", "/ready", "/metrics", "/status", "/", "/sign-in", "/share/abc", "/none"]
        {
            for (token, authorization) in [
                (nil, nil), ("", nil), (Self.secret + "x", nil), (String(Self.secret.dropLast()), nil),
                (nil, basic("wrong")), (nil, "Basic !!!"), (nil, "Bearer dev:ada"),
            ] as [(String?, String?)] {
                let answer = await responder.respond(to: request(target, token: token, authorization: authorization))
                #expect(answer.status == 401, "\(target)")
            }
            // In the URL it is none.
            let inURL = await responder.respond(to: request(target + "?accessToken=\(Self.secret)"))
            #expect(inURL.status == 401)
        }
    }

    @Test func `pages of other origins are refused with the token, too`() async throws {
        let responder = try responder()
        let foreign = await responder.respond(
            to: request(authorization: basic(Self.secret), origin: "https://evil.example.org"))
        #expect(foreign.status == 403)
        var navigation = request("/status", authorization: basic(Self.secret))
        navigation.fetchSite = "cross-site"
        #expect(await responder.respond(to: navigation).status == 403)
        let own = await responder.respond(
            to: request("/status", authorization: basic(Self.secret), origin: "http://build.lan:8484"))
        #expect(own.status == 200)
    }

    @Test func `addresses that the server signed need no token`() async throws {
        let responder = try responder()
        for target in ["/assets/download/1/iCloud.a/development/x/y", "/courier/1/iCloud.a/development/token"] {
            let status = await responder.respond(to: request(target)).status
            #expect(status != 401 && status != 200, "\(target)")
        }
    }

    @Test(arguments: [
        "", "short", "with space with space", "ümlaut-ümlaut-ümlaut", String(repeating: "a", count: 1001),
    ])
    func `what is no token is refused`(_ text: String) { #expect(AccessToken(text) == nil) }

    @Test func `the program listens elsewhere with a token's file, and the library has the token from its variable`()
        async throws
    {
        try await withTemporaryDirectory { directory in
            let file = directory.appendingPathComponent("token")
            try Data((Self.secret + "\n").utf8).write(to: file)
            let server = try StartedNephos([
                "dev", "--in-memory", "--port", "0", "--listen", "0.0.0.0", "--access-token-file", file.path,
            ])
            let line = try await server.readyLine()
            let match = try #require(line.wholeMatch(of: /nephos: serving http:\/\/0\.0\.0\.0:(\d+) \(development\)\n/))
            let url = "http://127.0.0.1:\(match.1)"
            var variables = ["NEPHOS_URL": url, "NEPHOS_TOKEN": "dev:ada"]
            let without = try await StartedNephos([], product: "Readme", environment: variables).finish()
            #expect(without.status != 0)
            variables["NEPHOS_ACCESS_TOKEN"] = Self.secret
            let program = try await StartedNephos([], product: "Readme", environment: variables).finish()
            #expect(program.status == 0 && program.output == "Hello from Linux saved true\n")
            let status = try await StartedNephos(["status", "--url", url], environment: variables).finish()
            #expect(status.status == 0, "\(status.errors)")
            #expect(try await server.stop().status == 0)
        }
    }
}
