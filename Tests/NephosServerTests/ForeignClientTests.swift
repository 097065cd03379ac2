import Foundation
import NephosSQLite
import NephosService
import Testing

@testable import NephosServer

/// Requests in the forms of CloudKit Web Services clients in other languages.
@Suite struct ForeignClientTests {
    private static let app = "/database/1/iCloud.org.example.App/development"
    private static let me = "?ckAPIToken=any&ckWebAuthToken=dev:me"

    /// A server with what clients ask it.
    private struct Cloud {
        let connection: TestConnection

        func ask(
            _ action: String, _ body: String = "{}", database: String = "private", sign: String = me,
            method: String = "POST", takesAdditions: Bool = false
        ) async throws -> (status: Int, body: [String: Any]) {
            let response = try await connection.request(
                method, "\(app)/\(database)/\(action)\(sign)", body: method == "GET" ? "" : body,
                takesAdditions: takesAdditions)
            let body = try JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any]
            return (response.status, try #require(body))
        }

        func items(
            _ action: String, _ body: String, _ key: String = "records", database: String = "private"
        ) async throws -> [[String: Any]] {
            let answer = try await ask(action, body, database: database)
            #expect(answer.status == 200, "\(answer.body)")
            return try #require(answer.body[key] as? [[String: Any]])
        }
    }

