import Foundation
import Glibc
import Testing

/// `nephos schema` as its users run it: against a server that is another process, and on a data directory.
@Suite struct SchemaCommandTests {
    private static let container = ["--container", "iCloud.org.example.App"]
    private static let schema = """
        DEFINE SCHEMA
            RECORD TYPE Note (
                "___recordID" REFERENCE QUERYABLE,
                title         STRING QUERYABLE SORTABLE
            );

        """

    private static func run(
        _ arguments: [String], input: String? = nil, environment: [String: String] = [:]
    ) async throws -> Finished {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("nephos-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let file = directory.appendingPathComponent("input")
        try Data((input ?? "").utf8).write(to: file)
        return try await StartedNephos(
            ["schema"] + arguments, environment: environment, input: try FileHandle(forReadingFrom: file)
        ).finish()
    }

    private static func save(_ port: UInt16, _ name: String, environment: String = "development") async throws
        -> TestResponse
    {
        try await TestConnection(port: port).request(
            "POST", "/database/1/iCloud.org.example.App/\(environment)/private/records/modify?ckWebAuthToken=dev:me",
            body: """
                {"operations":[{"operationType":"create","record":{"recordName":"\(name)","recordType":"Note",
                "fields":{"title":{"value":"x"}}}}]}
                """)
    }

    @Test func `a field is dropped with its values on confirmation, and may then have another type`() async throws {
        try await withTemporaryDirectory { directory in
            let data = directory.appendingPathComponent("data").path
            let server = try StartedNephos(["dev", "--data", data, "--port", "0"])
            let port = try readyPort(try await server.readyLine())
            func save(_ name: String, _ value: String) async throws -> String {
                try await TestConnection(port: port).request(
                    "POST",
                    "/database/1/iCloud.org.example.App/development/private/records/modify?ckWebAuthToken=dev:me",
                    body: """
                        {"operations":[{"operationType":"create","record":{"recordName":"\(name)","recordType":"Note",
                        "fields":{"stars":{"value":\(value)}}}}]}
                        """
                ).text
            }
            #expect(try await save("a", "1").contains("recordChangeTag"))
            #expect(try await save("b", #""five""#).contains("invalid attempt to set value type STRING"))
            let place = ["--url", "http://127.0.0.1:\(port)"] + Self.container
            var finished = try await Self.run(["drop", "Note", "stars"] + place)
            #expect(finished.status == 2 && finished.errors.contains("give '--yes'"), "\(finished)")
            finished = try await Self.run(["drop", "Note", "--yes"] + place)
            #expect(finished.status == 2 && finished.errors.contains("needs a record type and a field"), "\(finished)")
            finished = try await Self.run(["drop", "Notes", "stars", "--yes"] + place)
            #expect(finished.status == 1 && finished.errors.contains("did you mean 'Note'?"), "\(finished)")
            finished = try await Self.run(["drop", "Note", "stars", "--yes"] + place)
            #expect(
                finished.status == 0 && finished.output.contains("values of 'stars' erased from 1 record\n"),
                "\(finished)")
            #expect(try await save("b", #""five""#).contains("recordChangeTag"))
            #expect(try await server.stop().status == 0)
            finished = try await Self.run(["drop", "Note", "stars", "--yes", "--data", data] + Self.container)
            #expect(finished.status == 0 && finished.output.contains("erased from 1 record"), "\(finished)")
        }
    }

