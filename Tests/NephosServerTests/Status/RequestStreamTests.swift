import Foundation
import NephosSQLite
import NephosService
import NephosTesting
import Synchronization
import Testing

@testable import NephosServer

/// The stream of the recent requests, `/status/requests/stream`.
@Suite struct RequestStreamTests {
    private static let path = "/status/requests/stream"

    /// What a stream gives to a reader that takes it, or does not.
    private final class Reader: Sendable {
        let pieces = Mutex<[String]>([])
        private let stream: RequestStream

        init(_ stream: RequestStream) { self.stream = stream }

        /// Takes the next piece when there is one.
        func take() {
            stream.read(0, at: 0) { [self] result in
                pieces.withLock {
                    $0.append((try? result.get()).map { String(decoding: $0, as: UTF8.self) } ?? "failed")
                }
            }
        }

        var last: String { pieces.withLock { $0.last ?? "" } }
        var count: Int { pieces.withLock(\.count) }
    }

    private struct Event: Decodable {
        struct Request: Decodable {
            var endpoint: String
            var position: Int
        }
        var requests: [Request]
        var ring: String
        var next: Int
        var missed: Int
    }

    /// The event of a piece; nil for a comment.
    private func event(_ piece: String) throws -> Event? {
        guard let line = piece.split(separator: "\n").first(where: { $0.hasPrefix("data: ") }) else { return nil }
        return try JSONDecoder().decode(Event.self, from: Data(line.dropFirst(6).utf8))
    }

    /// A responder whose streams send when a test says so.
    private func withResponder(
        now: @escaping @Sendable () -> Int64 = { 1_700_000_000_000 }, _ body: (Responder) async throws -> Void
    ) async throws {
        var environment = ServiceEnvironment.system
        environment.now = now
        environment.sleepUntil = { _ in throw CancellationError() }
        let service = NephosService(stores: MemoryStores(), environment: environment)
        try await body(Responder(service))
        await service.close()
    }

    private func open(
        _ responder: Responder, _ parameters: String = "", lastEventID: String? = nil
    ) async throws -> (stream: RequestStream, reader: Reader) {
        var request = HTTPRequest(method: .get, target: Self.path + parameters, host: "localhost")
        request.transfer.lastEventID = lastEventID
        let response = await responder.respond(to: request)
        let stream = try #require(response.stream?.body as? RequestStream)
        let reader = Reader(stream)
        reader.take()
        return (stream, reader)
    }

    private func ask(_ responder: Responder, _ paths: some Sequence<String>) async {
        for path in paths {
            _ = await responder.respond(to: HTTPRequest(method: .get, target: path, host: "localhost"))
        }
    }

    @Test func `two readers get each request once, whichever comes first`() async throws {
        try await withResponder { responder in
            let (_, first) = try await open(responder)
            await ask(responder, ["/a"])
            let (_, second) = try await open(responder, "?after=0")
            responder.streams.sendBatches()
            for reader in [second, first] {
                #expect(try event(reader.last)?.requests.map(\.endpoint) == ["/a"])
                let ring = try #require(try event(reader.last)?.ring)
                #expect(reader.last.hasPrefix("id: \(ring)-1\n") && reader.last.hasSuffix("\n\n"))
                reader.take()
            }
            await ask(responder, ["/b", "/c"])
            responder.streams.sendBatches()
            for reader in [first, second] {
                #expect(try event(reader.last)?.requests.map(\.endpoint) == ["/b", "/c"])
                #expect(reader.count == 2)
            }
        }
    }

    @Test func `a reader comes back with the identifier of its last event`() async throws {
        try await withResponder { responder in
            _ = try await open(responder)
            await ask(responder, ["/a", "/b", "/c"])
            let (_, reader) = try await open(responder, "?after=0", lastEventID: "2")
            responder.streams.sendBatches()
            #expect(try event(reader.last)?.requests.map(\.endpoint) == ["/c"])
        }
    }

    @Test func `a position of before a restart has all requests since, however many there are`() async throws {
        var rings: [String] = []
        for _ in 0..<2 {
            try await withResponder { responder in
                _ = try await open(responder)
                await ask(responder, ["/a", "/b", "/c"])
                let (_, reader) = try await open(responder, lastEventID: (rings.last ?? "other") + "-2")
                responder.streams.sendBatches()
                let all = try #require(try event(reader.last))
                #expect(all.requests.map(\.endpoint) == ["/a", "/b", "/c"] && all.ring != rings.last)
                for (position, count) in [("other-2", 3), (all.ring + "-2", 1), ("2", 1)] {
                    let response = await responder.respond(
                        to: HTTPRequest(
                            method: .get, target: "/status/requests?after=\(position)", host: "localhost"))
                    let answer = try JSONDecoder().decode(Event.self, from: Data(response.body))
                    #expect(answer.requests.count == count && answer.ring == all.ring, "\(position)")
                }
                rings.append(all.ring)
            }
        }
    }

