import Foundation
import Synchronization
import Testing

/// `nephos tail` and `nephos request`.
@Suite struct TailCommandTests {
    @Test func `tail prints a line for each failed request, and request what is known of it`() async throws {
        let server = try StartedNephos(["dev", "--in-memory", "--port", "0"])
        let port = try readyPort(try await server.readyLine())
        let url = "http://127.0.0.1:\(port)"
        let tail = try StartedNephos(["tail", "--failed", "--container", "iCloud.a", "--url", url])
        let hasEnded = Atomic(false)
        async let printed = {
            defer { hasEnded.store(true, ordering: .relaxed) }
            return try await tail.readyLine()
        }()
        let connection = try TestConnection(port: port)
        // Until the stream is open, and one of them is in it.
        while !hasEnded.load(ordering: .relaxed) {
            for (container, type) in [("iCloud.a", "Missing"), ("iCloud.b", "Other")] {
                let target = "/database/1/\(container)/development/private/records/query?ckWebAuthToken=dev:mei"
                let body = #"{"query":{"recordType":"\#(type)"}}"#
                #expect(try await connection.request("POST", target, body: body).status == 400)
            }
        }
        let lines = try await printed.split(separator: "\n")
        #expect(lines.allSatisfy { $0.contains("iCloud.a") && $0.contains("  400  ") && $0.contains("Missing") })
        let id = try #require(lines.first?.firstMatch(of: /\(([0-9a-fA-F-]{36})\)/)?.1)
        let shown = try await StartedNephos(["request", String(id)], environment: ["NEPHOS_URL": url]).finish()
        #expect(shown.status == 0 && shown.output.contains("\nwhat helps  A type exists"), "\(shown)")
        let json = try await StartedNephos(["request", "--json", String(id), "--url", url]).finish()
        #expect(try JSONSerialization.jsonObject(with: Data(json.output.utf8)) is [String: Any])
        let missing = try await StartedNephos(["request", "none", "--url", url]).finish()
        #expect(missing.status == 1 && missing.errors.contains("not among the last 1000"))
        #expect(try await StartedNephos(["request"]).finish().status == 2)
    }

    @Test func `a development server has no accounts to administer, and a command says so`() async throws {
        let server = try StartedNephos(["dev", "--in-memory", "--port", "0"])
        let url = "http://127.0.0.1:\(try readyPort(try await server.readyLine()))"
        for command in [["accounts", "methods", "mei"], ["sessions", "list", "mei"], ["api-tokens", "list"]] {
            let finished = try await StartedNephos(command + ["--url", url]).finish()
            #expect(finished.status == 1 && finished.errors.contains("'nephos dev' signs in everybody"), "\(finished)")
        }
    }

    @Test func `tight limits are those of the testing kit`() async throws {
        let server = try StartedNephos(["dev", "--in-memory", "--port", "0", "--limits", "tight"])
        let connection = try TestConnection(port: try readyPort(try await server.readyLine()))
        let database = "/database/1/iCloud.a/development/private"
        let key = "?ckWebAuthToken=dev:mei"
        func save(_ count: Int) async throws -> Int {
            let operation = #"{"operationType":"create","record":{"recordType":"Note","fields":{}}}"#
            let operations = Array(repeating: operation, count: count).joined(separator: ",")
            return try await connection.request(
                "POST", "\(database)/records/modify\(key)", body: #"{"operations":[\#(operations)]}"#
            ).status
        }
        #expect(try await save(6) == 400)
        #expect(try await save(5) == 200)
        let page = try await connection.request(
            "POST", "\(database)/records/query\(key)", body: #"{"query":{"recordType":"Note"}}"#)
        let text = String(decoding: page.body, as: UTF8.self)
        #expect(text.matches(of: /"recordName"/).count == 3 && text.contains("continuationMarker"))
        let wrong = try await StartedNephos(["dev", "--in-memory", "--port", "0", "--limits", "loose"]).finish()
        #expect(wrong.status == 2 && wrong.errors.contains("'--limits' takes tight"))
    }

    @Test(arguments: ["tail", "request"])
    func `a directory without a running server is refused at once, with the remedy`(command: String) async throws {
        try await withTemporaryDirectory { directory in
            let words = command == "request" ? ["request", "some"] : [command]
            for option in [["--data", directory.path], ["--socket", directory.path + "/none"]] {
                let finished = try await StartedNephos(words + option).finish()
                #expect(finished.status == 1, "\(finished)")
                #expect(finished.errors.contains("no server answers at \(directory.path)"), "\(finished.errors)")
                #expect(finished.errors.contains("'nephos serve'") && finished.errors.contains("--url"))
            }
        }
    }
}
