import Foundation
import NephosSQLite
import NephosService
import NephosWire
import Testing

@testable import NephosServer

/// Faults over HTTP.
@Suite struct FaultRouteTests {
    private static let administration = "/nephos/1/iCloud.org.example.App/development"
    private static let save =
        "/database/1/iCloud.org.example.App/development/private/records/modify?ckAPIToken=secret&ckWebAuthToken=dev:mei"
    private static let note = """
        {"operations": [{"operationType": "forceUpdate", "record": {"recordType": "Note", "recordName": "a", "fields": {}}}]}
        """

    private func send(
        _ target: String, _ body: String, to responder: Responder, fault: String? = nil
    ) async -> (status: Int, text: String) {
        var request = HTTPRequest(method: .post, target: target, host: "localhost", body: Array(body.utf8))
        request.fault = fault
        let response = await responder.respond(to: request)
        return (
            response.status,
            String(decoding: response.body, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        )
    }

    @Test func `a fault that was added happens once, is listed and cleared`() async {
        let service = NephosService(stores: MemoryStores())
        let responder = Responder(service)
        let added = await send(
            "\(Self.administration)/faults/add", #"{"fault": "save retry=2 serviceUnavailable"}"#, to: responder)
        #expect(added.text.contains(#""happened":0"#))
        let failed = await send(Self.save, Self.note, to: responder)
        #expect(failed.status == 503)
        #expect(failed.text.contains("TRY_AGAIN_LATER"))
        #expect(await send(Self.save, Self.note, to: responder).status == 200)
        let listed = await send("\(Self.administration)/faults/list", "{}", to: responder)
        #expect(listed.text.contains(#""matched":2,"happened":1"#))
        let other = await send("/nephos/1/iCloud.other/development/faults/list", "{}", to: responder)
        #expect(other.text == #"{"faults":[]}"#)
        let unknown = await send("\(Self.administration)/faults/clear", #"{"id": 7}"#, to: responder)
        #expect(unknown.status == 400)
        let cleared = await send("\(Self.administration)/faults/clear", #"{"id": 1}"#, to: responder)
        #expect(cleared.text == #"{"faults":[]}"#)
        let wrong = await send("\(Self.administration)/faults/add", #"{"fault": "sve zoneBusy"}"#, to: responder)
        #expect(wrong.status == 400)
        await service.close()
    }

    @Test func `an item fails in the answer of its batch`() async {
        let service = NephosService(stores: MemoryStores())
        let responder = Responder(service)
        let failed = await send(Self.save, Self.note, to: responder, fault: "save quotaExceeded")
        #expect(failed.status == 200)
        #expect(failed.text.contains("QUOTA_EXCEEDED"))
        #expect(failed.text.contains(#""recordName":"a""#))
        #expect(await send(Self.save, Self.note, to: responder).text.contains("recordChangeTag"))
        await service.close()
    }

    @Test func `a header has its own request fail, and a wrong one is refused`() async {
        let service = NephosService(stores: MemoryStores())
        let responder = Responder(service)
        #expect(await send(Self.save, Self.note, to: responder, fault: "save requestRateLimited").status == 429)
        #expect(await send(Self.save, Self.note, to: responder, fault: "save often").status == 400)
        #expect(await send(Self.save, Self.note, to: responder).status == 200)
        await service.close()
    }

    @Test(arguments: ["nth=2", "first=2", "probability=0.5"])
    func `a header cannot ask for what counts requests`(word: String) async {
        let service = NephosService(stores: MemoryStores())
        let responder = Responder(service)
        let refused = await send(Self.save, Self.note, to: responder, fault: "save \(word) networkFailure")
        #expect(refused.status == 400)
        #expect(refused.text.contains("\(word.prefix { $0 != "=" })=") && refused.text.contains("nephos faults add"))
        let failed = await send(Self.save, Self.note, to: responder, fault: "save every networkFailure")
        #expect(failed.status == 503)
        await service.close()
    }

    @Test func `a token that a header expired stays so, and an answer that it cut fails at its next page`() async throws
    {
        let service = NephosService(stores: MemoryStores())
        let responder = Responder(service)
        let database = "/database/1/iCloud.org.example.App/development/private"
        let key = "?ckAPIToken=secret&ckWebAuthToken=dev:mei"
        func post(_ path: String, _ body: String, fault: String? = nil) async -> (status: Int, text: String) {
            await send("\(database)/\(path)\(key)", body, to: responder, fault: fault)
        }
        for name in ["a", "b", "c", "d"] {
            let body = Self.note.replacingOccurrences(of: #""a""#, with: "\"\(name)\"")
            #expect(await post("records/modify", body).status == 200)
        }
        let changes = await post("changes/database", "{}")
        let token = try #require(changes.text.firstMatch(of: /"syncToken":"([^"]+)"/)?.1)
        let body = #"{"syncToken":"\#(token)"}"#
        #expect(await post("changes/database", body, fault: "changes changeTokenExpired").status == 400)
        #expect(await post("changes/database", body).status == 400)
        #expect(await post("changes/database", "{}").status == 200)

        let query = #"{"query":{"recordType":"Note"}}"#
        let half = await post("records/query", query, fault: "query when=amid networkFailure")
        #expect(half.status == 200 && half.text.matches(of: /"recordName"/).count == 2, "\(half)")
        let marker = try #require(half.text.firstMatch(of: /"continuationMarker":"([^"]+)"/)?.1)
        let rest = #"{"query":{"recordType":"Note"},"continuationMarker":"\#(marker)"}"#
        #expect(await post("records/query", query).status == 200)
        #expect(await post("records/query", rest).status == 503)
        #expect(await post("records/query", rest).status == 200)
        await service.close()
    }

    @Test func `clearing the faults ends what they have in store`() async throws {
        let service = NephosService(stores: MemoryStores())
        let responder = Responder(service)
        let target =
            "/database/1/iCloud.org.example.App/development/private/records/query"
            + "?ckAPIToken=secret&ckWebAuthToken=dev:mei"
        for name in ["a", "b"] {
            let body = Self.note.replacingOccurrences(of: #""a""#, with: "\"\(name)\"")
            #expect(await send(Self.save, body, to: responder).status == 200)
        }
        let query = #"{"query":{"recordType":"Note"}}"#
        for clearing in [#"{"id": 1}"#, "{}"] {
            _ = await send(
                "\(Self.administration)/faults/add", #"{"fault": "query when=amid networkFailure"}"#, to: responder)
            let half = await send(target, query, to: responder)
            let marker = try #require(half.text.firstMatch(of: /"continuationMarker":"([^"]+)"/)?.1)
            #expect(await send("\(Self.administration)/faults/clear", clearing, to: responder).status == 200)
            let rest = #"{"query":{"recordType":"Note"},"continuationMarker":"\#(marker)"}"#
            #expect(await send(target, rest, to: responder).status == 200)
        }
        await service.close()
    }

    @Test func `a production server has neither the routes nor the header`() async throws {
        let server = try await ProductionServer()
        #expect(!Routes.table.contains { $0.path.hasPrefix("/nephos/faults/") })
        for path in ["list", "add", "clear"] {
            var request = HTTPRequest(
                method: .post, target: "\(Self.administration)/faults/\(path)", host: "cloud.example.org",
                body: Array(#"{"fault": "save zoneBusy"}"#.utf8))
            request.fault = "save zoneBusy"
            #expect(await server.responder.respond(to: request).status == 404, "\(path)")
        }
        #expect(server.service.faults == nil)
        await server.close()
    }
}
