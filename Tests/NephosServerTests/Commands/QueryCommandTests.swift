import Foundation
import Testing

/// `nephos query` on a running server, and on the directory of a stopped one.
@Suite struct QueryCommandTests {
    private static let container = "iCloud.org.example.Query"

    private static func query(_ place: [String], _ arguments: String...) async throws -> Finished {
        try await query(place + ["--account", "me"], arguments)
    }

    private static func fill(_ port: UInt16) async throws {
        let operations = (0..<12).map { index in
            """
            {"operationType": "create", "record": {"recordName": "n\(index)", "recordType": "Note", "fields": {
                "title": {"value": "Note \(index)"}, "stars": {"value": \(index % 4)},
                "list": {"value": {"recordName": "\(index < 6 ? "inbox" : "done")", "action": "NONE"}},
                "place": {"value": {"latitude": \(index), "longitude": 13.5}}}}}
            """
        }
        let connection = try TestConnection(port: port)
        let answer = try await connection.request(
            "POST",
            "/database/1/\(container)/development/private/records/modify?ckAPIToken=x&ckWebAuthToken=dev:me",
            body: "{\"operations\": [\(operations.joined(separator: ","))]}")
        #expect(answer.status == 200)
    }

    /// Runs `body` twice over the same records: with a running server, then with its directory.
    private static func withNotes(_ body: ([String]) async throws -> Void) async throws {
        try await withTemporaryDirectory { directory in
            let data = directory.appendingPathComponent("data").path
            let server = try StartedNephos(["dev", "--data", data, "--port", "0"])
            let port = try readyPort(try await server.readyLine())
            try await fill(port)
            try await body(["--url", "http://127.0.0.1:\(port)"])
            // Only one process has a directory.
            let refused = try await query(["--data", data], "Note")
            #expect(refused.status == 1 && refused.errors.contains("in use"), "\(refused.errors)")
            #expect(try await server.stop().status == 0)
            try await body(["--data", data])
        }
    }

    @Test func `control characters are escaped for a terminal, and an import restores them`() async throws {
        try await withTemporaryDirectory { directory in
            // An escape, delete, C1's CSI and APC, and what begins with the same byte and is harmless.
            let text = #"a\u001b[2Jb\u007fc\u009b31md\u009fe\u00a0\u00e9"#
            let first = try StartedNephos(["dev", "--in-memory", "--port", "0"])
            let port = try readyPort(try await first.readyLine())
            let answer = try await TestConnection(port: port).request(
                "POST",
                "/database/1/\(Self.container)/development/private/records/modify?ckAPIToken=x&ckWebAuthToken=dev:me",
                body: #"{"operations":[{"operationType":"create","record":{"recordName":"n","recordType":"Note","#
                    + #""fields":{"title":{"value":"\#(text)"}}}}]}"#)
            #expect(answer.status == 200)
            let place = ["--url", "http://127.0.0.1:\(port)", "--container", Self.container, "--account", "me"]
            func output(_ arguments: [String]) async throws -> String {
                let finished = try await StartedNephos(arguments).finish()
                #expect(finished.status == 0, "\(finished.errors)")
                let controls = finished.output.unicodeScalars.filter {
                    $0.properties.generalCategory == .control && $0 != "\n"
                }
                #expect(controls.isEmpty, "\(arguments)")
                return finished.output
            }
            _ = try await output(["query", "Note"] + place)
            let json = try await output(["query", "Note", "--json"] + place)
            #expect(json.contains(#"\u009b31m"#) && json.contains("\u{A0}\u{E9}"), "\(json)")
            let exported = try await output(["export"] + place)
            #expect(exported.contains(#"\u007fc\u009b31md\u009fe"#), "\(exported)")
            let file = directory.appendingPathComponent("export").path
            try Data(exported.utf8).write(to: URL(fileURLWithPath: file))
            #expect(try await first.stop().status == 0)
            let second = try StartedNephos(["dev", "--in-memory", "--port", "0", "--import", file])
            let other = try readyPort(try await second.readyLine())
            #expect(
                try await output(
                    ["export", "--url", "http://127.0.0.1:\(other)", "--container", Self.container, "--account", "me"])
                    == exported)
            #expect(try await second.stop().status == 0)
        }
    }

