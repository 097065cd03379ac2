import NephosService
import Synchronization
import Testing

@testable import NephosServer

/// A browser that keeps cookies, sends forms with what the page has, and follows no redirects.
final class Browser: Sendable {
    let server: ProductionServer
    private let cookies = Mutex<[String: String]>([:])

    /// The network address; empty if unknown.
    private let client: [UInt8]

    init(_ server: ProductionServer, client: [UInt8] = []) { (self.server, self.client) = (server, client) }

    var cookieHeader: String {
        cookies.withLock { $0.map { "\($0.key)=\($0.value)" }.sorted().joined(separator: "; ") }
    }

    func get(_ target: String) async -> HTTPResponse { await send(.get, target, "") }

    /// Sends the form of a page, with its hidden fields and others.
    func post(
        _ target: String, from page: HTTPResponse, _ fields: String, origin: String? = ProductionServer.url
    ) async -> HTTPResponse {
        let form = page.text.firstMatch(of: /name="form" value="([0-9a-f]{64})"/).map { "form=\($0.1)&" } ?? ""
        let token = page.text.firstMatch(of: /name="token" value="([^"]*)"/).map { "token=\($0.1)&" } ?? ""
        return await send(.post, target, form + token + fields, origin: origin)
    }

    /// Sends a form that no page has, with the token that one of the target would have.
    func postForm(_ target: String, of page: String, _ fields: String) async -> HTTPResponse {
        _ = await get(target)
        let token = Installation.formToken(of: page, secret: cookie("form") ?? "")
        return await send(.post, target, "form=\(token)&\(fields)", origin: ProductionServer.url)
    }

    private func send(
        _ method: HTTPMethod, _ target: String, _ body: String, origin: String? = nil
    ) async -> HTTPResponse {
        var request = HTTPRequest(
            method: method, target: target, host: "cloud.example.org", origin: origin, body: Array(body.utf8))
        (request.isSecure, request.cookie, request.client) = (true, cookieHeader, client)
        let response = await server.responder.respond(to: request)
        for header in response.headers where header.name == "Set-Cookie" {
            let pair = header.value.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1)
            #expect(pair.first?.hasPrefix("__Host-nephos-") == true && header.value.contains("; HttpOnly"))
            #expect(header.value.contains("; Secure") && header.value.contains("; Path=/"))
            let isRemoved = header.value.contains("Max-Age=0")
            cookies.withLock { $0[String(pair[0])] = isRemoved ? nil : String(pair.last ?? "") }
        }
        return response
    }

    func cookie(_ use: String) -> String? { cookies.withLock { $0["__Host-nephos-\(use)"] } }
}

extension HTTPResponse {
    var text: String { String(decoding: body, as: UTF8.self) }
}