    @Test func `a reader that takes nothing costs nothing, and is told of the gap`() async throws {
        try await withResponder { responder in
            let (stream, reader) = try await open(responder)
            await ask(responder, ["/a"])
            responder.streams.sendBatches()
            for round in 0..<12 {
                await ask(responder, (0..<100).map { "/\(round)-\($0)" })
                responder.streams.sendBatches()
            }
            #expect(reader.count == 1 && !stream.isWaiting)
            reader.take()
            responder.streams.sendBatches()
            let event = try #require(try event(reader.last))
            #expect(event.requests.count == RequestBatch.limit && event.requests.last?.endpoint == "/11-99")
            #expect(event.missed == 1200 - RequestBatch.limit && event.next == 1201)
        }
    }

    @Test func `of more requests than an event takes, failed ones are kept`() async throws {
        try await withResponder { responder in
            let (_, reader) = try await open(responder)
            await ask(responder, ["/failed"] + Array(repeating: "/ck/2/integrity.json", count: 100))
            responder.streams.sendBatches()
            let event = try #require(try event(reader.last))
            #expect(event.requests.first?.endpoint == "/failed" && event.requests.first?.position == 0)
            #expect(event.requests.dropFirst().map(\.position) == Array(62..<101))
            #expect(event.missed == 61)
        }
    }

    @Test func `after a full event a stream rests for a second`() async throws {
        let now = Mutex<Int64>(1_700_000_000_000)
        try await withResponder(now: { now.withLock { $0 } }) { responder in
            let (_, reader) = try await open(responder)
            await ask(responder, Array(repeating: "/ck/2/integrity.json", count: RequestBatch.limit + 1))
            responder.streams.sendBatches()
            reader.take()
            await ask(responder, ["/a"])
            now.withLock { $0 += RequestStream.rest - 1 }
            responder.streams.sendBatches()
            #expect(reader.count == 1)
            now.withLock { $0 += 1 }
            responder.streams.sendBatches()
            #expect(try event(reader.last)?.requests.map(\.endpoint) == ["/a"])
        }
    }

    @Test func `a filtered stream has the requests of a container, or failed ones alone`() async throws {
        try await withResponder { responder in
            let (_, failed) = try await open(responder, "?failed=1")
            let (_, ofOne) = try await open(responder, "?container=iCloud.a")
            let list = { (name: String) in
                "/database/1/iCloud.\(name)/development/private/zones/list?ckWebAuthToken=dev:mei"
            }
            await ask(responder, ["/none", list("a"), list("b"), "/ck/2/integrity.json"])
            responder.streams.sendBatches()
            #expect(try event(failed.last)?.requests.map(\.endpoint) == ["/none"])
            #expect(try event(ofOne.last)?.requests.map(\.position) == [1])
            #expect(try event(ofOne.last)?.missed == 0)
        }
    }

    @Test func `a stream begins with a comment, and has another after fifteen seconds without requests`() async throws {
        let now = Mutex<Int64>(1_700_000_000_000)
        try await withResponder(now: { now.withLock { $0 } }) { responder in
            let (_, reader) = try await open(responder)
            responder.streams.sendBatches()
            #expect(reader.last == ":\n\n")
            reader.take()
            now.withLock { $0 += 14_999 }
            responder.streams.sendBatches()
            #expect(reader.count == 1)
            now.withLock { $0 += 1 }
            responder.streams.sendBatches()
            #expect(reader.count == 2 && reader.last == ":\n\n")
        }
    }

    @Test func `beyond 200 streams a reader is told to poll, until another one goes`() async throws {
        try await withResponder { responder in
            func respond() async -> NephosServer.HTTPResponse {
                await responder.respond(to: HTTPRequest(method: .get, target: Self.path, host: "localhost"))
            }
            var open: [NephosServer.HTTPResponse] = []
            for _ in 0..<RequestStreams.limit { open.append(await respond()) }
            #expect(open.allSatisfy { $0.status == 200 })
            let refused = await respond()
            #expect(refused.status == 503 && refused.stream == nil)
            #expect(refused.headers.contains { $0.name == "Retry-After" })
            open[0].whenSent?(false)
            #expect(await respond().status == 200)
        }
    }

