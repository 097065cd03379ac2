import Foundation
import Testing

/// `nephos schema sync`, `nephos preflight` and `nephos dev --as-production`, as a developer runs them.
@Suite struct SchemaSyncTests {
    private static let container = ["--container", "iCloud.org.example.App"]

    private func save(_ port: UInt16, _ name: String, _ fields: String) async throws -> String {
        try await TestConnection(port: port).request(
            "POST", "/database/1/iCloud.org.example.App/development/private/records/modify?ckWebAuthToken=dev:me",
            body: """
                {"operations":[{"operationType":"create","record":{"recordName":"\(name)","recordType":"Note",
                "fields":{\(fields)}}}]}
                """
        ).text
    }

    @Test func `a schema file follows what saves add, and brings what it has more`() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appendingPathComponent("app.ckdb")
            let server = try StartedNephos(["dev", "--in-memory", "--port", "0"])
            let port = try readyPort(try await server.readyLine())
            let place = ["--url", "http://127.0.0.1:\(port)"] + Self.container
            func run(_ arguments: String...) async throws -> Finished {
                try await StartedNephos(arguments + place).finish()
            }
            _ = try await save(port, "a", #""title":{"value":"x"}"#)
            #expect(try await run("schema", "sync", "--check", file.path).status == 1, "the file is missing")
            let misspelt = ["--url", place[1], "--container", "iCloud.org.example.Ap"]
            let finished = try await StartedNephos(["schema", "sync", file.path] + misspelt).finish()
            #expect(
                finished.status == 1 && finished.errors.contains("no container iCloud.org.example.Ap"), "\(finished)")
            #expect(!FileManager.default.fileExists(atPath: file.path))
            #expect(try await run("schema", "sync", file.path).output == "\(file.path) made\n")
            #expect(try await run("preflight", file.path).status == 0)
            #expect(try await run("preflight").status == 1, "production has nothing yet")

            _ = try await save(port, "b", #""stars":{"value":1}"#)
            let lacking = try await run("preflight", file.path)
            #expect(lacking.status == 1 && lacking.errors.contains("field 'stars' of record type 'Note'"), "\(lacking)")
            let text = try String(contentsOf: file, encoding: .utf8)
            #expect(try await run("schema", "sync", "--check", file.path).status == 1)
            #expect(try String(contentsOf: file, encoding: .utf8) == text, "a check changes nothing")

            // The file brings a field of its own, and receives the save's.
            let edited = text.replacing("DEFINE SCHEMA", with: "DEFINE SCHEMA\n-- ours")
                .replacing("title ", with: "extra DOUBLE SORTABLE,\n        title ")
            try Data(edited.utf8).write(to: file)
            let synced = try await run("schema", "sync", file.path)
            #expect(
                synced.status == 0 && synced.output.contains("development: field 'extra'")
                    && synced.output.contains("\(file.path): field 'stars'"), "\(synced)")
            #expect(try await run("schema", "export").output == String(contentsOf: file, encoding: .utf8))
            let commented = "-- ours\n" + (try String(contentsOf: file, encoding: .utf8))
            try Data(commented.utf8).write(to: file)
            #expect(try await run("schema", "sync", file.path).output == "nothing to change\n")
            #expect(try String(contentsOf: file, encoding: .utf8) == commented, "a whole file keeps its comments")
            try Data(edited.replacing("extra DOUBLE SORTABLE", with: "stars BYTES").utf8).write(to: file)
            #expect(try await run("schema", "sync", file.path).errors.contains("'stars' of record type 'Note'"))
            #expect(try await run("schema", "deploy").status == 0)
            #expect(try await run("preflight").status == 0)
            #expect(try await server.stop().status == 0)
        }
    }

    @Test func `as production, only an import changes the schema`() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appendingPathComponent("app.ckdb")
            try Data("DEFINE SCHEMA RECORD TYPE Note ( title STRING QUERYABLE );".utf8).write(to: file)
            let server = try StartedNephos(["dev", "--in-memory", "--port", "0", "--as-production"])
            let port = try readyPort(try await server.readyLine())
            let title = #""title":{"value":"x"}"#
            #expect(try await save(port, "a", title).contains("Cannot create new type Note in production schema"))
            let place = ["--url", "http://127.0.0.1:\(port)"] + Self.container
            #expect(try await StartedNephos(["schema", "import", file.path] + place).finish().status == 0)
            #expect(try await save(port, "a", title).contains("recordChangeTag"))
            #expect(
                try await save(port, "b", #""stars":{"value":1}"#).contains("'stars' in record 'Note' in production"))
            #expect(try await server.stop().status == 0)
        }
    }
}
