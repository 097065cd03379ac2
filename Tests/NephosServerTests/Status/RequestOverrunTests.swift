import Foundation
import NephosSQLite
import NephosService
import Synchronization
import Testing

@testable import NephosServer

/// More requests a second than a reader follows: successful ones are counted, failed ones recorded.
@Suite struct RequestOverrunTests {
    private struct Read: Decodable {
        struct Request: Decodable {
            var status: Int
            var failedItems: Int?
        }
        var requests: [Request]
        var next: Int
        var missed: Int
    }

    private final class Clock: Sendable {
        private let time = Atomic<Int64>(1_700_000_000_000)
        var now: Int64 { time.load(ordering: .relaxed) }
        func advance(_ milliseconds: Int64) { time.add(milliseconds, ordering: .relaxed) }
    }

    private func send(_ responder: Responder, _ method: HTTPMethod, _ target: String, _ body: String = "") async
        -> HTTPResponse
    {
        await responder.respond(
            to: HTTPRequest(method: method, target: target, host: "localhost", body: Array(body.utf8)))
    }

    private func read(_ responder: Responder, after position: Int) async throws -> Read {
        let answer = await send(responder, .get, "/status/requests?after=\(position)")
        return try JSONDecoder().decode(Read.self, from: Data(answer.body))
    }

    @Test func `beyond two rings a second only failures are recorded, and the others count as missed`() async throws {
        let clock = Clock()
        var environment = ServiceEnvironment.system
        environment.now = { clock.now }
        let service = NephosService(stores: MemoryStores(), environment: environment)
        let responder = Responder(service)
        let modify = "/database/1/iCloud.a/development/private/records/modify?ckWebAuthToken=dev:mei"
        func save(_ tag: String = "") async {
            let kind = tag.isEmpty ? "create" : "update"
            let record = #"{"operationType":"\#(kind)","record":{"recordType":"Note"\#(tag),"fields":{}}}"#
            #expect(await send(responder, .post, modify, #"{"operations":[\#(record)]}"#).status == 200)
        }
        #expect(try await read(responder, after: 0).next == 0)
        for _ in 0..<(2 * RecentRequests.limit) { _ = await send(responder, .get, "/ck/2/integrity.json") }
        for _ in 0..<7 { await save() }
        await save(#","recordName":"missing","recordChangeTag":"1""#)
        _ = await send(responder, .get, "/none")
        let overrun = try await read(responder, after: 2 * RecentRequests.limit)
        #expect(overrun.requests.map(\.status) == [200, 404] && overrun.requests.first?.failedItems == 1)
        #expect(overrun.missed == 7)

        // The next second begins anew.
        clock.advance(1000)
        await save()
        let calm = try await read(responder, after: overrun.next)
        #expect(calm.requests.map(\.status) == [200] && calm.missed == 0)
        await service.close()
    }
}