    @Test func `one account's streams leave room for others'`() async throws {
        let server = try await ProductionServer()
        let route = try #require(Routes.table.first { $0.path == Self.path })
        for _ in 0..<RequestStreams.accountLimit {
            #expect(await server.send(route, as: .administrator).status == 200)
        }
        #expect(await server.send(route, as: .administrator).status == 503)
        #expect(await server.send(route, as: .localUser).status == 200)
        await server.close()
    }

    @Test func `a stream ends when its reader loses the role`() async throws {
        let server = try await ProductionServer()
        let route = try #require(Routes.table.first { $0.path == Self.path })
        #expect(await server.send(route, as: .developer).status == 403)
        let streams = server.responder.streams
        let response = await server.send(route, as: .administrator)
        let other = await server.send(route, as: .localUser)
        let readers = try [response, other].map { Reader(try #require($0.stream?.body as? RequestStream)) }
        for reader in readers { reader.take() }
        server.advance(milliseconds: RequestStream.recheck)
        await streams.checkRights()
        #expect(readers.map(\.count) == [0, 0])
        let root = AuditActor(name: "user 0")
        try await server.installation.revokeRole(ofAccountNamed: "administrator", container: nil, by: root)
        server.advance(milliseconds: RequestStream.recheck)
        await streams.checkRights()
        #expect(readers.map(\.count) == [1, 0] && readers[0].last.isEmpty)
        await server.close()
    }

    // MARK: - Over sockets

    /// Runs a server that waits for unfinished requests as long as the test.
    private func withServer(_ body: (HTTPServer, Responder) async throws -> Void) async throws {
        try await withResponder { responder in
            var options = HTTPServer.Options()
            options.stopTimeout = 600
            let server = try HTTPServer(ListeningSocket.loopback(port: 0), options: options) {
                await responder.respond(to: $0)
            }
            try await body(server, responder)
            await server.stop()
        }
    }

    private func waitUntil(_ responder: Responder, waits count: Int) async {
        await eventually { responder.streams.waitingCount == count }
    }

    private func openSocket(_ server: HTTPServer) async throws -> TestConnection {
        let connection = try TestConnection(port: server.port)
        try await connection.send("GET \(Self.path) HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        return connection
    }

    @Test func `a stream is sent in chunks as the requests come, and a stopping server ends it at once`() async throws {
        try await withServer { server, responder in
            let connections = [try await openSocket(server), try await openSocket(server)]
            await waitUntil(responder, waits: 2)
            await ask(responder, ["/a"])
            responder.streams.sendBatches()
            await waitUntil(responder, waits: 2)
            await ask(responder, ["/b"])
            responder.streams.sendBatches()
            await waitUntil(responder, waits: 2)
            await server.stop()
            for connection in connections {
                let text = String(decoding: try await connection.rest(), as: UTF8.self)
                #expect(text.contains("Content-Type: text/event-stream"))
                #expect(text.contains(#""endpoint":"/a""#) && text.contains(#""endpoint":"/b""#))
                #expect(text.hasSuffix("\r\n0\r\n\r\n"))
            }
            #expect(responder.streams.count == 0)
        }
    }

    @Test func `a reader that has gone frees its stream before anything is sent to it, and others go on`() async throws
    {
        try await withServer { server, responder in
            let (gone, finished, other) = (
                try await openSocket(server), try await openSocket(server), try await openSocket(server)
            )
            await waitUntil(responder, waits: 3)
            // The first comment, which is due at once.
            responder.streams.sendBatches()
            await waitUntil(responder, waits: 3)
            gone.abandon()
            finished.finishSending()
            await eventually {
                responder.streams.sendBatches()
                return responder.streams.count == 1
            }
            guard responder.streams.count == 1 else { return }
            await ask(responder, ["/a"])
            responder.streams.sendBatches()
            await waitUntil(responder, waits: 1)
            await server.stop()
            #expect(String(decoding: try await other.rest(), as: UTF8.self).contains(#""endpoint":"/a""#))
        }
    }

    @Test func `a stopping server does not wait for a reader that takes nothing`() async throws {
        try await withServer { server, responder in
            let connection = try await openSocket(server)
            await waitUntil(responder, waits: 1)
            let path = String(repeating: "/x", count: 400)
            // Until the sockets are full: then the stream does not wait for requests.
            for _ in 0..<2000 where responder.streams.waitingCount == 1 {
                await ask(responder, Array(repeating: path, count: RequestBatch.limit))
                responder.streams.sendBatches()
                for _ in 0..<20_000 where responder.streams.waitingCount == 0 { await Task.yield() }
            }
            await server.stop()
            #expect(responder.streams.count == 0)
            connection.abandon()
        }
    }
}
