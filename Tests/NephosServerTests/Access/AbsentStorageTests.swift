import NephosSQLite
import NephosStorage
import NephosWire
import Synchronization
import Testing

@testable import NephosServer
@testable import NephosService

/// A production server whose storage is away, as a PostgreSQL server that restarts.
@Suite struct AbsentStorageTests {
    /// Stores in memory, which fail while they are away.
    private final class AbsentStores: StoreProvider {
        let isAway = Atomic(false)
        private let stores = MemoryStores()

        func open(_ id: StoreID) throws -> any StorageEngine { Engine(self, try stores.open(id)) }
        func assets(of id: StoreID) throws -> any AssetStore { try stores.assets(of: id) }
        func existingStores() throws -> [StoreID] { stores.existingStores() }
        func close() { stores.close() }

        func check() throws {
            if isAway.load(ordering: .relaxed) { throw StorageError(.inputOutput, "the storage is away") }
        }

        private final class Engine: StorageEngine {
            private let stores: AbsentStores
            private let engine: any StorageEngine

            init(_ stores: AbsentStores, _ engine: any StorageEngine) { (self.stores, self.engine) = (stores, engine) }

            func read<T: Sendable>(_ body: @escaping @Sendable (StorageReader) throws -> T) async throws -> T {
                try stores.check()
                return try await engine.read(body)
            }

            func write<T: Sendable>(
                of owners: Set<OwnerID>, _ body: @escaping @Sendable (StorageTransaction) throws -> T
            ) async throws -> T {
                try stores.check()
                return try await engine.write(of: owners, body)
            }

            func close() async { await engine.close() }
        }
    }

    private final class Lines: Sendable {
        let all = Mutex<[String]>([])
    }

    private let stores = AbsentStores()
    private let lines = Lines()

    private func absentServer() async throws -> ProductionServer {
        let server = try await ProductionServer(stores: stores) { [lines] line in lines.all.withLock { $0.append(line) }
        }
        server.installation.apiTokens.expire()
        server.installation.sessions.expire()
        stores.isAway.store(true, ordering: .relaxed)
        return server
    }

    /// Expects that the log has the failure under the ID that the answer has.
    private func expectLogged(_ response: HTTPResponse) throws {
        #expect(response.status == 503)
        let id = try #require(response.headers.first { $0.name == "X-Apple-Request-UUID" }?.value)
        let logged = lines.all.withLock { $0 }
        #expect(logged.contains { $0.hasPrefix("request \(id): ") && $0.contains("is away") }, "\(logged)")
    }

    private func query(_ server: ProductionServer) async throws -> HTTPRequest {
        let route = try #require(Routes.table.first { $0.path == "records/query" })
        return await server.request(to: route, as: .session)
    }

    @Test func `a failure before the caller is known is logged under the request's ID`() async throws {
        let server = try await absentServer()
        let request = try await query(server)
        try expectLogged(await server.responder.respond(to: request))
        guard case .refused(let response) = await server.responder.admission(request) else {
            Issue.record("admitted")
            return
        }
        try expectLogged(response)
        await server.close()
    }

    @Test(arguments: ["/sign-in", "/account"], [HTTPMethod.get, .post])
    func `people get a page, and not JSON`(path: String, method: HTTPMethod) async throws {
        let server = try await absentServer()
        var request = HTTPRequest(method: method, target: path, host: "cloud.example.org")
        let token = try #require(try await query(server).authorization?.dropFirst("Bearer ".count))
        request.cookie = "__Host-nephos-session=\(token)"
        let response = await server.responder.respond(to: request)
        let text = String(decoding: response.body, as: UTF8.self)
        #expect(text.contains("<h1>Not available</h1>") && text.contains("The service cannot use its storage"))
        #expect(response.headers.contains { $0.name == "Retry-After" && $0.value == "30" })
        try expectLogged(response)
        await server.close()
    }
}
