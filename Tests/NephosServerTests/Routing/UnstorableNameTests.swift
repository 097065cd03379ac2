import Foundation
import NephosSQLite
import NephosService
import Synchronization
import Testing

@testable import NephosServer

/// A NUL in a name: no store can hold it, so such an item does not exist and cannot be created.
@Suite struct UnstorableNameTests {
    static let refused: [(path: String, body: String)] = [
        (
            "private/records/modify",
            #"{"zoneID": {"zoneName": "NAME"}, "operations": [{"operationType": "create", "record": {"recordType": "T"}}]}"#
        ),
        (
            "private/records/modify",
            #"{"operations": [{"operationType": "forceDelete", "record": {"recordName": "NAME"}}]}"#
        ),
        (
            "private/records/modify",
            """
            {"operations": [{"operationType": "create", "record": {"recordName": "r", "recordType": "T", "fields": {"to": {"value":
             {"recordName": "a", "action": "NONE", "zoneID": {"zoneName": "NAME"}}}}}}]}
            """
        ),
        ("private/records/lookup", #"{"zoneID": {"zoneName": "NAME"}, "records": [{"recordName": "a"}]}"#),
        ("private/records/query", #"{"zoneID": {"zoneName": "NAME"}, "query": {"recordType": "T"}}"#),
        (
            "shared/records/query",
            #"{"zoneID": {"zoneName": "Z", "ownerRecordName": "NAME"}, "query": {"recordType": "T"}}"#
        ),
        ("private/changes/zone", #"{"zones": [{"zoneID": {"zoneName": "NAME"}}]}"#),
        ("private/zones/lookup", #"{"zones": [{"zoneName": "NAME"}]}"#),
        ("shared/zones/lookup", #"{"zones": [{"zoneName": "Z", "ownerRecordName": "NAME"}]}"#),
        (
            "private/zones/modify",
            #"{"operations": [{"operationType": "delete", "zone": {"zoneID": {"zoneName": "NAME"}}}]}"#
        ),
        (
            "private/subscriptions/modify",
            """
            {"operations": [{"operationType": "create", "subscription": {"subscriptionType": "zone", "subscriptionID": "NAME",
             "zoneID": {"zoneName": "_defaultZone"}}}]}
            """
        ),
        (
            "private/subscriptions/modify",
            #"{"operations": [{"operationType": "delete", "subscription": {"subscriptionID": "NAME"}}]}"#
        ),
        ("private/subscriptions/lookup", #"{"subscriptions": [{"subscriptionID": "NAME"}]}"#),
        ("public/records/resolve", #"{"shortGUIDs": [{"value": "NAME"}]}"#),
        ("public/records/accept", #"{"shortGUIDs": [{"value": "NAME"}]}"#),
        ("public/users/lookup/email", #"{"users": [{"emailAddress": "NAME"}]}"#),
        ("public/users/lookup/id", #"{"users": [{"userRecordName": "NAME"}]}"#),
        ("private/tokens/create", #"{"apnsEnvironment": "development", "clientId": "NAME"}"#),
        ("private/assets/upload", #"{"tokens": [{"recordName": "NAME", "recordType": "T", "fieldName": "f"}]}"#),
        (
            "private/assets/upload",
            #"{"zoneID": {"zoneName": "NAME"}, "tokens": [{"recordName": "r", "recordType": "T", "fieldName": "f"}]}"#
        ),
    ]

    @Test(arguments: refused)
    func `a name with a NUL is refused or not found, without a log entry`(path: String, body: String) async throws {
        let log = Log()
        let cloud = NephosService(
            stores: MemoryStores(),
            environment: ServiceEnvironment(
                now: { 1_700_000_000_000 }, makeUUID: { UUID().uuidString }, log: { log.add($0) }))
        let responder = Responder(cloud)
        let server = try HTTPServer(ListeningSocket.loopback(port: 0)) { await responder.respond(to: $0) }
        let connection = try TestConnection(port: server.port)
        let response = try await connection.request(
            "POST", "/database/1/iCloud.org.example.App/development/\(path)?ckWebAuthToken=dev:me",
            body: body.replacing("NAME", with: #"a\u0000b"#))
        await server.stop()
        await cloud.close()
        #expect(response.status < 500, "\(String(decoding: response.body, as: UTF8.self))")
        let says = String(decoding: response.body, as: UTF8.self)
        #expect(says.contains("serverErrorCode") || path.contains("users/lookup"))
        #expect(log.all.isEmpty)
    }

    private final class Log: Sendable {
        private let lines = Mutex<[String]>([])
        var all: [String] { lines.withLock { $0 } }
        func add(_ line: String) { lines.withLock { $0.append(line) } }
    }

    @Test func `a record with an impossible name does not affect the others of a lookup`() async throws {
        let cloud = NephosService(stores: MemoryStores())
        let responder = Responder(cloud)
        let server = try HTTPServer(ListeningSocket.loopback(port: 0)) { await responder.respond(to: $0) }
        let connection = try TestConnection(port: server.port)
        let database = "/database/1/iCloud.org.example.App/development/private/records"
        _ = try await connection.request(
            "POST", "\(database)/modify?ckWebAuthToken=dev:me",
            body: #"{"operations": [{"operationType": "create", "record": {"recordName": "a", "recordType": "T"}}]}"#)
        let response = try await connection.request(
            "POST", "\(database)/lookup?ckWebAuthToken=dev:me",
            body: """
                {"records": [{"recordName": "a\\u0000b"}, {"recordName": "a"},
                 {"recordName": "a", "zoneID": {"zoneName": "z\\u0000"}}]}
                """)
        await server.stop()
        await cloud.close()
        let answer = try #require(try JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any])
        let records = try #require(answer["records"] as? [[String: Any]])
        #expect(records.map { $0["serverErrorCode"] as? String } == ["NOT_FOUND", nil, "ZONE_NOT_FOUND"])
    }
}
