import NephosService
import NephosWire
import Testing

@testable import NephosServer

/// Which caller a production server lets in to which route. Every route has a row, and a test walks every cell.
@Suite struct AccessTableTests {
    /// What each route asks of its callers. A new route needs its row here.
    private static let rows: [RouteAccess: Set<String>] = [
        .open: [
            "/health", "/ready", "/", "/dashboard", "/ck", "/sign-in", "/account", "/passkeys.js", "/login", "/link",
            "/recover", "/sign-up",
            "/account/providers/start", "/account/providers/callback", "/installation/logins/begin",
            "/installation/logins/poll", "/installation/sessions/sign-in",
            "/installation/sessions/sign-out",
        ],
        .url: [AssetPath.upload, AssetPath.download, "/courier", "/share"],
        .container: [
            "records/modify", "records/lookup", "records/query", "records/changes", "records/accept", "records/resolve",
            "records/requestAccess", "zones/list", "zones/lookup", "zones/modify", "zones/changes", "changes/database",
            "changes/zone", "subscriptions/list", "subscriptions/lookup", "subscriptions/modify", "tokens/create",
            "tokens/register", "assets/upload", "assets/rereference", "users/caller", "users/current",
            "users/webAuthToken", "users/discover",
            "users/lookup/email", "users/lookup/id", "users/lookup/contacts", "users/participants", "keys/account",
            "keys/enroll", "keys/reset", "keys/lookup", "keys/group",
        ],
        .view: [
            "/nephos/schema/export", "/nephos/schema/validate", "/nephos/schema/indexes",
            "/nephos/schema/deployment", "/nephos/schema/preflight", "/nephos/accounts/list",
            "/nephos/zones/list", "/nephos/shares/list", "/nephos/access/explain", "/nephos/roles/list",
            "/nephos/queries/explain",
            "/nephos/records/list", "/nephos/records/show", "/nephos/records/find", "/nephos/devices/list",
        ],
        .change: [
            "/nephos/schema/import", "/nephos/schema/merge", "/nephos/schema/reset", "/nephos/schema/drop",
            "/nephos/schema/deploy",
            "/nephos/accounts/delete", "/nephos/zones/remove", "/nephos/deletions/forget", "/nephos/roles/assign",
            "/nephos/roles/revoke", "/nephos/records/modify",
        ],
        .viewInstallation: [
            "/status", "/status/requests", "/status/requests/show", "/status/requests/stream", "/metrics",
            "/installation/accounts/list", "/installation/containers/list",
            "/installation/api-tokens/list", "/installation/sessions/list", "/installation/roles/list",
            "/installation/audit/list", "/installation/audit/verify", "/installation/server-keys/list",
            "/installation/program-tokens/list",
            "/installation/passkeys/list", "/installation/methods/list",
        ],
        .viewOwnRights: ["/status/rights"],
        .administer: [
            "/installation/accounts/create", "/installation/accounts/set-password", "/installation/accounts/delete",
            "/installation/accounts/verify", "/installation/accounts/recovery-link", "/installation/accounts/invite",
            "/installation/containers/create", "/installation/containers/delete", "/installation/api-tokens/create",
            "/installation/api-tokens/revoke",
            "/installation/sessions/create", "/installation/sessions/end", "/installation/roles/grant",
            "/installation/roles/revoke", "/installation/server-keys/create", "/installation/server-keys/revoke",
            "/installation/program-tokens/create", "/installation/program-tokens/revoke",
            "/installation/passkeys/remove", "/installation/methods/remove",
        ],
    ]

    /// The routes of containers that a program token and a server-to-server key do not reach, whatever they may.
    private static let credentials: Set = [
        "tokens/create", "tokens/register", "users/webAuthToken", "keys/enroll", "keys/reset", "keys/group",
    ]
    /// The routes of containers that write, which one that reads does not reach.
    private static let writes: Set = [
        "records/modify", "records/accept", "records/requestAccess", "zones/modify", "subscriptions/modify",
        "assets/upload", "assets/rereference",
    ]

    /// The routes of containers that reach other databases than the public one, in which a server-to-server key has nothing.
    private static let otherDatabases: Set = [
        "records/resolve", "records/accept", "records/requestAccess", "keys/account",
    ]

    /// The routes of containers that need a session, which a server-to-server key has not.
    private static let sessions: Set = [
        "users/discover", "users/lookup/email", "users/lookup/id", "users/lookup/contacts",
    ]

