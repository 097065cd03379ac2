import Foundation
import Testing

/// The schema's own routes, on a running server.
@Suite struct SchemaRouteTests {
    private static let base = "/nephos/1/iCloud.org.example.App/"
    private static let text =
        "DEFINE SCHEMA RECORD TYPE Note (\"___recordID\" REFERENCE QUERYABLE, t STRING QUERYABLE);"

    private func withServer(_ body: (TestConnection) async throws -> Void) async throws {
        let server = try StartedNephos(["dev", "--in-memory", "--port", "0"])
        try await body(try TestConnection(port: try readyPort(try await server.readyLine())))
        #expect(try await server.stop().status == 0)
    }

    private func records(
        _ connection: TestConnection, _ environment: String, _ action: String, _ body: String,
        database: String = "private",
        account: String = "me"
    ) async throws -> TestResponse {
        try await connection.request(
            "POST",
            "/database/1/iCloud.org.example.App/\(environment)/\(database)/records/\(action)?ckWebAuthToken=dev:\(account)",
            body: body)
    }

    private func save(_ name: String, _ fields: String = "", type: String = "Note") -> String {
        """
        {"operations":[{"operationType":"forceUpdate","record":{"recordName":"\(name)","recordType":"\(type)",
        "fields":{\(fields)}}}]}
        """
    }

