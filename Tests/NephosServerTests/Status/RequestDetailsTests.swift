import Foundation
import NephosSQLite
import NephosWire
import Testing

@testable import NephosServer
@testable import NephosService

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
        var notifications: [Notification]?

        struct Notification: Decodable {
            var account: String?
            var database: String?
            var summary: String?
        }
    }

    private static let database = database(of: "iCloud.org.example.App")

    private static func database(of container: String) -> String { "/database/1/\(container)/development/private" }

    private func withResponder(_ body: (Responder) async throws -> Void) async throws {
        let service = NephosService(stores: MemoryStores())
        try await body(Responder(service))
        await service.close()
    }

    private func post(
        _ responder: Responder, _ action: String, _ body: String, as account: String = "mei",
        in database: String = Self.database
    ) async -> String {
        let target = "\(database)/\(action)?ckWebAuthToken=dev:\(account)"
        let response = await responder.respond(
            to: HTTPRequest(method: .post, target: target, host: "localhost", body: Array(body.utf8)))
        return response.headers.last { $0.name == "X-Apple-Request-UUID" }?.value ?? ""
    }

    private func show(_ responder: Responder, _ id: String) async throws -> Answer? {
        let target = "/status/requests/show?id=\(id)"
        let response = await responder.respond(to: HTTPRequest(method: .get, target: target, host: "localhost"))
        return response.status == 200 ? try JSONDecoder().decode(Answer.self, from: Data(response.body)) : nil
    }

    /// The paths of the last requests, the newest first, as `/status` has them.
    private func last(_ responder: Responder) async throws -> [String] {
        struct Last: Decodable {
            struct Request: Decodable { var endpoint: String }
            var requests: [Request]
        }
        let answer = await responder.respond(to: HTTPRequest(method: .get, target: "/status", host: "localhost"))
        return try JSONDecoder().decode(Last.self, from: Data(answer.body)).requests.map(\.endpoint)
    }

    @Test func `looks at the dashboard push out no request of an app`() async throws {
        try await withResponder { responder in
            _ = try await last(responder)
            let record = #"{"recordType": "Note", "fields": {}}"#
            _ = await post(
                responder, "records/modify", #"{"operations": [{"operationType": "create", "record": \#(record)}]}"#)
            let refused = await post(responder, "records/query", #"{"query": {"recordType": "Erand"}}"#)
            let place = "/nephos/1/iCloud.org.example.App/development"
            let looks: [(HTTPMethod, String, Int)] =
                WebFiles.files.keys.map { (.get, "/dashboard/" + $0, 200) } + [
                    (.get, "/", 302), (.get, "/dashboard", 200), (.get, "/status/rights", 200),
                    (.get, "/status/requests", 200), (.get, "/status/requests/show?id=none", 404),
                    (.get, "/health", 200),
                    (.get, "/metrics", 200), (.get, "\(place)/schema/export", 200),
                    (.post, "\(place)/accounts/list", 200), (.post, "\(place)/records/list", 200),
                ]
            for _ in 0..<(RecentRequests.limit / looks.count + 1) {
                for (method, target, status) in looks {
                    let request = HTTPRequest(
                        method: method, target: target, host: "localhost", body: Array(#"{"account": "mei"}"#.utf8))
                    let answered = await responder.respond(to: request).status
                    #expect(answered == status, "\(target)")
                }
            }
            #expect(try await show(responder, refused) != nil)
            #expect(try await last(responder) == ["records/query", "records/modify"])
            for _ in 1..<RecentRequests.limit { _ = await post(responder, "zones/list", "{}") }
            #expect(try await show(responder, refused) != nil)
            _ = await post(responder, "zones/list", "{}")
            #expect(try await show(responder, refused) == nil)
        }
    }

    @Test func `a look that fails is recorded, and so is a change by an administrator`() async throws {
        try await withResponder { responder in
            _ = try await last(responder)
            _ = await post(responder, "zones/list", "{}")
            let place = "/nephos/1/iCloud.org.example.App/development"
            for (target, body) in [
                ("/records/list", #"{"account": "nobody"}"#), ("/zones/remove", #"{"account": "mei", "zones": []}"#),
            ] {
                _ = await responder.respond(
                    to: HTTPRequest(
                        method: .post, target: place + target, host: "localhost", body: Array(body.utf8)))
            }
            #expect(try await last(responder) == ["/nephos/zones/remove", "/nephos/records/list", "zones/list"])
        }
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

    @Test func `a request has the notifications of its container after it`() async throws {
        let service = NephosService(stores: MemoryStores())
        let responder = Responder(service)
        let others = Self.database(of: "iCloud.org.example.Other")
        let places = [("mei", Self.database), ("mei", others), ("tom", Self.database)]
        let subscription = #"{"subscriptionType":"database","subscriptionID":"all"}"#
        let subscriptions = #"{"operations":[{"operationType":"create","subscription":\#(subscription)}]}"#
        for (account, database) in places {
            for device in ["phone", "pad"] {
                _ = await post(
                    responder, "tokens/create", #"{"apnsEnvironment":"development","clientId":"\#(device)"}"#,
                    as: account, in: database)
            }
            _ = await post(responder, "subscriptions/modify", subscriptions, as: account, in: database)
        }
        _ = try await show(responder, "none")
        let zone = #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Notes"}}}]}"#
        let other = await post(responder, "zones/modify", zone, in: others)
        await service.settle()
        let id = await post(responder, "zones/modify", zone)
        await service.settle()
        let found = try #require(try await show(responder, id)?.notifications)
        #expect(found.map(\.account) == ["mei"] && found.map(\.database) == ["private"])
        #expect(found.first?.summary == "subscription all, zone Notes, 2 destinations")
        #expect(try await show(responder, other)?.notifications?.count == 1)
        await service.close()
    }

    @Test func `notifications that are committed together have three entries at most`() {
        let sent = SentNotification(
            notificationID: "1", container: "c", environment: "development", account: "mei", database: "private",
            zoneName: "Notes", subscriptionID: "all", destinations: 1)
        let entries = AnsweredRequest.entries(of: Array(repeating: sent, count: 5))
        #expect(entries.count == 3 && entries[1].summary == "subscription all, zone Notes, 1 destination")
        #expect(entries[2].summary == "subscription all, zone Notes, 1 destination, and 2 more")
        #expect(AnsweredRequest.entries(of: []).isEmpty)
    }

    @Test func `notifications do not evict requests`() throws {
        let recent = RecentRequests()
        let entry = try #require(
            AnsweredRequest.entries(of: [
                SentNotification(
                    notificationID: "n", container: "c", environment: "development", account: "mei",
                    database: "private", zoneName: "Z", subscriptionID: "s", destinations: 1)
            ]).first)
        let request = AnsweredRequest(
            requestID: "r", method: "POST", endpoint: "records/modify", status: 200, milliseconds: 1, answerSize: 1)
        recent.note(request, at: 1000)
        for _ in 0..<5000 { recent.note(entry, at: 1001) }
        recent.note(request, at: 2000)
        let found = recent.requests(after: 0)
        #expect(found.requests.count == 22 && found.requests.first?.request.requestID == "r")
        #expect(found.missed == 4980 && recent.last.count == 2)
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
