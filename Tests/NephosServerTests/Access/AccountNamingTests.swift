import NephosService
import NephosWire
import Testing

@testable import NephosServer

/// The administration of a running server takes the names with which accounts sign in, and their IDs.
@Suite struct AccountNamingTests {
    private func send(
        _ server: ProductionServer, _ path: String, _ body: String, as caller: ProductionServer.Caller = .developer
    ) async throws -> (status: Int, reason: String) {
        let route = try #require(Routes.table.first { $0.path == path })
        let response = await server.send(route, as: caller, body: body)
        return (response.status, (try? ErrorDictionary(decoding: response.body).reason) ?? response.text)
    }

    @Test func `a role is assigned by the name of an account, and by its ID`() async throws {
        let server = try await ProductionServer()
        let schema = "DEFINE SCHEMA CREATE ROLE Curator; RECORD TYPE Note (GRANT READ TO \"_world\");"
        let url = try #require(Routes.table.first { $0.path == "/nephos/schema/import" })
        let imported = await server.send(url, as: .developer, body: schema)
        try #require(imported.status == 200, "\(imported.text)")
        // The accounts use the container once.
        let route = try #require(Routes.table.first { $0.path == "zones/modify" })
        for caller in [ProductionServer.Caller.session, .otherAccount] {
            _ = await server.send(route, as: caller, body: #"{"operations":[]}"#)
        }
        let id = try await server.installation.accountID(named: "bob")
        for account in ["Lovelace", id] {
            let assigned = try await send(
                server, "/nephos/roles/assign", #"{"account":"\#(account)","role":"Curator"}"#)
            #expect(assigned.status == 200, "\(assigned.reason)")
        }
        let members = try await send(server, "/nephos/roles/list", "{}").reason
        #expect(members.contains(id))
        #expect(try await send(server, "/nephos/roles/list", #"{"account":"lovelace"}"#).status == 200)
        let revoked = try await send(server, "/nephos/roles/revoke", #"{"account":"bob","role":"Curator"}"#)
        #expect(revoked.status == 200 && !revoked.reason.contains(id))
        await server.close()
    }

    @Test func `an account that never used the container is refused as one that does not exist`() async throws {
        let server = try await ProductionServer()
        let route = try #require(Routes.table.first { $0.path == "zones/modify" })
        _ = await server.send(route, as: .session, body: #"{"operations":[]}"#)
        let id = try await server.installation.accountID(named: "viewer")
        var reasons: Set<String> = []
        for name in ["viewer", "nobody"] {
            for path in ["/nephos/roles/assign", "/nephos/zones/list"] {
                let refused = try await send(server, path, #"{"account":"\#(name)","role":"Curator"}"#)
                #expect(refused.status == 404 && !refused.reason.contains(id))
                reasons.insert(refused.reason.replacing(name, with: "NAME"))
            }
        }
        #expect(reasons.count == 1, "\(reasons)")
        await server.close()
    }
}