    @Test func `a schema is validated, imported, exported and deployed, and production enforces it`() async throws {
        try await withServer { connection in
            func send(_ action: String, _ body: String? = nil, environment: String = "development") async throws
                -> TestResponse
            {
                try await connection.request(
                    body == nil ? "GET" : "POST", "\(Self.base)\(environment)/schema/\(action)", body: body)
            }
            var response = try await send("validate", Self.text)
            #expect(response.status == 200)
            #expect(response.text == #"{"findings":[],"changes":["record type 'Note' added"]}"# + "\n")
            #expect(try await !send("export").text.contains("Note"))
            #expect(try await send("import", Self.text).status == 200)
            response = try await send("export")
            #expect(response.headers["content-type"] == "text/plain; charset=UTF-8")
            #expect(response.text.hasPrefix("DEFINE SCHEMA\n\n    RECORD TYPE Note (\n"))

            // Not there yet.
            response = try await records(connection, "production", "modify", save("a"))
            #expect(response.text.contains(#""serverErrorCode":"BAD_REQUEST""#))
            #expect(response.text.contains("Cannot create new type Note in production schema"))
            #expect(try await send("deploy", "").status == 200)
            response = try await records(connection, "production", "modify", save("a", #""t":{"value":"x"}"#))
            #expect(response.text.contains("recordChangeTag"))
            response = try await records(connection, "production", "modify", save("b", #""u":{"value":"x"}"#))
            #expect(response.text.contains("Cannot create or modify field 'u' in record 'Note' in production schema"))
            response = try await records(
                connection, "production", "modify", save("b", #""t":{"value":1,"type":"INT64"}"#))
            #expect(response.text.contains("invalid attempt to set value type INT64 for field 't' for type 'Note'"))
            for (query, reason) in [
                (#""sortBy":[{"fieldName":"t"}]"#, "Field 't' is not marked sortable"),
                (
                    #""filterBy":[{"fieldName":"t","comparator":"CONTAINS_ALL_TOKENS","fieldValue":{"value":"x"}}]"#,
                    "Field 't' is not marked searchable"
                ),
                (
                    #""filterBy":[{"fieldName":"n","comparator":"EQUALS","fieldValue":{"value":"x"}}]"#,
                    "Field 'n' is not marked queryable"
                ),
            ] {
                response = try await records(
                    connection, "production", "query", #"{"query":{"recordType":"Note",\#(query)}}"#)
                #expect(response.status == 400 && response.text.contains(reason), "\(response.text)")
            }
            response = try await records(connection, "production", "query", #"{"query":{"recordType":"Note"}}"#)
            #expect(response.status == 200 && response.text.contains(#""recordName":"a""#))
            #expect(try await send("indexes", environment: "production").text.contains(#""state":"ready""#))
        }
    }

    @Test func `a refusal says where and why, and changes nothing`() async throws {
        try await withServer { connection in
            func post(_ action: String, _ body: String, _ environment: String = "development") async throws
                -> TestResponse
            {
                try await connection.request("POST", "\(Self.base)\(environment)/schema/\(action)", body: body)
            }
            var response = try await post("import", "DEFINE SCHEMA\nRECORD TYPE Note (t STRIN);")
            #expect(response.status == 400)
            #expect(response.text.contains(#""serverErrorCode":"BAD_REQUEST""#))
            #expect(response.text.contains(#""line":2,"column":21"#))
            #expect(response.text.contains("Was expecting one of"))
            response = try await records(connection, "development", "modify", save("a", #""t":{"value":"x"}"#))
            #expect(response.status == 200)
            response = try await post("import", "DEFINE SCHEMA")
            #expect(response.status == 400)
            #expect(response.text.contains("record type 'Note' cannot be dropped: 1 record would lose data: 'a'"))
            for action in ["import", "validate", "reset", "deploy"] {
                response = try await post(action, action == "deploy" ? "" : Self.text, "production")
                #expect(response.status == 400)
                #expect(response.text.contains("endpoint not applicable in the environment 'production'"))
            }
            response = try await post("deploy", #"{"changes":["record type 'Other' added"]}"#)
            #expect(response.status == 400 && response.text.contains("look at them again"))
            #expect(try await post("deploy", #"{"changes":"all"}"#).status == 400)
            #expect(try await post("deploy", #"{"changes":["record type 'Note' added"]}"#).status == 200)
            #expect(try await post("reset", "").status == 200)
            response = try await records(connection, "development", "lookup", #"{"records":[{"recordName":"a"}]}"#)
            #expect(response.text.contains("NOT_FOUND"))
        }
    }

    @Test(arguments: [
        ("GET", "/nephos/1/iCloud.a/development/schema/import", 405),
        ("POST", "/nephos/1/iCloud.a/development/schema/export", 405),
        ("GET", "/nephos/1/iCloud.a/development/schema/exports", 404), ("GET", "/nephos/1/iCloud.a/development", 404),
        ("GET", "/nephos/2/iCloud.a/development/schema/export", 404),
        ("GET", "/nephos/1/iCloud.a/staging/schema/export", 400),
        ("GET", "/nephos/1/..%2Fx/development/schema/export", 400), ("GET", "/nephos/schema/export", 404),
        ("GET", "/database/1/iCloud.a/development/public/nephos/schema/export", 404),
        ("GET", "/database/1/iCloud.a/development/public/schema/export", 404),
    ])
    func `an unknown path is refused`(method: String, path: String, status: Int) async throws {
        try await withServer { connection in
            let response = try await connection.request(method, path, body: method == "POST" ? "" : nil)
            #expect(response.status == status, "\(response.text)")
        }
    }

    @Test func `a body that is not UTF-8 and a page of another site are refused`() async throws {
        try await withServer { connection in
            try await connection.send(
                Array(
                    "POST \(Self.base)development/schema/import HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\n\r\n"
                        .utf8)
                    + [0xFF, 0xFE])
            let response = try await connection.response()
            #expect(response.status == 400 && response.text.contains("not UTF-8"))
            let other = try await connection.request(
                "POST", "\(Self.base)development/schema/reset", headers: ["Origin": "https://example.org"], body: "")
            #expect(other.status == 403)
        }
    }

    @Test func `in the public database only the creator changes a record`() async throws {
        try await withServer { connection in
            var response = try await records(
                connection, "development", "modify", save("a", #""t":{"value":"x"}"#), database: "public",
                account: "mei")
            #expect(response.text.contains("recordChangeTag"))
            response = try await records(
                connection, "development", "modify", save("a", #""t":{"value":"y"}"#), database: "public",
                account: "tom")
            #expect(response.text.contains(#""serverErrorCode":"ACCESS_DENIED""#))
            #expect(response.text.contains("WRITE operation not permitted"))
        }
    }
}
