import Foundation
import NephosPostgres
import NephosSQLite
import NephosService
import NephosStorage
import Synchronization
import Testing

@testable import NephosServer

/// A server of this build over a fixture, whose clock stands at the time when the fixture was made.
final class FixtureServer: Sendable {
    let url: String
    let service: NephosService
    private let responder: Responder
    private let http: HTTPServer
    private let installation: Installation?

    /// - Parameters:
    ///   - data: the data directory, or that of a database's asset files.
    ///   - database: the database of a fixture of PostgreSQL.
    init(_ kind: Fixture.Kind, data: URL, database: PostgresAddress? = nil, time: Int64) async throws {
        let sockets = try ListeningSocket.loopback(port: 0)
        let url = "http://127.0.0.1:\(sockets[0].port)"
        var environment = ServiceEnvironment.system
        environment.now = { time }
        let stores = try Self.stores(data, database, time)
        var configuration = ServiceConfiguration()
        configuration.escrowsKeys = kind != .serve
        let installation = kind == .serve ? try await Installation.open(stores, environment) : nil
        service = NephosService(stores: stores, environment: environment, configuration: configuration)
        let access: Access
        if let installation {
            access = .production(installation, url: try #require(PublicURL(url)))
        } else {
            access = .development
        }
        let responder = Responder(service, access: access)
        var options = HTTPServer.Options()
        options.unfinished = Responder.unfinished
        options.account = { responder.account($0) }
        http = try HTTPServer(sockets, options: options) { await responder.respond(to: $0) }
        (self.url, self.responder, self.installation) = (url, responder, installation)
        // What the kill left is done before the first request.
        await service.resume()
        await service.settle()
    }

    private static func stores(_ data: URL, _ database: PostgresAddress?, _ time: Int64) throws -> any StoreProvider {
        guard let database else { return try DataDirectory(path: data.path) }
        var options = PostgresOptions(connections: 4, acceptsUnsafeServer: true)
        // The service follows the database's clock, unless asking for it takes too long to learn from it.
        let asked = Mutex(time)
        options.clock = {
            asked.withLock { time in
                time += 10_000
                return time
            }
        }
        let stores = try PostgresStores(database, options: options, assets: data.path)
        try stores.keepAssets(in: .directory(data.path))
        return stores
    }

    /// Sends a request, and returns the answer's status and text.
    func send(_ request: RecordedRequest) async -> (status: Int, text: String) {
        let response = await responder.respond(to: request.request(host: String(url.dropFirst("http://".count))))
        return (response.status, String(decoding: response.body, as: UTF8.self))
    }

    func close() async {
        service.endPolls()
        await http.stop()
        await service.close()
        await installation?.finishAudit()
        await installation?.close()
    }
}
