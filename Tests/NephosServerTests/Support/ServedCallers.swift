import Foundation
import NephosService
import Testing

@testable import NephosServer

/// A production server over HTTP, and over its Unix socket for the users of this machine.
final class ServedCallers {
    private let production: ProductionServer
    private let server: HTTPServer
    private let socket = FileManager.default.temporaryDirectory.appendingPathComponent(
        "\(UUID().uuidString.prefix(8)).sock")

    init(_ production: ProductionServer) throws {
        self.production = production
        let responder = production.responder
        var options = HTTPServer.Options()
        options.unfinished = Responder.unfinished
        options.account = { responder.account($0) }
        options.admission = { await responder.admission($0) }
        let sockets = try ListeningSocket.loopback(port: 0) + [ListeningSocket.unix(path: socket.path)]
        server = try HTTPServer(sockets, options: options) { await responder.respond(to: $0) }
    }

    /// Sends a request to a route on a connection of its own. Of an answer without an end the head is read.
    func send(_ route: Route, as caller: ProductionServer.Caller) async throws -> TestResponse {
        let request = await production.request(to: route, as: caller)
        var headers = ["Host": request.host ?? ""]
        headers["Origin"] = request.origin
        headers["Authorization"] = request.authorization
        if let signature = request.signature {
            headers["X-Apple-CloudKit-Request-KeyID"] = signature.keyID
            headers["X-Apple-CloudKit-Request-ISO8601Date"] = signature.date
            headers["X-Apple-CloudKit-Request-SignatureV1"] = signature.signature
        }
        let connection =
            try request.localUser == nil ? TestConnection(port: server.port) : TestConnection(path: socket.path)
        let isPost = request.method == .post
        return try await connection.request(
            isPost ? "POST" : "GET", request.target, headers: headers,
            body: isPost ? String(decoding: request.body, as: UTF8.self) : nil)
    }

    func close() async { await server.stop() }
}
