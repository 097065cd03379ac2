import Foundation
import Glibc
import Testing

/// Kills of the server during an index build: the next one resumes the build, and never uses a partial index.
@Suite struct IndexKillTests {
    private static let count = 6000
    private static let container = "iCloud.org.example.App"

    private static func schema(_ indexed: [String]) -> String {
        let fields = (0..<4).map { "f\($0) NUMBER\(indexed.contains("f\($0)") ? " SORTABLE" : "")" }
        return
            #"DEFINE SCHEMA RECORD TYPE Note ("___recordID" REFERENCE QUERYABLE, \#(fields.joined(separator: ", ")));"#
    }

    private static func send(_ port: UInt16, _ path: String, _ body: String?) async throws -> TestResponse {
        try await TestConnection(port: port).request(body == nil ? "GET" : "POST", path, body: body)
    }

    private static func records(_ port: UInt16, _ action: String, _ body: String) async throws -> TestResponse {
        try await send(
            port, "/database/1/\(container)/development/private/records/\(action)?ckWebAuthToken=dev:me", body)
    }

    private static func schema(_ port: UInt16, _ action: String, _ body: String? = nil) async throws -> TestResponse {
        try await send(port, "/nephos/1/\(container)/development/schema/\(action)", body)
    }

    /// The names that a query sorted by a field gives, all pages.
    private static func sorted(_ port: UInt16, by field: String) async throws -> [String] {
        var names: [String] = []
        var marker: String?
        repeat {
            let continuation = marker.map { #","continuationMarker":"\#($0)""# } ?? ""
            let response = try await records(
                port, "query",
                #"{"query":{"recordType":"Note","sortBy":[{"fieldName":"\#(field)"}]},"desiredKeys":[]\#(continuation)}"#
            )
            let page = try #require(
                try JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any], "\(response.text)")
            let records = try #require(page["records"] as? [[String: Any]], "\(response.text)")
            names += records.compactMap { $0["recordName"] as? String }
            marker = page["continuationMarker"] as? String
        } while marker != nil
        return names
    }

    @Test func `an index build that a kill interrupts is finished by the next server, and never used before`()
        async throws
    {
        try await withTemporaryDirectory { directory in
            let arguments = ["dev", "--port", "0", "--data", directory.path]
            var server = try StartedNephos(arguments)
            var port = try readyPort(try await server.readyLine())
            #expect(try await Self.schema(port, "import", Self.schema([])).status == 200)
            for start in stride(from: 0, to: Self.count, by: 400) {
                let operations = (start..<min(start + 400, Self.count)).map { index in
                    let fields = (0..<4).map { "\"f\($0)\":{\"value\":\(index)}" }.joined(separator: ",")
                    return
                        #"{"operationType":"create","record":{"recordName":"r\#(index)","recordType":"Note","fields":{\#(fields)}}}"#
                }
                let saved = try await Self.records(
                    port, "modify", "{\"operations\":[\(operations.joined(separator: ","))]}")
                #expect(saved.status == 200)
            }
            var halfBuilt = 0
            for round in 0..<4 {
                let field = "f\(round)"
                let declared = Self.schema((0...round).map { "f\($0)" })
                #expect(try await Self.schema(port, "import", declared).status == 200)
                // How far it got is another in each round.
                for _ in 0..<round { _ = try await Self.schema(port, "indexes") }
                kill(server.process.processIdentifier, SIGKILL)
                #expect(try await server.finish().status == SIGKILL)
                // What the next server finds.
                let found = try await StartedNephos(["schema", "indexes", "--data", directory.path]).finish()
                #expect(found.status == 0)
                if found.output.contains("\(field) SORTABLE  building") { halfBuilt += 1 }
                server = try StartedNephos(arguments)
                port = try readyPort(try await server.readyLine())
                #expect(try await Self.sorted(port, by: field) == (0..<Self.count).map { "r\($0)" })
                #expect(
                    try await Self.schema(port, "indexes").text.contains(
                        #""fields":["\#(field) SORTABLE"],"state":"ready""#))
            }
            #expect(halfBuilt > 0, "every kill came too late to show anything")
            #expect(try await server.stop().status == 0)
        }
    }
}
