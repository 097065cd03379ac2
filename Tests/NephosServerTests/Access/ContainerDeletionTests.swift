import NephosService
import Testing

@testable import NephosServer

/// Requests for a container that was deleted, over the routes of a server.
@Suite struct ContainerDeletionTests {
    private static let callers: [ProductionServer.Caller] = [
        .apiToken, .page, .session, .developer, .viewer, .administrator, .localUser, .program, .serverKey,
    ]

    /// The status and text of an answer without what differs between two requests.
    private func answer(
        _ server: ProductionServer, _ route: Route, _ caller: ProductionServer.Caller, _ container: String
    ) async -> String {
        let response = await server.send(route, as: caller, container: container)
        let text = response.text.replacing(container, with: "CONTAINER")
        return "\(response.status) \(text.replacing(#/[0-9A-Fa-f]{8}-[0-9A-Fa-f-]{27}/#, with: "ID"))"
    }

    @Test func `every request for a deleted container is answered as for one that never existed`() async throws {
        let server = try await ProductionServer()
        try await server.addKeys()
        let routes = Routes.table.filter { [.container, .view, .change].contains($0.access) }
        let route = try #require(Routes.table.first { $0.path == "/installation/containers/delete" })
        let body = #"{"container":"\#(ProductionServer.container)"}"#
        #expect(await server.send(route, as: .lateAdministrator, body: body).status == 421)
        let deleted = await server.send(route, as: .administrator, body: body)
        #expect(deleted.status == 200, "\(deleted.text)")
        for caller in Self.callers {
            for route in routes {
                let (former, never) = (
                    await answer(server, route, caller, ProductionServer.container),
                    await answer(server, route, caller, "iCloud.none")
                )
                #expect(former == never, "\(caller): \(route.path)")
            }
        }
        let again = await server.send(route, as: .administrator, body: body)
        #expect(again.status != 200 && again.text.contains("is being deleted"), "\(again.text)")
        let list = try #require(Routes.table.first { $0.path == "/installation/containers/list" })
        let listed = await server.send(list, as: .administrator).text
        #expect(listed.contains(#""beingDeleted":["\#(ProductionServer.container)"]"#), "\(listed)")
        #expect(listed.contains(#""containers":["iCloud.other"]"#), "\(listed)")
        for path in ["api-tokens", "server-keys", "roles"] {
            let list = try #require(Routes.table.first { $0.path == "/installation/\(path)/list" })
            let text = await server.send(list, as: .administrator).text
            #expect(!text.contains(ProductionServer.container), "\(text)")
        }
        await server.close()
    }
}
