import Foundation
import NephosSQLite
import NephosService
import Synchronization
import Testing

@testable import NephosServer

/// The request log.
@Suite struct RequestLogTests {
    private static let database = "/database/1/iCloud.org.example.App/development"

    /// The entries of these requests, each a target and a body.
    private func entries(
        _ requests: [(String, String)], authorization: String? = nil
    ) async -> [AnsweredRequest] {
        let entries = Mutex<[AnsweredRequest]>([])
        let service = NephosService(stores: MemoryStores())
        let responder = Responder(service) { entry in entries.withLock { $0.append(entry) } }
        for (target, body) in requests {
            var request = HTTPRequest(
                method: body.isEmpty ? .get : .post, target: target, host: "localhost", body: Array(body.utf8))
            request.authorization = authorization
            _ = await responder.respond(to: request)
        }
        await service.close()
        return entries.withLock(\.self)
    }

    @Test func `an entry names the account, the action and the number of records`() async throws {
        let save = """
            {"operations": [
              {"operationType": "create", "record": {"recordType": "Note", "recordName": "a", "fields": {}}},
              {"operationType": "create", "record": {"recordType": "Note", "recordName": "b", "fields": {}}},
              {"operationType": "create", "record": {"recordType": "Folder", "recordName": "c", "fields": {}}},
              {"operationType": "forceDelete", "record": {"recordName": "d"}}]}
            """
        let sign = "?ckAPIToken=secret&ckWebAuthToken=dev:mei"
        let entries = await entries([
            ("\(Self.database)/private/records/modify\(sign)", save),
            ("\(Self.database)/private/records/lookup\(sign)", #"{"records": [{"recordName": "a"}]}"#),
            ("\(Self.database)/public/records/query", #"{"query": {"recordType": "Note"}}"#),
            ("\(Self.database)/private/zones/list\(sign)", ""), ("/health?x=y", ""),
        ])
        #expect(
            entries.map(\.endpoint) == ["records/modify", "records/lookup", "records/query", "zones/list", "/health"])
        #expect(entries.map(\.account) == ["mei", "mei", nil, "mei", nil])
        #expect(entries.map(\.database) == ["private", "private", "public", "private", nil])
        #expect(entries[0].summary?.hasPrefix("save 2 Note, 1 Folder, delete 1") == true)
        #expect(entries[1].summary == "a")
        #expect(entries[2].summary == "Note")
        #expect(entries[3].summary == "→ 1 zone")
        #expect(entries[0].container == "iCloud.org.example.App")
        #expect(entries[0].status == 200 && entries[0].errorCode == nil && entries[0].answerSize > 100)
        #expect(!entries.contains { $0.line(time: "", colours: false).contains("secret") })
    }

    @Test func `an entry has the account of the header and not the header`() async throws {
        let entries = await entries([("\(Self.database)/private/zones/list", "")], authorization: "Bearer dev:m%C3%A9i")
        #expect(entries.map(\.account) == ["méi"])
        let refused = await self.entries(
            [("\(Self.database)/private/zones/list", "")], authorization: "Bearer secret")
        #expect(refused.map(\.status) == [401])
        #expect(!"\(refused)".contains("secret"))
    }

    @Test func `a line names the container, and the environment if it is production`() async throws {
        let sign = "?ckWebAuthToken=dev:mei"
        let entries = await entries([
            ("\(Self.database)/private/zones/list\(sign)", ""),
            ("/database/1/iCloud.b/production/public/records/lookup\(sign)", #"{"records": []}"#),
            ("/database/1/iCloud.a%0Ab/development/private/zones/list\(sign)", ""),
        ])
        let lines = entries.map { $0.line(time: "", colours: false).split(separator: " ") }
        #expect(
            lines[0].starts(with: ["200"])
                && lines[0][3...6] == ["mei", "iCloud.org.example.App", "private", "zones/list"])
        #expect(lines[1][4...6] == ["iCloud.b/production", "public", "records/lookup"])
        #expect(!lines[2].contains { $0.contains("\n") })
    }

    @Test func `failed items are counted for every kind of item`() async throws {
        let sign = "?ckWebAuthToken=dev:mei"
        let lookup = #"{"records": [{"recordName": "a"}, {"recordName": "b"}]}"#
        let entries = await entries([
            ("\(Self.database)/private/records/lookup\(sign)", lookup),
            ("\(Self.database)/private/zones/lookup\(sign)", #"{"zones": [{"zoneName": "Z"}]}"#),
            ("\(Self.database)/private/changes/zone\(sign)", #"{"zones": [{"zoneID": {"zoneName": "Z"}}]}"#),
            ("\(Self.database)/private/subscriptions/lookup\(sign)", #"{"subscriptions": [{"subscriptionID": "s"}]}"#),
            ("\(Self.database)/public/records/accept\(sign)", #"{"shortGUIDs": ["none"]}"#),
            ("\(Self.database)/private/zones/list\(sign)", ""),
        ])
        #expect(entries.map(\.status) == [200, 200, 200, 200, 200, 200])
        #expect(entries.map(\.failedItems) == [2, 1, 1, 1, 1, 0])
        #expect(entries.dropLast().allSatisfy { $0.summary?.contains(" failed: ") == true }, "\(entries)")
        #expect(
            entries[0].json(time: "").contains(#""failedItems":2"#) && !entries[5].json(time: "").contains("failed"))
    }

    @Test func `a slow request logs the time of each stage, in text and in JSON`() async throws {
        var entry = try #require(await entries([("/health", "")]).first)
        #expect(!entry.line(time: "", colours: false).contains("slow"))
        #expect(StageDurations.names == ["service", "queue", "storage", "commit", "checkpoint", "encoding"])
        entry.stages = StageDurations(nanoseconds: [400_000, 31_000_000, 2_000_000, 1_204_000_000, 0, 0])
        #expect(entry.line(time: "", colours: false).hasSuffix("slow: commit 1204 ms, queue 31 ms, storage 2 ms"))
        #expect(entry.json(time: "").contains(#""stages":{"commit":1204,"queue":31,"storage":2}"#))
        entry.stages = StageDurations(nanoseconds: [0, 500_000_000, 0, 499_000_000, 0, 0])
        #expect(!entry.stages.isSlow && entry.stages.slowest == nil)
    }

    @Test func `a save reports time for queue, storage and commit, and a lookup none for a commit`() async throws {
        let save = #"{"operations": [{"operationType": "create", "record": {"recordType": "N", "recordName": "a"}}]}"#
        let sign = "?ckWebAuthToken=dev:mei"
        let entries = await entries([
            ("\(Self.database)/private/records/modify\(sign)", save),
            ("\(Self.database)/private/records/lookup\(sign)", #"{"records": [{"recordName": "a"}]}"#),
        ])
        let stages = entries.map { Dictionary(uniqueKeysWithValues: zip(StageDurations.names, $0.stages.nanoseconds)) }
        for name in ["service", "queue", "storage", "commit", "encoding"] { #expect(stages[0][name, default: 0] > 0) }
        #expect(stages[1]["storage", default: 0] > 0 && stages[1]["commit"] == 0)
        for entry in entries {
            let sum = Duration.nanoseconds(entry.stages.nanoseconds.reduce(0, +))
            #expect(sum <= entry.duration + .milliseconds(1))
        }
    }

    @Test func `a refusal is logged with its reason and the request's ID`() async throws {
        let entries = await entries([("\(Self.database)/private/zones/list", ""), ("/nowhere", "")])
        #expect(entries.map(\.errorCode) == ["AUTHENTICATION_REQUIRED", "NOT_FOUND"])
        let line = entries[1].line(time: "12:00:00.000", colours: false)
        #expect(line.hasPrefix("12:00:00.000  404  "))
        #expect(line.hasSuffix("NOT_FOUND: could not find handler for endpoint (\(entries[1].requestID))"))
    }

    @Test func `client input cannot forge or colour a log line`() async throws {
        let entries = await entries([("/a%0A12:00\u{1B}[31m\u{202E}x", "")])
        for colours in [true, false] {
            let line = entries[0].line(time: "12:00", colours: colours)
            #expect(!line.contains("\n") && !line.contains("\u{202E}") && !line.contains("\u{1B}[31mx"))
            #expect(line.contains("\\u{1b}[31m\\u{202e}x"))
        }
        let json = entries[0].json(time: "1")
        #expect(!json.contains("\n"))
        #expect((try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])?["status"] as? Int == 404)
    }

    @Test func `nephos dev writes a line of JSON for each request on demand`() async throws {
        let command = try StartedNephos(["dev", "--in-memory", "--port", "0", "--log", "json"])
        let port = try readyPort(try await command.readyLine())
        let connection = try TestConnection(port: port)
        _ = try await connection.request("GET", "/health")
        _ = try await connection.request("GET", "/nowhere")
        let finished = try await command.stop()
        #expect(finished.status == 0 && finished.output.isEmpty)
        let lines = try finished.errors.split(separator: "\n").map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
        #expect(lines.map { $0["endpoint"] as? String } == ["/health", "/nowhere"])
        #expect(lines.map { $0["errorCode"] as? String } == [nil, "NOT_FOUND"])
        for line in lines { #expect((line["time"] as? String)?.wholeMatch(of: Self.time) != nil) }
    }

    nonisolated(unsafe) private static let time = #/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/#

    @Test func `times of the log are RFC 3339`() {
        #expect(LogTime.text(1_709_210_096_007) == "2024-02-29T12:34:56.007Z")
        #expect(LogTime.now.wholeMatch(of: Self.time) != nil)
    }

    @Test(arguments: ["text", "json", "off"])
    func `other lines of nephos dev have a time, too, and are JSON on demand`(format: String) async throws {
        let command = try StartedNephos(["dev", "--in-memory", "--port", "0", "--log", format])
        let port = try readyPort(try await command.readyLine())
        // A container whose name is none of Apple's is warned of.
        let answer = try await TestConnection(port: port).request(
            "GET", "/database/1/org.example/development/public/users/current?ckWebAuthToken=dev:me")
        #expect(answer.status == 200)
        let lines = try await command.stop().errors.split(separator: "\n")
        let warning = try #require(lines.first { $0.contains("org.example") && $0.contains("warning") }, "\(lines)")
        if format == "json" {
            let object = try JSONSerialization.jsonObject(with: Data(warning.utf8)) as? [String: Any]
            #expect((object?["time"] as? String)?.wholeMatch(of: Self.time) != nil)
            #expect((object?["message"] as? String)?.hasPrefix("warning: ") == true)
        } else {
            let parts = warning.split(separator: " ", maxSplits: 2)
            #expect(String(parts[0]).wholeMatch(of: Self.time) != nil && parts[1] == "nephos:")
        }
    }

    @Test func `nephos dev logs what a save adds, also to data in memory`() async throws {
        try await withTemporaryDirectory { directory in
            var lines: [[String]] = []
            for place in [["--in-memory"], ["--data", directory.path]] {
                let command = try StartedNephos(["dev", "--port", "0", "--log", "off"] + place)
                let connection = try TestConnection(port: try readyPort(try await command.readyLine()))
                let body = """
                    {"operations":[{"operationType":"create","record":{"recordName":"a","recordType":"Note",
                    "fields":{"n":{"value":1}}}}]}
                    """
                for _ in 0..<2 {
                    _ = try await connection.request(
                        "POST",
                        "/database/1/iCloud.org.example/development/private/records/modify"
                            + "?ckWebAuthToken=dev:me", body: body)
                }
                lines.append(
                    try await command.stop().errors.split(separator: "\n").compactMap {
                        $0.split(separator: " nephos: ", maxSplits: 1).dropFirst().first.map(String.init)
                    })
            }
            #expect(lines[0] == lines[1])
            #expect(
                lines[0].map { $0.prefix { $0 != "'" } }
                    == ["container ", "preflight: record type "], "\(lines)")
        }
    }

    @Test(arguments: [
        (["dev", "--log", "xml"], "'xml' is unknown"), (["dev", "--log", "text", "--quiet"], "exclude each other"),
        (["dve"], "Did you mean 'dev'?"), (["shcema"], "Did you mean 'schema'?"),
        (["dev", "--prot", "1"], "Did you mean '--port'?"), (["xyzzy"], "unknown command 'xyzzy'. See"),
    ])
    func `a mistyped argument is refused with a suggestion`(arguments: [String], message: String) async throws {
        let finished = try await StartedNephos(arguments).finish()
        #expect(finished.status == 2)
        #expect(finished.errors.contains(message), "\(finished.errors)")
    }

    @Test func `help and version are commands too`() async throws {
        let help = try await StartedNephos(["help", "schema"]).finish()
        #expect(help.output.contains("Usage: nephos schema"))
        let version = try await StartedNephos(["version"]).finish()
        #expect(version.output.wholeMatch(of: /nephos \d+\.\d+\.\d+\n/) != nil)
    }
}

/// The files that `make install` puts beside the program.
@Suite struct InstalledPagesTests {
    @Test func `the manual page and the completion know every command and option`() async throws {
        let help = try await StartedNephos(["help"]).finish().output
        let names = help.matches(of: /\n  ([a-z]+) +[A-Z]/).map { String($0.1) }
        #expect(names.count >= 8)
        let manual = try await StartedNephos(["manual"]).finish().output
        let completion = try await StartedNephos(["completion"]).finish().output
        for name in names where name != "help" && name != "version" {
            let text = try await StartedNephos([name, "--help"]).finish().output
            #expect(manual.contains(".SH \"NEPHOS \(name.uppercased())\""))
            for option in text.matches(of: /\n  (--[a-z-]+)/).map({ String($0.1) }) {
                let line = completion.split(separator: "\n").first { $0.contains(" \(name)) words=") } ?? ""
                #expect(line.contains(option), "\(name) \(option)")
            }
        }
        #expect(completion.contains("export"))
    }
}