    @Test func `every schema command works on a running server, and on its data directory after it stopped`()
        async throws
    {
        try await withTemporaryDirectory { directory in
            let file = directory.appendingPathComponent("app.ckdb")
            try Data(Self.schema.utf8).write(to: file)
            let data = directory.appendingPathComponent("data").path
            let server = try StartedNephos(["dev", "--data", data, "--port", "0"])
            let port = try readyPort(try await server.readyLine())
            let url = ["--url", "http://127.0.0.1:\(port)"]
            func expectCommands(_ place: [String], _ suffix: String) async throws {
                var finished = try await Self.run(["validate", file.path] + place + Self.container)
                #expect(finished.status == 0 && finished.output.hasSuffix("✅ Schema is valid.\n"), "\(finished)")
                finished = try await Self.run(["import", file.path] + place + Self.container)
                #expect(finished.status == 0 && finished.errors.isEmpty, "\(finished)")
                finished = try await Self.run(["export"] + place + Self.container)
                #expect(finished.status == 0 && finished.output.contains("title           STRING QUERYABLE SORTABLE"))
                let exported = directory.appendingPathComponent("exported\(suffix).ckdb")
                #expect(
                    try await Self.run(["export", "--output", exported.path] + place + Self.container).output.isEmpty)
                #expect(try String(contentsOf: exported, encoding: .utf8) == finished.output)
                // What was exported, from standard input.
                finished = try await Self.run(["import", "-"] + place + Self.container, input: finished.output)
                #expect(finished.status == 0 && finished.output == "nothing to change\n", "\(finished)")
            }
            try await expectCommands(url, "-url")
            var finished = try await Self.run(
                ["deploy"] + url, environment: ["NEPHOS_CONTAINER": "iCloud.org.example.App"])
            #expect(finished.status == 0 && finished.output == "record type 'Note' added\n", "\(finished)")
            #expect(try await Self.save(port, "a", environment: "production").text.contains("recordChangeTag"))
            #expect(try await Self.save(port, "b").text.contains("recordChangeTag"))
            // Where a server is named, it is asked: this one's production has what the import would drop.
            finished = try await Self.run(
                ["validate", "-"] + Self.container, input: "DEFINE SCHEMA", environment: ["NEPHOS_URL": url[1]])
            #expect(finished.status == 1 && finished.errors.contains("is in the schema of production"), "\(finished)")

            // The server has the directory.
            finished = try await Self.run(["export", "--data", data] + Self.container)
            #expect(finished.status == 1 && finished.output.isEmpty)
            #expect(finished.errors.contains("is in use by process \(server.process.processIdentifier)"), "\(finished)")
            #expect(finished.errors.contains("--url"))
            #expect(try await server.stop().status == 0)

            try await expectCommands(["--data", data], "-data")
            // The only container need not be named.
            finished = try await Self.run(["export", "--data", data, "--environment", "production"])
            #expect(finished.status == 0 && finished.output.contains("RECORD TYPE Note ("))
            finished = try await Self.run(["deploy", "--data", data])
            #expect(finished.status == 0 && finished.output == "nothing to change\n", "\(finished)")
            finished = try await Self.run(["reset", "--data", data])
            #expect(finished.status == 2 && finished.errors.contains("Nothing is erased without"), "\(finished)")
            finished = try await Self.run(["reset", "--yes", "--data", data])
            #expect(finished.status == 0 && finished.output == "all records of development erased\n", "\(finished)")

            // A server that is started on it afterwards has what was done.
            let second = try StartedNephos(["dev", "--data", data, "--port", "0"])
            let newPort = try readyPort(try await second.readyLine())
            let response = try await TestConnection(port: newPort).request(
                "POST", "/database/1/iCloud.org.example.App/development/private/records/lookup?ckWebAuthToken=dev:me",
                body: #"{"records":[{"recordName":"b"}]}"#)
            #expect(response.text.contains("NOT_FOUND"))
            #expect(try await second.stop().status == 0)
        }
    }

