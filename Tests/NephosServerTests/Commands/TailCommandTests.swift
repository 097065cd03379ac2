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
}
