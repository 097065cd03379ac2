import Foundation
import Testing

/// `nephos export` and `nephos import` as their users run them.
@Suite struct ExportCommandTests {
    private static let container = "iCloud.org.example.App"

    private static func fill(_ port: UInt16) async throws {
        let base = "/database/1/\(container)/development"
        func send(_ path: String, _ body: String) async throws {
            let answer = try await TestConnection(port: port).request(
                "POST", "\(base)/\(path)?ckWebAuthToken=dev:me", body: body)
            #expect(answer.status == 200 && !answer.text.contains("serverErrorCode"), "\(answer.text)")
        }
        try await send(
            "private/zones/modify",
            #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Lists"}}}]}"#)
        // An item comes before its list in an export, by its type's name.
        try await send(
            "private/records/modify",
            #"""
            {"zoneID":{"zoneName":"Lists"},"operations":[
            {"operationType":"create","record":{"recordName":"list","recordType":"List","fields":{"title":{"value":"Ä \"x\"\n"}}}},
            {"operationType":"create","record":{"recordName":"b","recordType":"Item","parent":{"recordName":"list"},"fields":{
              "list":{"value":{"recordName":"list","action":"DELETE_SELF"},"type":"REFERENCE"},
              "due":{"value":1700000000123,"type":"TIMESTAMP"},"data":{"value":"AAEC","type":"BYTES"},
              "place":{"value":{"latitude":52.5,"longitude":13.25},"type":"LOCATION"},
              "tags":{"value":["one","two"],"type":"STRING_LIST"},"price":{"value":2.5,"type":"DOUBLE"},"n":{"value":3}}}}]}
            """#)
        let notes = (0..<450).map {
            #"{"operationType":"create","record":{"recordName":"n\#($0)","recordType":"Note","fields":{"stars":{"value":\#($0)}}}}"#
        }
        for start in stride(from: 0, to: notes.count, by: 200) {
            let some = notes[start..<min(start + 200, notes.count)].joined(separator: ",")
            try await send("private/records/modify", "{\"operations\":[\(some)]}")
            if start == 0 { try await send("public/records/modify", "{\"operations\":[\(some)]}") }
        }
    }

    private static func started(_ options: String...) async throws -> (server: StartedNephos, url: String, port: UInt16)
    {
        let server = try StartedNephos(["dev", "--in-memory", "--port", "0"] + options)
        let port = try readyPort(try await server.readyLine())
        return (server, "http://127.0.0.1:\(port)", port)
    }

    private static func export(_ url: String, _ options: String...) async throws -> String {
        let finished = try await StartedNephos(
            ["export", "--url", url, "--container", container, "--account", "me"] + options
        ).finish()
        #expect(finished.status == 0, "\(finished.errors)")
        return finished.output
    }

    @Test func `an export that is imported and exported again is the same, byte for byte`() async throws {
        try await withTemporaryDirectory { directory in
            let (first, url, port) = try await Self.started()
            try await Self.fill(port)
            let (own, common) = (try await Self.export(url), try await Self.export(url, "--database", "public"))
            let lines = own.split(separator: "\n")
            #expect(lines.count == 1 + 450 + 1 + 2 && common.split(separator: "\n").count == 201)
            #expect(
                lines[0] == #"{"nephosExport":1,"container":"\#(Self.container)","environment":"development","#
                    + #""database":"private","account":"me"}"#)
            #expect(lines.contains { $0.contains("\"Item\"") && $0.contains("1700000000123") && $0.contains("AAEC") })
            #expect(try await Self.export(url, "--zone", "Lists").split(separator: "\n").count == 4)
            #expect(try await first.stop().status == 0)
            let files = ["own", "common"].map { directory.appendingPathComponent($0).path }
            try Data(own.utf8).write(to: URL(fileURLWithPath: files[0]))
            try Data(common.utf8).write(to: URL(fileURLWithPath: files[1]))

            let (second, other, _) = try await Self.started()
            for file in files {
                for _ in 1...2 {  // the second time it replaces
                    let finished = try await StartedNephos(["import", "--url", other, "--account", "me", file]).finish()
                    #expect(finished.status == 0 && finished.errors.hasSuffix(" records imported\n"), "\(finished)")
                }
            }
            #expect(try await Self.export(other) == own)
            #expect(try await Self.export(other, "--database", "public") == common)
            #expect(try await second.stop().status == 0)

            let (third, thirdURL, _) = try await Self.started("--import", files[0])
            #expect(try await Self.export(thirdURL) == own)
            #expect(try await third.stop().status == 0)
        }
    }

    @Test func `a whole container is exported, imported and exported again, byte for byte`() async throws {
        try await withTemporaryDirectory { directory in
            let (first, url, port) = try await Self.started()
            try await Self.fill(port)
            for (account, environment) in [("you", "development"), ("me", "production")] {
                let answer = try await TestConnection(port: port).request(
                    "POST",
                    "/database/1/\(Self.container)/\(environment)/private/zones/modify?ckWebAuthToken=dev:\(account)",
                    body: #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Z"}}}]}"#)
                #expect(answer.status == 200)
            }
            // Who has nothing is not in it.
            _ = try await TestConnection(port: port).request(
                "GET", "/database/1/\(Self.container)/development/public/users/caller?ckWebAuthToken=dev:none")
            func exportAll(_ url: String) async throws -> String {
                let finished = try await StartedNephos(
                    ["export", "--url", url, "--container", Self.container, "--all"]
                ).finish()
                #expect(finished.status == 0, "\(finished.errors)")
                return finished.output
            }
            let all = try await exportAll(url)
            let headers = all.matches(of: /"environment":"(\w+)","database":"(\w+)"(?:,"account":"(\w+)")?}/)
            #expect(
                headers.map { "\($0.1) \($0.2) \($0.3 ?? "")" } == [
                    "development public ", "development private me", "development private you", "production private me",
                ])
            let two = try await StartedNephos(
                ["export", "--url", url, "--container", Self.container, "--account", "you", "--account", "me"]
            ).finish().output
            #expect(two.matches(of: /"account":"(\w+)"/).map(\.1) == ["me", "you"] && all.contains(two.dropLast()))
            #expect(try await first.stop().status == 0)

            let file = directory.appendingPathComponent("all").path
            try Data(all.utf8).write(to: URL(fileURLWithPath: file))
            let (second, other, _) = try await Self.started()
            let refused = try await StartedNephos(["import", "--url", other, "--database", "private", file]).finish()
            #expect(refused.status == 1 && refused.errors.contains("'--database' is for an export of one"))
            // Whose the public records become.
            let imported = try await StartedNephos(["import", "--url", other, "--account", "me", file]).finish()
            #expect(imported.status == 0, "\(imported.errors)")
            #expect(try await exportAll(other) == all)
            #expect(try await second.stop().status == 0)
        }
    }

    @Test func `a read-only command makes no container and no account`() async throws {
        let (server, url, port) = try await Self.started()
        let place = ["--url", url, "--container", Self.container]
        for command in [["export"], ["export", "--all"], ["query", "Note"], ["query", "--database", "public"]] {
            let finished = try await StartedNephos(command + place).finish()
            #expect(
                finished.status == 1 && finished.errors.contains("there is no container \(Self.container)"),
                "\(finished)")
        }
        try await Self.fill(port)
        let finished = try await StartedNephos(["export", "--account", "him"] + place).finish()
        #expect(finished.status == 1 && finished.errors.contains("there is no account 'him'"), "\(finished)")
        let accounts = try await StartedNephos(["accounts", "list"] + place).finish().output
        #expect(accounts.hasPrefix("me  _") && accounts.split(separator: "\n").count == 1, "\(accounts)")
        let secure = try await StartedNephos(
            ["status", "--url", url.replacingOccurrences(of: "http:", with: "https:")]
        ).finish()
        #expect(secure.status == 1 && secure.errors.contains("begins with http://"), "\(secure.errors)")
        #expect(try await server.stop().status == 0)
    }

    @Test(arguments: [
        (["--all", "--zone", "Z"], "'--zone' cannot be given with it"),
        (["--account", "a", "--account", "b", "--database", "public"], "name one account at most"),
        (["--all", "--container", "iCloud.none", "--data", "/nowhere"], "there is no directory"),
    ])
    func `a failing export says why`(options: [String], message: String) async throws {
        let finished = try await StartedNephos(["export"] + options).finish()
        #expect(finished.status != 0 && finished.errors.contains(message), "\(finished)")
    }

    @Test(arguments: [
        ("", 1, ":1: this is no export"), ("{\"nephosExport\":2}", 1, ":1: this is no export"),
        ("HEADER\n{\"operations\":[{\"operationType\":\"create\"}]}", 1, ":2: "),
        (
            "HEADER\n"
                + #"{"operations":[{"operationType":"forceReplace","record":{"recordName":"_a","recordType":"Note"}}]}"#,
            1, "must not begin with an underscore"
        ),
        (
            "HEADER\n"
                + #"{"operations":[{"operationType":"forceReplace","record":{"recordName":"a","recordType":"Note","#
                + #""fields":{"list":{"value":{"recordName":"gone","action":"DELETE_SELF"},"type":"REFERENCE"}}}}]}"#,
            1, ":2: record 'a' refers to 'gone', which is in none of the lines and not in the database"
        ),
    ])
    func `a failing import names the line`(text: String, status: Int32, message: String) async throws {
        try await withTemporaryDirectory { directory in
            let (server, url, _) = try await Self.started()
            let file = directory.appendingPathComponent("file").path
            let header =
                #"{"nephosExport":1,"container":"\#(Self.container)","environment":"development","database":"private"}"#
            try Data(text.replacingOccurrences(of: "HEADER", with: header).utf8).write(to: URL(fileURLWithPath: file))
            let finished = try await StartedNephos(["import", "--url", url, "--account", "me", file]).finish()
            #expect(finished.status == status && finished.errors.contains(message), "\(finished.errors)")
            #expect(try await server.stop().status == 0)
        }
    }
}
