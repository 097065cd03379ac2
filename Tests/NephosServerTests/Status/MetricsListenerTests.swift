import NephosSQLite
import NephosService
import Testing

@testable import NephosServer

/// The listener of the metrics of a production server.
@Suite struct MetricsListenerTests {
    private func respond(
        _ listener: MetricsListener, _ target: String, method: HTTPMethod = .get, host: String? = "10.0.0.7:9464",
        origin: String? = nil, fetchSite: String? = nil
    ) async -> HTTPResponse {
        var request = HTTPRequest(method: method, target: target, host: host, origin: origin)
        (request.fetchSite, request.client) = (fetchSite, [10, 0, 0, 8])
        return await listener.respond(to: request)
    }

    @Test func `it answers the metrics and the state without a sign-in, and nothing else`() async throws {
        let server = try await ProductionServer()
        let listener = MetricsListener(server.responder)
        #expect(await respond(listener, "/metrics").text.contains("nephos_"))
        for target in ["/status", "/ready", "/health", "/metrics?x=1"] {
            #expect(await respond(listener, target).status == 200, "\(target)")
        }
        let paths = Routes.table.map(\.path).filter { !["/metrics", "/status", "/ready", "/health"].contains($0) }
        for path in paths.map({ $0.hasPrefix("/") ? $0 : "/database/1/iCloud.test/development/private/\($0)" }) + [
            "/nephos/1/installation/accounts/list", "/nephos/1/installation/accounts/create", "//metrics", "/metrics/",
        ] {
            for method in [HTTPMethod.get, .post] {
                #expect(await respond(listener, path, method: method).status == 404, "\(path)")
            }
        }
        for method in [HTTPMethod.post, .options, .other] {
            #expect(await respond(listener, "/metrics", method: method).status == 405)
        }
        await server.close()
    }

    @Test func `it answers no web page, also none that reaches it by a domain name`() async throws {
        let server = try await ProductionServer()
        let listener = MetricsListener(server.responder)
        for host in [nil, "127.0.0.1:9464", "[::1]:9464", "10.0.0.7", "localhost:1", "nephos:9464"] {
            #expect(await respond(listener, "/metrics", host: host).status == 200, "\(host ?? "none")")
        }
        for host in [
            "", "[evil.example.org]", "evil.example.org", "evil.example.org:9464", "127.0.0.1.example.org", ":1",
        ] {
            #expect(await respond(listener, "/metrics", host: host).status == 403, "\(host)")
            #expect(await respond(listener, "/ready", host: host).status == 200, "a health check")
        }
        #expect(await respond(listener, "/metrics", origin: "http://10.0.0.7:9464").status == 403)
        #expect(await respond(listener, "/metrics", fetchSite: "same-origin").status == 403)
        #expect(await respond(listener, "/metrics", fetchSite: "none").status == 200)
        await server.close()
    }

    @Test func `its state tells nothing of single requests, and records none`() async throws {
        let server = try await ProductionServer()
        let listener = MetricsListener(server.responder)
        let text = await respond(listener, "/status").text
        #expect(text.contains("containers") && !text.contains("requests"), "\(text)")
        await server.close()
    }
}
