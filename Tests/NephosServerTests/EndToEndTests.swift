import Foundation
import NephosSQLite
import NephosService
import Testing

@testable import NephosServer

/// Raw HTTP and JSON against the whole service, as any client of CloudKit Web Services sees it.
@Suite struct EndToEndTests {
    private static let database = "/database/1/iCloud.org.example.App/development"

    private func withService(_ body: (TestConnection) async throws -> Void) async throws {
        let service = NephosService(stores: MemoryStores())
        let responder = Responder(service)
        let server = try HTTPServer(ListeningSocket.loopback(port: 0)) { await responder.respond(to: $0) }
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(TestConnection(port: server.port)))
        } catch {
            result = .failure(error)
        }
        await server.stop()
        await service.close()
        try result.get()
    }

    private func json(_ response: TestResponse) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any])
    }

    private func records(_ response: TestResponse) throws -> [[String: Any]] {
        try #require(try json(response)["records"] as? [[String: Any]])
    }

    @Test func `a saved record is fetched again`() async throws {
        try await withService { connection in
            let saved = try await connection.request(
                "POST", "\(Self.database)/private/records/modify?ckAPIToken=any&ckWebAuthToken=dev:alice",
                headers: ["Content-Type": "text/plain"],
                body: """
                    {"operations": [{"operationType": "create", "record": {"recordName": "mackerel",
                     "recordType": "Artwork", "fields": {"title": {"value": "Mackerel \\u2601"}, "year": {"value": 1907}}}}]}
                    """)
            #expect(saved.status == 200)
            let record = try #require(try records(saved).first)
            let tag = try #require(record["recordChangeTag"] as? String)

            let fetched = try await connection.request(
                "POST", "\(Self.database)/private/records/lookup?ckWebAuthToken=dev:alice",
                body: #"{"records": [{"recordName": "mackerel"}, {"recordName": "missing"}]}"#)
            #expect(fetched.status == 200)
            let found = try records(fetched)
            #expect(found.count == 2)
            #expect(found[0]["recordChangeTag"] as? String == tag)
            let fields = try #require(found[0]["fields"] as? [String: [String: Any]])
            #expect(fields["title"]?["value"] as? String == "Mackerel ☁")
            #expect(fields["title"]?["type"] as? String == "STRING")
            #expect(fields["year"]?["value"] as? Int == 1907)
            #expect(found[1]["serverErrorCode"] as? String == "NOT_FOUND")
            #expect(found[1]["recordName"] as? String == "missing")
        }
    }

    @Test func `a private record is invisible to another account`() async throws {
        try await withService { connection in
            let body =
                #"{"operations":[{"operationType":"create","record":{"recordName":"mine","recordType":"Note"}}]}"#
            _ = try await connection.request(
                "POST", "\(Self.database)/private/records/modify?ckWebAuthToken=dev:alice", body: body)
            let lookup = #"{"records":[{"recordName":"mine"}]}"#
            let others = try await connection.request(
                "POST", "\(Self.database)/private/records/lookup?ckWebAuthToken=dev:bob", body: lookup)
            #expect(try records(others).first?["serverErrorCode"] as? String == "NOT_FOUND")
            let nobodys = try await connection.request(
                "POST", "\(Self.database)/private/records/lookup", body: lookup)
            #expect(nobodys.status == 421)
        }
    }

    @Test func `a zone is made, listed and deleted`() async throws {
        try await withService { connection in
            func zones(_ action: String, _ body: String) async throws -> [[String: Any]] {
                let response = try await connection.request(
                    "POST", "\(Self.database)/private/zones/\(action)?ckWebAuthToken=dev:alice", body: body)
                #expect(response.status == 200)
                return try #require(try json(response)["zones"] as? [[String: Any]])
            }
            func names(_ zones: [[String: Any]]) -> [String] {
                zones.compactMap { ($0["zoneID"] as? [String: Any])?["zoneName"] as? String }
            }
            let zone = #""zone":{"zoneID":{"zoneName":"Gallery"}}"#
            let made = try await zones("modify", #"{"operations":[{"operationType":"create",\#(zone)}]}"#)
            #expect(names(made) == ["Gallery"])
            let listed = try await zones("list", "")
            #expect(Set(names(listed)) == ["_defaultZone", "Gallery"])
            _ = try await zones("modify", #"{"operations":[{"operationType":"delete",\#(zone)}]}"#)
            let left = try await zones("list", "{}")
            #expect(names(left) == ["_defaultZone"])
            let missing = try await zones("lookup", #"{"zones":[{"zoneName":"Gallery"}]}"#)
            #expect(missing.first?["serverErrorCode"] as? String == "ZONE_NOT_FOUND")
        }
    }

    @Test(arguments: [
        "no JSON", "[1]", #"{"operations":{}}"#, #"{"operations":[{"operationType":"conjure"}]}"#,
        #"{"operations":[{"operationType":"create","record":{"recordName":7}}]}"#,
        #"{"operations":[{"operationType":"create","record":{"recordType":"T","recordName":"\#(tooLong)"}}]}"#,
        #"{"operations":[\#(tooMany)]}"#, #"{"operations":[\#(intoAnotherZone)]}"#,
    ])
    func `a malformed request is refused as a whole and changes nothing`(_ body: String) async throws {
        try await withService { connection in
            let response = try await connection.request(
                "POST", "\(Self.database)/public/records/modify?ckWebAuthToken=dev:alice", body: body)
            #expect(response.status == 400)
            let error = try json(response)
            #expect(error["serverErrorCode"] as? String == "BAD_REQUEST")
            #expect((error["reason"] as? String)?.isEmpty == false)
            #expect(error["uuid"] as? String == response.headers["x-apple-request-uuid"])
            let lookup = try await connection.request(
                "POST", "\(Self.database)/public/records/lookup", body: #"{"records":[{"recordName":"r0"}]}"#)
            #expect(try records(lookup).first?["serverErrorCode"] as? String == "NOT_FOUND")
        }
    }

    private static let tooLong = String(repeating: "n", count: 256)
    private static let tooMany = (0...400).map { number in
        #"{"operationType":"create","record":{"recordType":"T","recordName":"r\#(number)"}}"#
    }.joined(separator: ",")
    private static let intoAnotherZone =
        #"{"operationType":"create","record":{"recordType":"T","recordName":"r0","fields":{"r":{"value":"#
        + #"{"recordName":"x","zoneID":{"zoneName":"Other"}},"type":"REFERENCE"}}}}"#

    @Test(arguments: [("records/modify", 17), ("records/query", 3), ("zones/modify", 3)])
    func `a body over the limit is refused and the connection stays open`(action: String, megabytes: Int) async throws {
        try await withService { connection in
            let body = "{\"operations\":\"" + String(repeating: "x", count: megabytes << 20) + "\"}"
            let response = try await connection.request(
                "POST", "\(Self.database)/private/\(action)?ckWebAuthToken=dev:alice", body: body)
            #expect(response.status == 413)
            #expect(try json(response)["serverErrorCode"] as? String == "BAD_REQUEST")
            #expect(try json(response)["nephosErrorCode"] as? Int == 27)
            #expect(try await connection.request("GET", "/health").status == 200)
        }
    }

    @Test func `many clients save at once`() async throws {
        try await withService { first in
            let port = first.port
            try await withThrowingTaskGroup(of: Int.self) { group in
                for client in 0..<16 {
                    group.addTask {
                        let connection = try TestConnection(port: port)
                        var saved = 0
                        for number in 0..<10 {
                            let response = try await connection.request(
                                "POST", "\(Self.database)/public/records/modify?ckWebAuthToken=dev:c\(client)",
                                body: """
                                    {"operations":[{"operationType":"create","record":{"recordType":"Note",\
                                    "recordName":"n\(client)-\(number)"}}]}
                                    """)
                            if response.text.contains("recordChangeTag") { saved += 1 }
                        }
                        return saved
                    }
                }
                let saved = try await group.reduce(0, +)
                #expect(saved == 160)
            }
        }
    }
}