    @Test func `errors name the file, the line and the column`() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appendingPathComponent("bad.ckdb").path
            try Data("DEFINE SCHEMA\n\nRECORD TYPE Note (\n    title BADTYPE\n);\n".utf8).write(
                to: URL(fileURLWithPath: file))
            let server = try StartedNephos(["dev", "--in-memory", "--port", "0"])
            let url = "http://localhost:\(try readyPort(try await server.readyLine()))/"
            let data = directory.appendingPathComponent("data").path
            try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: true)
            let expected =
                "\(file):4:11: error: Encountered \"BADTYPE\" at line 4, column 11. Was expecting one of: \"ASSET\", "
            for place in [[], ["--url", url] + Self.container, ["--data", data] + Self.container] {
                for action in place.isEmpty ? ["validate"] : ["import"] {
                    let finished = try await Self.run([action, file] + place)
                    #expect(finished.status == 1 && finished.output.isEmpty)
                    #expect(finished.errors.hasPrefix(expected), "\(finished.errors)")
                }
            }
            // Several errors, each at its place; and standard input has a name.
            let rules = try await Self.run(
                ["validate", "-"],
                input:
                    "DEFINE SCHEMA\nRECORD TYPE Note (\n  a ASSET QUERYABLE,\n  b INT64 SEARCHABLE,\n  c BYTES SORTABLE\n);\n"
            )
            #expect(rules.status == 1)
            let lines = rules.errors.split(separator: "\n")
            #expect(lines.count == 4)
            #expect(lines.first?.hasPrefix("<stdin>:3:3: error: field 'a' of record type 'Note' is ASSET") == true)
            #expect(lines.dropFirst().first?.hasPrefix("<stdin>:4:3: error: ") == true)
            #expect(lines.dropFirst(2).first?.hasPrefix("<stdin>:5:3: warning: ") == true)
            #expect(try await server.stop().status == 0)
        }
    }

    @Test func `an import that would lose data names the records, on a server and on a directory`() async throws {
        try await withTemporaryDirectory { directory in
            let data = directory.appendingPathComponent("data").path
            let server = try StartedNephos(["dev", "--data", data, "--port", "0"])
            let port = try readyPort(try await server.readyLine())
            _ = try await Self.save(port, "precious")
            let expected =
                "<stdin>: error: record type 'Note' cannot be dropped: 1 record would lose data: 'precious'\n"
                + "nephos: the import was refused; nothing is changed.\n"
            let url = ["--url", "http://127.0.0.1:\(port)"]
            var finished = try await Self.run(["import", "-"] + url + Self.container, input: "DEFINE SCHEMA")
            #expect(finished.status == 1 && finished.errors == expected, "\(finished)")
            #expect(try await server.stop().status == 0)
            finished = try await Self.run(["import", "-", "--data", data], input: "DEFINE SCHEMA")
            #expect(finished.status == 1 && finished.errors == expected, "\(finished)")
        }
    }

    @Test func `a schema is validated on its own without a server`() async throws {
        let finished = try await Self.run(["validate", "-"], input: Self.schema)
        #expect(finished.status == 0 && finished.output == "✅ Schema is valid.\n" && finished.errors.isEmpty)
    }

    @Test(arguments: [
        ([], "no schema command"), (["frobnicate"], "unknown schema command 'frobnicate'"),
        (["import"], "needs a file"),
        (["export"], "which container"), (["export", "x"], "unexpected argument 'x'"),
        (["validate", "a", "b"], "unexpected argument 'b'"),
        (["export", "--url", "http://x", "--data", "y"], "exclude each other"),
        (["export", "--container", "iCloud.a", "--environment", "staging"], "'staging' is no environment"),
        (["reset", "--output", "x"], "'--output' belongs to export"),
        (["deploy", "--force"], "unknown option '--force'"),
    ])
    func `invalid arguments exit with 2`(arguments: [String], message: String) async throws {
        let finished = try await Self.run(arguments)
        #expect(finished.status == 2 && finished.exited && finished.output.isEmpty)
        #expect(finished.errors.contains(message), "\(finished.errors)")
    }

    @Test(arguments: [
        (["validate", "/does/not/exist.ckdb"], "cannot read /does/not/exist.ckdb: No such file or directory"),
        (["validate", "/"], "cannot read /: Is a directory"),
        (["export", "--data", "/does/not/exist"], "there is no data directory /does/not/exist"),
        (
            ["export", "--url", "http://127.0.0.1:1", "--container", "iCloud.a"],
            "no server answers at http://127.0.0.1:1: Connection refused"
        ),
        (["export", "--url", "ftp://x", "--container", "iCloud.a"], "'ftp://x' is not the address of a server"),
        (
            ["export", "--url", "https://127.0.0.1:1", "--container", "iCloud.a"],
            "no server answers at https://127.0.0.1:1"
        ),
        (["export", "--url", "http://127.0.0.1:1", "--container", "a/b"], "'a/b' is no container identifier"),
    ])
    func `a failing command says why and exits with 1`(arguments: [String], message: String) async throws {
        let finished = try await Self.run(arguments)
        #expect(finished.status == 1 && finished.output.isEmpty)
        #expect(finished.errors.hasPrefix("nephos: ") && finished.errors.contains(message), "\(finished.errors)")
    }

    @Test func `a directory without the container lists its containers`() async throws {
        try await withTemporaryDirectory { directory in
            let data = directory.path
            #expect(try await Self.run(["export", "--data", data]).errors.contains("it has none"))
            for name in ["iCloud.a", "iCloud.b"] {
                let made = try await Self.run(["import", "-", "--data", data, "--container", name], input: Self.schema)
                #expect(made.status == 0, "\(made)")
            }
            #expect(try await Self.run(["export", "--data", data]).errors.contains("it has iCloud.a, iCloud.b"))
            let finished = try await Self.run(["export", "--data", data, "--container", "iCloud.c"])
            #expect(
                finished.status == 1 && finished.errors.contains("no container 'iCloud.c'; it has iCloud.a, iCloud.b"))
        }
    }

    @Test(arguments: [["--help"], ["import", "--help"], ["-h"]])
    func `help goes to standard output`(arguments: [String]) async throws {
        let finished = try await Self.run(arguments)
        #expect(finished.status == 0 && finished.output.contains("nephos schema import") && finished.errors.isEmpty)
        #expect(finished.output.split(separator: "\n").allSatisfy { $0.count <= 90 })
    }
}