    @Test func `nephos query prints records in order, and says when there are more`() async throws {
        try await Self.withNotes { place in
            let found = try await Self.query(
                place, "Note", "stars >= 2 AND list == %@", "--argument", "reference:inbox", "--sort", "-stars,title")
            #expect(found.status == 0 && found.errors.isEmpty, "\(found.errors)")
            #expect(
                found.output.hasPrefix(
                    "n3 in _defaultZone\n    list: -> inbox\n    place: 3.0, 13.5\n    stars: 3\n    title: \"Note 3\"\nn2"
                ))
            #expect(found.output.contains("n2 in _defaultZone\n"))
            #expect(found.output.split(separator: "\n").count == 10)

            let some = try await Self.query(place, "Note", "--limit", "5", "--keys", "stars", "--json")
            let lines = some.output.split(separator: "\n")
            #expect(lines.count == 5 && lines.allSatisfy { $0.contains("\"stars\"") && !$0.contains("\"title\"") })
            #expect(some.errors.contains("there are more"))

            let near = try await Self.query(
                place, "Note", "distanceToLocation:fromLocation:(place, %@) < 250000", "--argument",
                "location:1,13.5", "--zone", "_defaultZone", "--json")
            #expect(near.output.split(separator: "\n").count == 4)
        }
    }

    @Test func `--explain prints the indexes, the entries scanned, and the records read and returned`() async throws {
        try await Self.withNotes { place in
            let found = try await Self.query(
                place, "Note", "stars == 2 AND title != 'Note 2'", "--sort", "title", "--explain")
            #expect(found.status == 0, "\(found.errors)")
            let lines = found.output.split(separator: "\n")
            #expect(lines.first == "index stars (QUERYABLE): stars EQUALS 2; 3 entries read")
            #expect(lines.contains("checked on records: title NOT_EQUALS \"Note 2\""))
            #expect(lines.last?.hasSuffix("3 records read, 2 records returned") == true, "\(found.output)")
        }
    }

    @Test func `--count counts, and --extended allows OR`() async throws {
        try await Self.withNotes { place in
            let refused = try await Self.query(place, "Note", "stars == 1 OR stars == 2", "--count")
            #expect(refused.status == 2 && refused.errors.contains("OR is not supported"))
            let found = try await Self.query(place, "Note", "stars == 1 OR title == 'note 2'", "--count", "--extended")
            #expect(found.output == "4\n" && found.status == 0)
        }
    }

    @Test(arguments: [
        (["Note", "stars >"], 2, "expected a key or a value at position 7"),
        (["Note", "stars LIKE 'x'"], 2, "LIKE is not supported"),
        (["Note", "a == 1", "x"], 2, "unexpected argument 'x'"),
        (["Note", "a == %@"], 2, "expected an argument for this placeholder"),
        (["Note", "a == %@", "--argument", "x"], 2, "'x' is no argument"),
        (["Note", "a == %@", "--argument", "time:1"], 2, "'time' is unknown"),
        (["Note", "a == %@", "--argument", "date:soon"], 2, "'soon' is no date"),
        (["Note", "--limit", "0"], 2, "'0' is no number of records"),
        (["Note", "--database", "x"], 2, "'x' is unknown"),
        (["Note", "--owner", "x"], 2, "is for the shared database"),
        (["Note", "--sort", "a.b"], 2, "the key path"),
        (["Note", "--url", "ftp://x"], 2, "'ftp://x' is not the address"),
        (["Note", "--url", "http://x", "--data", "y"], 2, "exclude each other"),
        (["Note", "--url", "http://127.0.0.1:1"], 1, "no server answers at http://127.0.0.1:1"),
        (["Note", "--data", "/nowhere/at/all"], 1, "there is no directory"),
    ])
    func `a query that cannot be carried out says why`(_ arguments: [String], _ status: Int32, _ message: String)
        async throws
    {
        let finished = try await Self.query([], arguments)
        #expect(finished.status == status)
        #expect(finished.output.isEmpty)
        #expect(finished.errors.contains(message), "\(finished.errors)")
        #expect(finished.errors.split(separator: "\n").count == 1)
    }

    private static func query(_ place: [String], _ arguments: [String]) async throws -> Finished {
        try await StartedNephos(["query", "--container", container] + place + arguments).finish()
    }

    @Test func `without a type nephos query lists the types`() async throws {
        try await Self.withNotes { place in
            let types = try await Self.query(place, [])
            #expect(types.status == 0 && types.errors.isEmpty, "\(types.errors)")
            #expect(types.output.split(separator: "\n").contains("Note"), "\(types.output)")
        }
    }

    @Test func `in the shared database a zone is found by its owner's account`() async throws {
        try await withTemporaryDirectory { directory in
            let data = directory.appendingPathComponent("data").path
            let server = try StartedNephos(["dev", "--data", data, "--port", "0"])
            let port = try readyPort(try await server.readyLine())
            func post(_ account: String, _ action: String, _ body: String) async throws -> TestResponse {
                let database = action == "records/accept" ? "public" : "private"
                return try await TestConnection(port: port).request(
                    "POST",
                    "/database/1/\(Self.container)/development/\(database)/\(action)?ckAPIToken=x&ckWebAuthToken=dev:\(account)",
                    body: body)
            }
            for owner in ["mei", "bo"] {
                for zone in owner == "mei" ? ["Notes", "Lists"] : ["Notes"] {
                    let zoneID = #"{"zoneName":"\#(zone)"}"#
                    _ = try await post(
                        owner, "zones/modify",
                        #"{"operations":[{"operationType":"create","zone":{"zoneID":\#(zoneID)}}]}"#)
                    let made = try await post(
                        owner, "records/modify",
                        #"{"zoneID":\#(zoneID),"operations":[{"operationType":"create","record":{"recordName":"of\#(owner)","#
                            + #""recordType":"Note","fields":{"title":{"value":"\#(zone)"}}}},{"operationType":"create","record":{"#
                            + #""recordName":"cloudkit.zoneshare","recordType":"cloudkit.share","publicPermission":"READ_ONLY"}}]}"#
                    )
                    let guid = try #require(made.text.firstMatch(of: /"shortGUID":"([^"]+)"/)?.1)
                    if owner == "mei" || zone == "Notes" {
                        let accepted = try await post(
                            "ana", "records/accept", #"{"shortGUIDs":[{"value":"\#(guid)"}]}"#)
                        #expect(accepted.status == 200, "\(accepted.text)")
                    }
                }
            }
            func expectSharedZones(_ place: [String]) async throws {
                let place = place + ["--database", "shared", "--account"]
                func ask(_ account: String, _ arguments: String...) async throws -> Finished {
                    try await Self.query(place + [account], ["Note"] + arguments)
                }
                for arguments in [["--zone", "Lists"], ["--owner", "mei", "--zone", "Lists"]] {
                    let found = try await Self.query(place + ["ana"], ["Note"] + arguments)
                    #expect(found.status == 0 && found.output.contains("ofmei"), "\(found)")
                }
                let bos = try await ask("ana", "--owner", "bo")
                #expect(bos.status == 0 && bos.output.contains("ofbo"), "\(bos)")
                let several = try await ask("ana", "--zone", "Notes")
                #expect(several.status == 1 && several.errors.contains("'Notes' of mei"), "\(several)")
                #expect(several.errors.contains("'Notes' of bo") && !several.errors.contains("'Lists'"), "\(several)")
                let misspelt = try await ask("ana", "--zone", "List")
                #expect(misspelt.status == 1 && misspelt.errors.contains("Did you mean 'Lists'?"), "\(misspelt)")
                let nothing = try await ask("bo", "--zone", "Notes")
                #expect(
                    nothing.status == 1 && nothing.errors.contains("nothing is shared with the account"), "\(nothing)")
            }
            try await expectSharedZones(["--url", "http://127.0.0.1:\(port)"])
            #expect(try await server.stop().status == 0)
            try await expectSharedZones(["--data", data])
        }
    }

    @Test func `a refusal is printed in the service's words`() async throws {
        try await Self.withNotes { place in
            for (arguments, message) in [
                (["Nothing"], "Did not find record type: Nothing"),
                (["Note", "size == 1"], "Field 'size' is not marked queryable"), (["Note", "--zone", "Gone"], "Gone"),
            ] {
                let finished = try await Self.query(place + ["--account", "me"], arguments)
                #expect(finished.status == 1 && finished.errors.contains(message), "\(finished.errors)")
            }
        }
    }
}