    /// The status with which a caller is refused; nil where it is let in.
    private static func refusal(_ route: Route, _ caller: ProductionServer.Caller) -> Int? {
        switch (route.access, caller) {
        case (.open, _), (.url, _): nil
        case (.container, .program): credentials.contains(route.path) ? 403 : nil
        case (.container, .readOnlyProgram): credentials.union(writes).contains(route.path) ? 403 : nil
        case (.container, .session), (.container, .otherAccount), (.container, .participant): nil
        // Of the public database. What needs a session is refused by its message.
        case (.container, .serverKey) where sessions.contains(route.path): 401
        case (.container, .serverKey): credentials.union(otherDatabases).contains(route.path) ? 403 : nil
        // A signature is one of a request, a container and an environment; the administration takes none.
        case (_, .serverKey), (_, .serverKeyElsewhere), (_, .revokedServerKey): 401
        case (_, .forgedSignature), (_, .replayedSignature): 401
        // The service refuses them where it needs an account.
        case (.container, .apiToken), (.container, .readOnlyToken), (.container, .page): nil
        case (.container, .nobody), (.container, .localUser), (.container, .foreignPage): 401
        case (.container, _): 421

        case (_, .localUser), (.view, .viewer), (.view, .developer), (.change, .developer), (_, .administrator): nil
        case (.view, .lateAdministrator), (.viewInstallation, .lateAdministrator): nil
        case (.viewOwnRights, .viewer), (.viewOwnRights, .developer), (.viewOwnRights, .lateAdministrator): nil
        // The administration answers the server's own pages alone.
        case (_, .page), (_, .foreignPage): 403
        case (_, .nobody), (_, .apiToken), (_, .readOnlyToken): 401
        case (_, .viewer), (_, .developer): 403
        case (_, _): 421
        }
    }

    @Test func `every route has a row`() {
        for access in RouteAccess.allCases {
            let paths = Set(Routes.table.filter { $0.access == access }.map(\.path))
            #expect(paths == Self.rows[access], "\(access)")
        }
    }

    @Test func `a caller is let in to its routes alone, over HTTP`() async throws {
        let server = try await ProductionServer()
        try await server.addKeys()
        let served = try ServedCallers(server)
        for caller in ProductionServer.Caller.allCases {
            // Last what ends the caller's session.
            let signOut = "/installation/sessions/sign-out"
            for route in Routes.table.filter({ $0.path != signOut }) + Routes.table.filter({ $0.path == signOut }) {
                check(try await served.send(route, as: caller), route, caller)
            }
        }
        await served.close()
        await server.close()
    }

    private func check(_ response: TestResponse, _ route: Route, _ caller: ProductionServer.Caller) {
        if let expected = Self.refusal(route, caller) {
            #expect(response.status == expected, "\(caller): \(route.path): \(response.text)")
            // The refusal shows no more than that.
            #expect(!response.text.contains("lovelace"), "\(caller): \(route.path)")
        } else if route.access != .open && route.path != "/share" {
            let hasAccount = route.access != .container || ![.apiToken, .readOnlyToken, .page].contains(caller)
            let refusals = hasAccount ? [401, 403, 421] : [401, 403]
            #expect(!refusals.contains(response.status), "\(caller): \(route.path): \(response.status)")
        }
    }

    @Test func `roles of one container are none of another's, which is answered as one that does not exist`()
        async throws
    {
        let server = try await ProductionServer()
        let route = try #require(Routes.table.first { $0.path == "/nephos/schema/export" })
        var answers: Set<String> = []
        for container in ["iCloud.other", "iCloud.none"] {
            let response = await server.send(route, as: .developer, container: container)
            #expect(response.status == 403)
            answers.insert(try ErrorDictionary(decoding: response.body).reason)
        }
        #expect(answers.count == 1)
        let missing = await server.send(route, as: .administrator, container: "iCloud.none")
        #expect(missing.status == 404)
        await server.close()
    }

    private func allowed(
        _ path: String, _ caller: ProductionServer.Caller, _ method: HTTPMethod = .post, on server: ProductionServer
    ) async throws -> [String] {
        let route = try #require(Routes.table.first { $0.path == path })
        return await server.send(route, as: caller, method: method).headers
            .filter { $0.name == "Access-Control-Allow-Origin" }.map(\.value)
    }

    @Test func `a page elsewhere reads answers by its API token's origin alone`() async throws {
        let server = try await ProductionServer()
        #expect(try await allowed("records/query", .page, on: server) == [ProductionServer.page])
        #expect(try await allowed("records/query", .page, .options, on: server) == [ProductionServer.page])
        for method in [HTTPMethod.post, .options] {
            #expect(try await allowed("/nephos/schema/export", .foreignPage, method, on: server) == [])
        }
        await server.close()
    }

    @Test func `a page of any origin reads that its API token or origin is refused`() async throws {
        let server = try await ProductionServer()
        for method in [HTTPMethod.post, .options] {
            let readers = try await allowed("records/query", .foreignPage, method, on: server)
            #expect(readers == ["https://evil.example.org"])
        }
        let route = try #require(Routes.table.first { $0.path == "records/query" })
        let refusal = try ErrorDictionary(decoding: await server.send(route, as: .foreignPage).body)
        #expect(refusal.serverErrorCode == .authenticationFailed && refusal.reason.contains("origin"))
        await server.close()
    }
}
