import Foundation
import NephosSQLite
import NephosService
import NephosWire
import Testing

@testable import NephosServer

/// What is known of one of the recent requests, `/status/requests/show`.
@Suite struct RequestDetailsTests {
    private struct Answer: Decodable {
        struct Failure: Decodable {
            var name: String?
            var serverErrorCode: String
            var reason: String
            var remedy: String
        }
        var endpoint: String
        var failedItems: Int?
        var errorCode: String?
        var remedy: String?
        var failures: [Failure]?
        var requestBody: String?
        var requestBodySize: Int?
        var answerBody: String?
    }

    private static let database = "/database/1/iCloud.org.example.App/development/private"

    private func withResponder(_ body: (Responder) async throws -> Void) async throws {
        let service = NephosService(stores: MemoryStores())
        try await body(Responder(service))
        await service.close()
    }

    private func post(_ responder: Responder, _ action: String, _ body: String) async -> String {
        let target = "\(Self.database)/\(action)?ckWebAuthToken=dev:mei"
        let response = await responder.respond(
            to: HTTPRequest(method: .post, target: target, host: "localhost", body: Array(body.utf8)))
        return response.headers.last { $0.name == "X-Apple-Request-UUID" }?.value ?? ""
    }

    private func show(_ responder: Responder, _ id: String) async throws -> Answer? {
        let target = "/status/requests/show?id=\(id)"
        let response = await responder.respond(to: HTTPRequest(method: .get, target: target, host: "localhost"))
        return response.status == 200 ? try JSONDecoder().decode(Answer.self, from: Data(response.body)) : nil
    }

    @Test func `a request has the error of each failed item, with its name and what helps`() async throws {
        try await withResponder { responder in
            _ = try await show(responder, "none")
            let create = #"{"operationType":"create","record":{"recordName":"a","recordType":"Note","fields":{}}}"#
            _ = await post(responder, "records/modify", #"{"operations":[\#(create)]}"#)
            let delete = #"{"operationType":"delete","record":{"recordName":"b"}}"#
            let good = create.replacing(#""a""#, with: #""c""#)
            let id = await post(responder, "records/modify", #"{"operations":[\#(delete),\#(create),\#(good)]}"#)
            for spelling in [id, id.lowercased(), id.uppercased()] {
                let answer = try #require(try await show(responder, spelling))
                #expect(answer.failedItems == 2 && answer.errorCode == nil)
                #expect(answer.failures?.map(\.name) == ["b", "a"])
                #expect(answer.failures?.map(\.serverErrorCode) == ["NOT_FOUND", "EXISTS"])
                #expect(answer.failures?.allSatisfy { !$0.reason.isEmpty && !$0.remedy.isEmpty } == true)
            }
        }
    }

    @Test func `a refused request has its remedy`() async throws {
        try await withResponder { responder in
            _ = try await show(responder, "none")
            let id = await post(responder, "records/query", #"{"query":{"recordType":"Itme"}}"#)
            let answer = try #require(try await show(responder, id))
            #expect(answer.errorCode != nil && answer.remedy?.contains("A type exists") == true)
        }
    }

    @Test func `a development server keeps bodies while requests are watched, and none with credentials`() async throws
    {
        try await withResponder { responder in
            let body = #"{"records":[{"recordName":"a"}]}"#
            let before = await post(responder, "records/lookup", body)
            #expect(try await show(responder, before) == nil, "not watched yet")
            let id = await post(responder, "records/lookup", body)
            let answer = try #require(try await show(responder, id))
            #expect(answer.requestBody == body && answer.requestBodySize == body.utf8.count)
            #expect(answer.answerBody?.contains("NOT_FOUND") == true)
            let large = #"{"records":[{"recordName":"\#(String(repeating: "x", count: 70_000))"}]}"#
            let cut = try #require(try await show(responder, await post(responder, "records/lookup", large)))
            #expect(cut.requestBody == String(large.prefix(RequestRecording.Body.limit)))
            #expect(cut.requestBodySize == large.utf8.count)
            let token = await post(responder, "users/webAuthToken", "{}")
            let secret = try #require(try await show(responder, token))
            #expect(secret.requestBody == nil && secret.answerBody == nil)
        }
    }

    @Test func `a production server keeps no bodies`() async throws {
        let server = try await ProductionServer()
        let requests = try #require(Routes.table.first { $0.path == "/status/requests" })
        _ = await server.send(requests, as: .administrator)
        let lookup = try #require(Routes.table.first { $0.path == "records/lookup" })
        _ = await server.send(lookup, as: .session, body: #"{"records":[{"recordName":"a"}]}"#)
        let target = "/status/requests/show"
        let list = String(decoding: await server.send(requests, as: .administrator).body, as: UTF8.self)
        #expect(list.contains("records/lookup"))
        let id = try #require(list.firstMatch(of: /"requestID":"([0-9A-Fa-f-]+)"/)?.1)
        var request = HTTPRequest(method: .get, target: "\(target)?id=\(id)", host: "localhost")
        request.localUser = 0
        let answer = await server.responder.respond(to: request)
        #expect(answer.status == 200 && !String(decoding: answer.body, as: UTF8.self).contains("Body"))
        await server.close()
    }

    @Test func `recordings beyond their limit go, the oldest first, and so do those of requests that have gone`() {
        var recordings = RequestRecordings()
        var recording = RequestRecording()
        recording.answer = RequestRecording.Body([UInt8](repeating: 0, count: RequestRecording.Body.limit))
        let fitting = RequestRecordings.limit / recording.size
        for position in 0..<fitting { recordings.add(recording, at: 3 * position) }
        #expect(recordings[0] != nil && recordings.size == fitting * recording.size)
        recordings.add(recording, at: 3 * fitting)
        #expect(recordings[0] == nil && recordings[3] != nil)
        recordings.remove(before: 7)
        #expect(recordings[6] == nil && recordings[9] != nil && recordings.size == (fitting - 2) * recording.size)
        recordings.remove(before: .max)
        #expect(recordings.size == 0)
        recordings.add(recording, at: 4 * fitting)
        #expect(recordings[4 * fitting] != nil && recordings.size == recording.size)
    }
}