    private func withCloud(_ body: (Cloud) async throws -> Void) async throws {
        let service = NephosService(stores: MemoryStores())
        let responder = Responder(service)
        let server = try HTTPServer(ListeningSocket.loopback(port: 0)) { await responder.respond(to: $0) }
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(Cloud(connection: TestConnection(port: server.port))))
        } catch {
            result = .failure(error)
        }
        service.endPolls()
        await server.stop()
        await service.close()
        try result.get()
    }

    private func create(_ name: String, _ fields: String) -> String {
        """
        {"operationType":"create","record":{"recordName":"\(name)","recordType":"Note","fields":\(fields)}}
        """
    }

    /// What answers can have beyond Apple's keys: errors, dates, zones, shares and changes.
    private func makeAdditions(_ cloud: Cloud) async throws -> [(action: String, body: String)] {
        _ = try await cloud.ask(
            "zones/modify",
            #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Z"}}},"#
                + #"{"operationType":"create","zone":{"zoneID":{"zoneName":"Sealed"},"nephosEncryptionScope":"PER_ZONE"}}]}"#
        )
        let date =
            #"{"when":{"value":1000,"type":"TIMESTAMP","nephosSeconds":-978307198.9999},"nephosSize":{"value":1}}"#
        let share =
            #"{"operationType":"create","record":{"recordName":"s","recordType":"cloudkit.share","#
            + #""forRecord":{"recordName":"a"},"participants":[{"nephosOneTimeGUID":"","permission":"READ_WRITE"}]}}"#
        let items = try await cloud.items(
            "records/modify", #"{"zoneID":{"zoneName":"Z"},"operations":[\#(create("a", date)),\#(share)]}"#)
        #expect(items.count == 2 && items.allSatisfy { $0["serverErrorCode"] == nil }, "\(items)")
        return [
            ("records/query", #"{"zoneID":{"zoneName":"Z"},"query":{"recordType":"Nothing"}}"#),
            (
                "records/lookup",
                #"{"zoneID":{"zoneName":"Z"},"records":[{"recordName":"none"},{"recordName":"a"},{"recordName":"s"}]}"#
            ),
            ("records/changes", #"{"zoneID":{"zoneName":"Z"}}"#),
            (
                "changes/zone",
                #"{"zones":[{"zoneID":{"zoneName":"Z"},"resultsLimit":1},{"zoneID":{"zoneName":"none"}}]}"#
            ),
            ("changes/database", #"{"resultsLimit":1}"#), ("zones/list", "{}"),
            (
                "records/modify",
                #"{"operations":[\#(create("b", #"{"n":{"value":"\#(String(repeating: "x", count: 1_100_000))"}}"#))]}"#
            ),
        ]
    }

    @Test func `answers have Apple's keys alone, unless a client asks for additions`() async throws {
        try await withCloud { cloud in
            var all: Set<String> = []
            for (action, body) in try await makeAdditions(cloud) {
                let plain = try await cloud.ask(action, body)
                let full = try await cloud.ask(action, body, takesAdditions: true)
                #expect(plain.status == full.status)
                var keys: Set<String> = []
                let expected = withoutAdditions(full.body, &keys)
                #expect(!keys.isEmpty, "\(action) has no additions: \(full.body)")
                all.formUnion(keys)
                var same = [plain.body, expected as? [String: Any] ?? [:]]
                // What differs from answer to answer.
                for index in same.indices {
                    for key in ["uuid", "syncToken", "continuationMarker"] { same[index][key] = nil }
                }
                let texts = try same.map { body in
                    String(
                        decoding: try JSONSerialization.data(withJSONObject: body, options: .sortedKeys), as: UTF8.self
                    ).replacing(/"(uuid|syncToken)":"[^"]*"/, with: "")
                }
                #expect(texts[0] == texts[1])
                #expect(!texts[0].contains(#""nephosErrorCode"#))
            }
            #expect(
                all == [
                    "nephosErrorCode", "nephosSeconds", "nephosFetchEnd", "nephosEncryptionScope",
                    "nephosRootRecordName", "nephosDateAdded", "nephosOneTimeGUID", "nephosHasAccount",
                ])
            let record = try await cloud.items(
                "records/lookup", #"{"zoneID":{"zoneName":"Z"},"records":[{"recordName":"a"}]}"#)
            #expect((record[0]["fields"] as? [String: Any])?["nephosSize"] != nil, "an app's own field")
        }
    }

    private func withoutAdditions(_ json: Any, _ keys: inout Set<String>) -> Any {
        if let array = json as? [Any] { return array.map { withoutAdditions($0, &keys) } }
        guard let object = json as? [String: Any] else { return json }
        var result: [String: Any] = [:]
        for (key, value) in object {
            if key.hasPrefix("nephos"), !(value is [String: Any]) {
                keys.insert(key)
            } else {
                result[key] = withoutAdditions(value, &keys)
            }
        }
        return result
    }

    @Test func `records come with the zone's syncToken if a client asks for it`() async throws {
        try await withCloud { cloud in
            _ = try await cloud.ask(
                "zones/modify", #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Z"}}}]}"#)
            let asking = Self.me + "&remapEnums=true&getCurrentSyncToken=true"
            let zone = #""zoneID":{"zoneName":"Z"}"#
            let requests = [
                ("records/modify", #"{\#(zone),"operations":[\#(create("a", "{}"))]}"#),
                ("records/lookup", #"{\#(zone),"records":[{"recordName":"a"}]}"#),
                ("records/query", #"{\#(zone),"query":{"recordType":"Note"}}"#),
            ]
            for (action, body) in requests {
                let answer = try await cloud.ask(action, body, sign: asking)
                #expect(answer.status == 200, "\(answer.body)")
                let token = try #require(answer.body["syncToken"] as? String, "\(action)")
                let changes = try await cloud.items(
                    "changes/zone", #"{"zones":[{\#(zone),"syncToken":"\#(token)"}]}"#, "zones")
                #expect(
                    (changes.first?["records"] as? [Any])?.isEmpty == true, "\(action): the save is before the token")
                #expect(try await cloud.ask(action, body).body["syncToken"] == nil)
                let inDefault = body.replacing(zone + ",", with: "").replacing("Z", with: "_defaultZone")
                #expect(try await cloud.ask(action, inDefault, sign: asking).body["syncToken"] == nil)
            }
            let token = try #require(
                try await cloud.ask(requests[2].0, requests[2].1, sign: asking).body["syncToken"] as? String)
            _ = try await cloud.ask("records/modify", #"{\#(zone),"operations":[\#(create("b", "{}"))]}"#)
            let changes = try await cloud.items(
                "changes/zone", #"{"zones":[{\#(zone),"syncToken":"\#(token)"}]}"#, "zones")
            #expect((changes.first?["records"] as? [[String: Any]])?.map { $0["recordName"] as? String } == ["b"])
        }
    }

    @Test func `an update without its recordChangeTag is refused with a remedy`() async throws {
        try await withCloud { cloud in
            for (type, other) in [("update", "forceUpdate"), ("replace", "forceReplace")] {
                let answer = try await cloud.ask(
                    "records/modify",
                    #"{"operations":[{"operationType":"\#(type)","record":{"recordName":"n","recordType":"Note","fields":{}}}]}"#
                )
                let record = (answer.body["records"] as? [[String: Any]])?.first ?? answer.body
                let reason = record["reason"] as? String
                #expect(
                    reason?.contains("needs its recordChangeTag: look the record up for it") == true, "\(answer.body)")
                #expect(reason?.contains("'\(other)'") == true)
            }
        }
    }

    @Test func `a query of a type without records is a BAD_REQUEST in Apple's words`() async throws {
        try await withCloud { cloud in
            let answer = try await cloud.ask("records/query", #"{"query":{"recordType":"Artwork"}}"#)
            #expect(answer.status == 400)
            #expect(answer.body["serverErrorCode"] as? String == "BAD_REQUEST")
            #expect(answer.body["reason"] as? String == "Did not find record type: Artwork")
        }
    }

    @Test func `boolean values may be strings`() async throws {
        try await withCloud { cloud in
            _ = try await cloud.items("records/modify", #"{"operations":[\#(create("a", #"{"n":{"value":5}}"#))]}"#)
            let texts = try await cloud.items(
                "records/lookup", #"{"numbersAsStrings":"true","records":[{"recordName":"a"}]}"#)
            #expect(((texts[0]["fields"] as? [String: Any])?["n"] as? [String: Any])?["value"] as? String == "5")
            let numbers = try await cloud.items(
                "records/query",
                """
                {"numbersAsStrings":"false","zoneWide":"true",
                 "query":{"recordType":"Note","sortBy":[{"fieldName":"n","ascending":"false"}]}}
                """)
            #expect(((numbers[0]["fields"] as? [String: Any])?["n"] as? [String: Any])?["value"] as? Int == 5)
            for word in ["", "True", "1", "yes", "true "] {
                let answer = try await cloud.ask(
                    "records/lookup", #"{"numbersAsStrings":"\#(word)","records":[{"recordName":"a"}]}"#)
                #expect(answer.status == 400 && answer.body["serverErrorCode"] as? String == "BAD_REQUEST", "\(word)")
            }
        }
    }

    @Test func `change tags can be queried, as records have them now`() async throws {
        try await withCloud { cloud in
            func tagged(_ tag: String) async throws -> [String?] {
                try await cloud.items(
                    "records/query",
                    """
                    {"query":{"recordType":"Note","filterBy":[
                      {"fieldName":"___etag","comparator":"EQUALS","fieldValue":{"value":"\(tag)"}}]}}
                    """
                ).map { $0["recordName"] as? String }
            }
            let saved = try await cloud.items(
                "records/modify", #"{"operations":[\#(create("a", "{}")),\#(create("b", "{}"))]}"#)
            let tag = try #require(saved[0]["recordChangeTag"] as? String)
            #expect(try await tagged(tag) == ["a"])
            let change =
                #"{"operationType":"forceUpdate","record":{"recordName":"a","recordType":"Note","fields":{}}}"#
            let changed = try await cloud.items("records/modify", #"{"operations":[\#(change)]}"#)
            #expect(try await tagged(tag).isEmpty)
            #expect(try await tagged(try #require(changed[0]["recordChangeTag"] as? String)) == ["a"])
        }
    }

    @Test func `numbersAsStrings may be set per operation`() async throws {
        try await withCloud { cloud in
            func value(_ item: [String: Any]) -> Any? {
                ((item["fields"] as? [String: Any])?["n"] as? [String: Any])?["value"]
            }
            func saving(_ flag: String, _ name: String) -> String {
                #"{"numbersAsStrings":\#(flag),\#(create(name, #"{"n":{"value":5}}"#).dropFirst())"#
            }
            let items = try await cloud.items(
                "records/modify",
                #"{"operations":[\#(saving("true", "a")),\#(saving("false", "b")),\#(saving("null", "c"))]}"#)
            #expect(value(items[0]) as? String == "5")
            #expect(value(items[1]) as? Int == 5 && value(items[2]) as? Int == 5)
            let others = try await cloud.items(
                "records/modify",
                #"{"numbersAsStrings":true,"operations":[\#(saving("false", "d")),\#(saving("null", "e"))]}"#)
            #expect(value(others[0]) as? Int == 5 && value(others[1]) as? String == "5")
        }
    }

    @Test func `base64 may be broken into lines, as many languages' libraries do`() async throws {
        try await withCloud { cloud in
            let bytes = Data((0..<100).map { UInt8($0) })
            let lines = bytes.base64EncodedString(options: [.lineLength76Characters, .endLineWithLineFeed]) + "\n"
            let sent = [lines, lines.replacingOccurrences(of: "\n", with: "\r\n"), bytes.base64EncodedString()]
            for (index, text) in sent.enumerated() {
                let quoted = String(decoding: try JSONEncoder().encode(text), as: UTF8.self)
                let records = try await cloud.items(
                    "records/modify",
                    #"{"operations":[\#(create("b\(index)", #"{"x":{"value":\#(quoted),"type":"BYTES"}}"#))]}"#)
                let field = (records[0]["fields"] as? [String: Any])?["x"] as? [String: Any]
                #expect(field?["value"] as? String == bytes.base64EncodedString(), "\(records)")
            }
            for text in ["AAA", "A A\\nA", "AA=A", "AAA-", "====", "=", "AAAA\\u00a0"] {
                let answer = try await cloud.ask(
                    "records/modify",
                    #"{"operations":[\#(create("n", #"{"x":{"value":"\#(text)","type":"BYTES"}}"#))]}"#)
                #expect(answer.status == 400 && answer.body["serverErrorCode"] as? String == "BAD_REQUEST", "\(text)")
            }
        }
    }

    @Test func `a value that the schema forbids is refused at its record, and the others are saved`() async throws {
        try await withCloud { cloud in
            _ = try await cloud.items("records/modify", #"{"operations":[\#(create("a", #"{"n":{"value":1}}"#))]}"#)
            let records = try await cloud.items(
                "records/modify",
                """
                {"operations":[\(create("b", #"{"n":{"value":"one"}}"#)),\(create("c", #"{"n":{"value":3}}"#)),
                 \(create("d", #"{"_x":{"value":3}}"#))]}
                """)
            #expect(records[0]["recordName"] as? String == "b")
            #expect(records[0]["serverErrorCode"] as? String == "BAD_REQUEST")
            #expect(
                records[0]["reason"] as? String
                    == "invalid attempt to set value type STRING for field 'n' for type 'Note', defined to be: NUMBER")
            #expect(records[1]["recordName"] as? String == "c" && records[1]["serverErrorCode"] == nil)
            #expect(records[2]["serverErrorCode"] as? String == "ACCESS_DENIED")
            let found = try await cloud.items("records/query", #"{"query":{"recordType":"Note"}}"#)
            #expect(found.compactMap { $0["recordName"] as? String }.sorted() == ["a", "c"])
        }
    }

    @Test func `in a custom zone such a value fails the whole batch, each record with its own error`() async throws {
        try await withCloud { cloud in
            _ = try await cloud.items(
                "zones/modify",
                #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Z"}}}]}"#, "zones")
            _ = try await cloud.items("records/modify", #"{"operations":[\#(create("a", #"{"n":{"value":1}}"#))]}"#)
            let records = try await cloud.items(
                "records/modify",
                """
                {"zoneID":{"zoneName":"Z"},
                 "operations":[\(create("b", #"{"n":{"value":"one"}}"#)),\(create("c", #"{"n":{"value":3}}"#))]}
                """)
            #expect(records.map { $0["serverErrorCode"] as? String } == ["BAD_REQUEST", "ATOMIC_ERROR"])
        }
    }

    @Test func `an encrypted field is refused at its record in the public database`() async throws {
        try await withCloud { cloud in
            let secret = #"{"s":{"value":"x","type":"STRING","isEncrypted":true}}"#
            let records = try await cloud.items(
                "records/modify", #"{"operations":[\#(create("a", secret)),\#(create("b", "{}"))]}"#,
                database: "public")
            #expect(records[0]["reason"] as? String == "encrypted fields are not supported in the public database")
            #expect(records[1]["serverErrorCode"] == nil)
        }
    }

    @Test func `an update of a missing record fails in Apple's words`() async throws {
        try await withCloud { cloud in
            let records = try await cloud.items(
                "records/modify",
                """
                {"operations":[{"operationType":"update","record":{"recordName":"x","recordType":"Note",
                 "recordChangeTag":"1"}}]}
                """)
            #expect(records[0]["serverErrorCode"] as? String == "NOT_FOUND")
            #expect(records[0]["reason"] as? String == "recordChangeTag specified, but record not found")
        }
    }

    /// A client in Dart compares a system field with `{"recordName": …}` and declares it as it declares the field.
    @Test(
        arguments: [
            #"{"value":{"recordName":"a"},"type":"STRING"}"#, #"{"value":{"recordName":"a"},"type":"REFERENCE"}"#,
            #"{"value":{"recordName":"a"}}"#, #"{"value":"a","type":"STRING"}"#, #"{"value":"a"}"#,
            #"{"value":"a","type":"REFERENCE"}"#,
        ])
    func `a recordName filter takes every form of a record name`(_ value: String) async throws {
        try await withCloud { cloud in
            _ = try await cloud.items(
                "records/modify", #"{"operations":[\#(create("a", "{}")),\#(create("b", "{}"))]}"#)
            let records = try await cloud.items(
                "records/query",
                """
                {"query":{"recordType":"Note","sortBy":null,"filterBy":[{"comparator":"EQUALS",
                 "systemFieldName":"recordName","fieldValue":\(value),"distance":null}]},"resultsLimit":null}
                """)
            #expect(records.map { $0["recordName"] as? String } == ["a"])
        }
    }

    @Test func `an empty token starts the feed from the beginning`() async throws {
        try await withCloud { cloud in
            _ = try await cloud.items(
                "zones/modify",
                #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Z"}}}]}"#, "zones")
            let zones = try await cloud.items("changes/database", #"{"syncToken":""}"#, "zones")
            #expect(zones.count == 1)
            let changes = try await cloud.items(
                "changes/zone", #"{"zones":[{"zoneID":{"zoneName":"Z"},"syncToken":""}]}"#, "zones")
            #expect(changes[0]["serverErrorCode"] == nil && changes[0]["moreComing"] as? Bool == false)
            _ = try await cloud.items("records/modify", #"{"operations":[\#(create("a", "{}"))]}"#)
            let found = try await cloud.items(
                "records/query", #"{"query":{"recordType":"Note"},"continuationMarker":""}"#)
            #expect(found.count == 1)
        }
    }

    /// A client in Dart polls the courier with POST.
    @Test func `the courier accepts POST`() async throws {
        try await withCloud { cloud in
            _ = try await cloud.items("records/modify", #"{"operations":[\#(create("a", "{}"))]}"#)
            _ = try await cloud.items(
                "subscriptions/modify",
                """
                {"operations":[{"operationType":"create","subscription":{"subscriptionType":"query",
                 "subscriptionID":"S","zoneID":{"zoneName":"_defaultZone"},"firesOn":["create"],"fireOnce":false,
                 "zoneWide":false,"query":{"recordType":"Note","filterBy":null,"sortBy":null},
                 "notificationInfo":{"shouldSendContentAvailable":true}}}]}
                """, "subscriptions")
            let token = try await cloud.ask("tokens/create", #"{"apnsEnvironment":"development"}"#)
            let address = try #require((token.body["webcourierURL"] as? String).flatMap(URL.init(string:)))
            _ = try await cloud.items("records/modify", #"{"operations":[\#(create("b", "{}"))]}"#)
            let response = try await cloud.connection.request("POST", address.path, body: "")
            #expect(response.status == 200 && response.text.contains(#""sid":"S""#))
        }
    }

    @Test func `discovery finds no users, and needs a signed-in account`() async throws {
        try await withCloud { cloud in
            let infos = #"{"lookupInfos":[{"emailAddress":"a@example.org"},{"phoneNumber":"+15550100"}]}"#
            #expect(try await cloud.items("users/discover", infos, "users", database: "public").isEmpty)
            let users = #"{"users":[{"userRecordName":"_a"}]}"#
            for action in ["users/lookup/email", "users/lookup/id"] {
                #expect(try await cloud.items(action, users, "users", database: "public").isEmpty)
            }
            for action in ["users/discover", "users/lookup/contacts"] {
                let answer = try await cloud.ask(action, database: "public", method: "GET")
                #expect(answer.status == 200 && (answer.body["users"] as? [Any])?.isEmpty == true)
            }
            let stranger = try await cloud.ask("users/discover", infos, database: "public", sign: "?ckAPIToken=any")
            #expect(stranger.status == 421)
            let elsewhere = try await cloud.ask("users/discover", infos)
            #expect(elsewhere.status == 400)
            #expect(
                elsewhere.body["reason"] as? String == "endpoint not applicable in the database type 'privatedb'")
            let malformed = try await cloud.ask("users/discover", #"{"lookupInfos":[{}]}"#, database: "public")
            #expect(
                (malformed.body["reason"] as? String)?.hasSuffix(
                    "lookupInfos[0]: expected one of emailAddress, phoneNumber, userRecordName") == true)
        }
    }
}
