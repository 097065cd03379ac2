import Foundation
import NephosServer
import NephosService
import NephosWire
import Testing

@testable import CloudKit

/// Every endpoint of the service's table, sent by the library over HTTP and in one process.
@Suite struct EndpointTests {
    /// A request for each endpoint, in an order in which most succeed.
    private static let bodies: [(path: String, body: String)] = [
        ("users/current", "{}"), ("users/caller", "{}"),
        ("zones/modify", #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Z"}}}]}"#),
        ("zones/list", "{}"), ("zones/lookup", #"{"zones":[{"zoneName":"Z"}]}"#),
        (
            "records/modify",
            #"{"zoneID":{"zoneName":"Z"},"operations":[{"operationType":"create","#
                + #""record":{"recordName":"a","recordType":"Note","fields":{"n":{"value":1}}}}]}"#
        ),
        ("records/lookup", #"{"zoneID":{"zoneName":"Z"},"records":[{"recordName":"a"},{"recordName":"b"}]}"#),
        ("records/query", #"{"zoneID":{"zoneName":"Z"},"query":{"recordType":"Note"}}"#),
        ("records/changes", #"{"zoneID":{"zoneName":"Z"}}"#),
        ("changes/zone", #"{"zones":[{"zoneID":{"zoneName":"Z"}}]}"#),
        ("changes/database", "{}"), ("zones/changes", "{}"),
        ("records/resolve", #"{"shortGUIDs":[{"value":"0abc"}]}"#),
        ("records/accept", #"{"shortGUIDs":[{"value":"0abc"}]}"#),
        ("records/requestAccess", #"{"shortGUIDs":[{"value":"0abc"}]}"#),
        ("users/participants", #"{"lookupInfos":[{"emailAddress":"a@example.org"}]}"#),
        ("users/webAuthToken", #"{"apiToken":"a"}"#), ("users/discover", "{}"), ("users/lookup/contacts", "{}"),
        ("users/lookup/email", #"{"users":[{"emailAddress":"a@example.org"}]}"#),
        ("users/lookup/id", #"{"users":[{"userRecordName":"_a"}]}"#),
        (
            "subscriptions/modify",
            #"{"operations":[{"operationType":"create","subscription":{"subscriptionID":"s","#
                + #""subscriptionType":"zone","zoneID":{"zoneName":"Z"}}}]}"#
        ),
        ("subscriptions/list", "{}"), ("subscriptions/lookup", #"{"subscriptions":[{"subscriptionID":"s"}]}"#),
        ("tokens/create", #"{"apnsEnvironment":"development"}"#),
        ("tokens/register", #"{"apnsEnvironment":"development","apnsToken":"0a0b"}"#),
        ("assets/upload", #"{"tokens":[{"recordType":"Note","fieldName":"file"}]}"#),
        ("assets/rereference", #"{"assets":[{"recordName":"a","recordType":"Note","fieldName":"file"}]}"#),
        ("keys/account", "{}"), ("keys/reset", "{}"),
        ("keys/enroll", #"{"position":0,"entry":"AAAA"}"#),
        ("keys/lookup", #"{"zoneID":{"zoneName":"Z"}}"#), ("keys/group", #"{"zoneID":{"zoneName":"Z"}}"#),
    ]

    /// The members of an answer, or the refusal.
    private enum Outcome: Hashable {
        case answered([String])
        case refused(ServerErrorCode?, String?)
    }

    private static func outcome<Answer: EndpointAnswering>(
        _ answer: Answer, _ body: String, from service: any CloudService
    ) async throws -> Outcome {
        let request = try Answer.Request(decoding: Array(body.utf8))
        do throws(ServiceFailure) {
            let response = try await service.send(answer.endpoint, request, ServiceCall(scope: .private))
            let json = try? JSONSerialization.jsonObject(with: Data(response.encoded()))
            return .answered((json as? [String: Any] ?? [:]).keys.sorted())
        } catch {
            guard case .refused(let refusal) = error else { throw error }
            return .refused(refusal.serverErrorCode, refusal.reason)
        }
    }

    private static func outcomes(_ transport: Transport) async throws -> [String: Outcome] {
        let answers = Dictionary(uniqueKeysWithValues: NephosService.endpoints.map { (path(of: $0), $0) })
        var outcomes: [String: Outcome] = [:]
        try await Cloud.with(transport) { cloud in
            let service = cloud.container().session.service
            for (path, body) in bodies {
                let answer = try #require(answers[path], "\(path)")
                outcomes[path] = try await outcome(answer, body, from: service)
            }
        }
        return outcomes
    }

    private static func path(of answer: some EndpointAnswering) -> String { answer.endpoint.path }

    @Test func `every endpoint answers alike over HTTP and in one process`() async throws {
        let overHTTP = try await Self.outcomes(.http)
        let inProcess = try await Self.outcomes(.inProcess)
        #expect(Set(overHTTP.keys) == Set(NephosService.endpoints.map { Self.path(of: $0) }))
        for (path, outcome) in overHTTP { #expect(inProcess[path] == outcome, "\(path)") }
        let refused = overHTTP.filter { if case .refused = $0.value { true } else { false } }.keys.sorted()
        // An enrolment without a device, and the lookups of people, which find none.
        let lookups = ["users/discover", "users/lookup/contacts", "users/lookup/email", "users/lookup/id"]
        #expect(refused == ["keys/enroll"] + lookups)
    }

    @Test func `an endpoint that only reads is retried, and one that changes something is not`() {
        func isIdempotent(_ answer: some EndpointAnswering) -> Bool {
            if case .idempotent = answer.endpoint.retry { true } else { false }
        }
        let reads = NephosService.endpoints.filter { isIdempotent($0) }.map { Self.path(of: $0) }
        let changing = ["modify", "accept", "requestAccess", "upload", "rereference", "create", "register", "enroll"]
        for path in reads { #expect(!changing.contains { path.hasSuffix($0) }, "\(path)") }
        #expect(reads.count == 18)
    }

    @Test func `a request with a message is sent by POST, and one without by GET`() async throws {
        let received = Locked<[String]>([])
        let server = try HTTPServer(ListeningSocket.loopback(port: 0)) { request in
            let body = String(decoding: request.body, as: UTF8.self)
            received.withLock { $0.append("\(request.method.rawValue) \(body.contains("a@example.org"))") }
            return NephosServer.HTTPResponse(status: 200, body: Array(#"{"users":[],"zones":[]}"#.utf8))
        }
        let url = try #require(URL(string: "http://127.0.0.1:\(server.port)"))
        let service = CloudKitEnvironment(url: url, account: .token("dev:me")).service(of: "iCloud.test")
        let call = ServiceCall(scope: .private)
        let lookup = UserLookupRequest(lookupInfos: [.init(emailAddress: "a@example.org")])
        _ = try await service.send(.discoverUsers, lookup, call)
        _ = try await service.send(.listZones, call)
        await server.stop()
        #expect(received.withLock { $0 } == ["POST true", "GET false"])
    }
}
