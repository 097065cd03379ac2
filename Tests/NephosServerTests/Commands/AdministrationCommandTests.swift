import Foundation
import Testing

/// `nephos zones`, `nephos deletions` and `nephos dev --deletion-retention` on a running server, and on the directory of a
/// stopped one.
@Suite struct AdministrationCommandTests {
    private static let container = "iCloud.org.example.Zones"

    enum Place: CaseIterable { case server, directory }

    /// A cloud of which both the commands and devices are asked in turn.
    private final class Cloud {
        let data: String
        private let place: Place
        private var server: StartedNephos?
        private(set) var port: UInt16 = 0

        init(_ place: Place, in directory: URL) {
            self.place = place
            data = directory.appendingPathComponent("data").path
        }

        func start(_ options: String...) async throws {
            let server = try StartedNephos(["dev", "--data", data, "--port", "0"] + options)
            port = try readyPort(try await server.readyLine())
            self.server = server
        }

        func stop() async throws {
            guard let server else { return }
            self.server = nil
            #expect(try await server.stop().status == 0)
        }

        /// Runs a command where it is to be tried.
        func run(_ arguments: String...) async throws -> Finished {
            if place == .directory { try await stop() }
            if place == .server, server == nil { try await start() }
            let address = place == .server ? ["--url", "http://127.0.0.1:\(port)"] : ["--data", data]
            return try await StartedNephos(arguments + ["--container", container] + address).finish()
        }

        func send(_ action: String, _ body: String, account: String = "me") async throws -> TestResponse {
            if server == nil { try await start() }
            return try await TestConnection(port: port).request(
                "POST", "/database/1/\(container)/development/private/\(action)?ckWebAuthToken=dev:\(account)",
                body: body)
        }

        func makeZones(_ names: String..., account: String = "me") async throws {
            let operations = names.map { #"{"operationType":"create","zone":{"zoneID":{"zoneName":"\#($0)"}}}"# }
            let body = "{\"operations\":[\(operations.joined(separator: ","))]}"
            #expect(try await send("zones/modify", body, account: account).status == 200)
        }

        func changes(since token: String? = nil) async throws -> TestResponse {
            let token = token.map { ",\"syncToken\":\"\($0)\"" } ?? ""
            return try await send("changes/zone", #"{"zones":[{"zoneID":{"zoneName":"A"}\#(token)}]}"#)
        }

        /// Makes a record of the zone A and deletes it.
        /// - Returns: the token between the two.
        func makeDeletion() async throws -> String {
            let zone = #""zoneID":{"zoneName":"A"}"#
            let record = #"{"recordName":"a","recordType":"Note"}"#
            var answer = try await send(
                "records/modify", #"{"operations":[{"operationType":"create","record":\#(record)}],\#(zone)}"#)
            #expect(answer.status == 200)
            let token = try AdministrationCommandTests.token(in: try await changes().text)
            answer = try await send(
                "records/modify", #"{"operations":[{"operationType":"forceDelete","record":\#(record)}],\#(zone)}"#)
            #expect(answer.text.contains("\"deleted\":true"))
            return token
        }
    }

    private static func token(in text: String) throws -> String {
        String(try #require(text.firstMatch(of: /"syncToken":"([^"]+)"/)).1)
    }

    private static func with(_ place: Place, _ body: (Cloud) async throws -> Void) async throws {
        try await withTemporaryDirectory { directory in
            let cloud = Cloud(place, in: directory)
            try await cloud.start()
            try await body(cloud)
            try await cloud.stop()
        }
    }

    @Test(arguments: Place.allCases)
    func `an account's zones are listed, and deleted with a reason`(place: Place) async throws {
        try await Self.with(place) { cloud in
            try await cloud.makeZones("A", "B", "C")
            try await cloud.makeZones("X", account: "you")
            let token = try Self.token(in: try await cloud.send("changes/database", "{}").text)
            var finished = try await cloud.run("zones", "list")
            #expect(finished.status == 0 && finished.output == "me  A\nme  B\nme  C\nyou  X\n", "\(finished)")
            finished = try await cloud.run("zones", "list", "--account", "you")
            #expect(finished.output == "you  X\n", "\(finished)")

            // All or nothing.
            finished = try await cloud.run("zones", "remove", "--yes", "--account", "me", "A", "Gone")
            #expect(finished.status == 1 && finished.output.isEmpty)
            #expect(finished.errors == "nephos: Zone 'Gone' does not exist (ZONE_NOT_FOUND)\n")
            finished = try await cloud.run("zones", "remove", "--account", "me", "A")
            #expect(
                finished.status == 2
                    && finished.errors.contains("this erases the zone 'A' of 'me', with their records"))
            finished = try await cloud.run("zones", "remove", "--yes", "--account", "me", "A")
            #expect(finished.status == 0 && finished.output == "zone 'A' removed\n", "\(finished)")
            finished = try await cloud.run("zones", "reset-encryption", "--yes", "--account=me", "--all")
            #expect(finished.status == 0 && finished.output == "zone 'B' removed\nzone 'C' removed\n", "\(finished)")
            finished = try await cloud.run("zones", "remove", "--yes", "--account=me", "--all")
            #expect(finished.status == 0 && finished.output == "no zones to remove\n", "\(finished)")
            finished = try await cloud.run("zones", "list")
            #expect(finished.output == "you  X\n", "\(finished)")

            let changes = try await cloud.send("changes/database", "{\"syncToken\":\"\(token)\"}").text
            let reasons = changes.matches(of: /"zoneName":"([ABC])".*?"nephosDeletionReason":"([A-Z_]+)"/)
            #expect(
                reasons.map { "\($0.1) \($0.2)" } == ["A PURGED", "B ENCRYPTED_DATA_RESET", "C ENCRYPTED_DATA_RESET"],
                "\(changes)")
        }
    }

    @Test(arguments: Place.allCases)
    func `accounts are listed and deleted, and the deleted data is reported`(place: Place) async throws {
        try await Self.with(place) { cloud in
            try await cloud.makeZones("A", "B")
            try await cloud.makeZones("X", account: "you")
            var finished = try await cloud.run("accounts", "list")
            let accounts = finished.output.matches(of: /(\w+)  (_[0-9a-f]{32})\n/)
            #expect(finished.status == 0 && accounts.map(\.1) == ["me", "you"], "\(finished)")
            finished = try await cloud.run("accounts", "delete", "me")
            #expect(
                finished.status == 2
                    && finished.errors.contains(
                        "this erases the account 'me' of \(Self.container), with its private database"),
                "\(finished)")
            finished = try await cloud.run("accounts", "delete", "--yes", "him")
            #expect(finished.status == 1 && finished.errors.contains("there is no account 'him'"), "\(finished)")
            finished = try await cloud.run("accounts", "delete", "--yes", "me")
            #expect(
                finished.status == 0
                    && finished.output == """
                        account 'me' deleted (\(accounts[0].2)):
                          its private database, with 2 custom zones and 0 bytes of files
                          0 shares of its own, 0 shares of others that it took part in
                          0 subscriptions, 0 clients that were notified
                        Its records in the public database stay.

                        """,
                "\(finished)")
            finished = try await cloud.run("zones", "list")
            #expect(finished.output == "you  X\n", "\(finished)")
            finished = try await cloud.run("accounts", "list")
            #expect(finished.output.hasPrefix("you  _") && finished.output.split(separator: "\n").count == 1)
        }
    }

    @Test(arguments: Place.allCases)
    func `tombstones are purged, and older change tokens expire`(place: Place) async throws {
        try await Self.with(place) { cloud in
            try await cloud.makeZones("A")
            let token = try await cloud.makeDeletion()
            var finished = try await cloud.run("deletions", "forget", "--older-than", "30d", "--yes")
            #expect(
                finished.status == 0 && finished.output == "deletions forgotten: 0 records, 0 zones\n", "\(finished)")
            #expect(try await cloud.changes(since: token).text.contains("\"deleted\":true"))
            finished = try await cloud.run("deletions", "forget", "--older-than=0s", "--yes")
            #expect(
                finished.status == 0 && finished.output == "deletions forgotten: 1 records, 0 zones\n", "\(finished)")
            let refused = try await cloud.changes(since: token).text
            #expect(refused.contains("\"nephosErrorCode\":21"), "\(refused)")
        }
    }

    @Test(arguments: Place.allCases)
    func `roles of the schema are granted to accounts and revoked`(place: Place) async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appendingPathComponent("app.ckdb")
            try Data("DEFINE SCHEMA CREATE ROLE Curator; RECORD TYPE Note (t STRING, GRANT WRITE TO Curator);".utf8)
                .write(to: file)
            try await Self.with(place) { cloud in
                try await cloud.makeZones("A")
                var finished = try await cloud.run("schema", "import", file.path)
                #expect(finished.status == 0, "\(finished)")
                finished = try await cloud.run("roles", "assign", "--account", "me", "Curator")
                #expect(finished.status == 0 && finished.output == "me  Curator\n", "\(finished)")
                finished = try await cloud.run("roles", "assign", "--account", "me", "Editor")
                #expect(
                    finished.status == 1 && finished.errors.contains("the schema has no role 'Editor'"), "\(finished)")
                #expect(try await cloud.run("roles", "list").output == "me  Curator\n")
                finished = try await cloud.run("roles", "revoke", "--account", "me", "Curator")
                #expect(finished.status == 0 && finished.output.isEmpty, "\(finished)")
                #expect(try await cloud.run("roles", "list").output.isEmpty)
            }
        }
    }

    @Test(.timeLimit(.minutes(15))) func `the server purges tombstones by itself, as soon as it is configured to`()
        async throws
    {
        try await Self.with(.server) { cloud in
            try await cloud.makeZones("A")
            let token = try await cloud.makeDeletion()
            try await cloud.stop()
            try await cloud.start("--deletion-retention", "forever")
            #expect(try await cloud.changes(since: token).text.contains("\"deleted\":true"))
            try await cloud.stop()
            // The background begins when the server is ready.
            try await cloud.start("--deletion-retention", "0s")
            while try await !cloud.changes(since: token).text.contains("\"nephosErrorCode\":21") {}
        }
    }

    @Test(arguments: [
        (["zones"], 2, "no zones command given"), (["zones", "drop"], 2, "unknown zones command 'drop'"),
        (["zones", "list", "--all"], 2, "list shows all zones anyway"),
        (["zones", "list", "x"], 2, "unexpected argument 'x'"),
        (["zones", "remove", "A"], 2, "whose zones?"), (["zones", "remove", "--account", "me"], 2, "which zones?"),
        (["zones", "remove", "--account", "me", "--all", "A"], 2, "which zones?"),
        (["accounts"], 2, "no accounts command given"), (["accounts", "drop"], 2, "unknown accounts command 'drop'"),
        (["accounts", "delete"], 2, "which account?"),
        (["roles"], 2, "no roles command given"), (["roles", "give"], 2, "unknown roles command 'give'"),
        (["roles", "assign", "Curator"], 2, "whose role?"),
        (["roles", "assign", "--account", "me"], 2, "which role?"), (["deletions"], 2, "no deletions command given"),
        (["deletions", "keep"], 2, "unknown deletions command"),
        (["zones", "lst"], 2, "unknown zones command 'lst'. Did you mean 'list'?"),
        (["zones", "--all"], 2, "no zones command given, such as 'zones list'"),
        (["deletions", "forget"], 2, "which deletions?"),
        (["deletions", "forget", "--older-than", "30"], 2, "'30' is no time"),
        (["deletions", "forget", "--older-than", "d"], 2, "'d' is no time"),
        (["deletions", "forget", "--older-than", "-1d"], 2, "'-1d' is no time"),
        (["deletions", "forget", "--older-than", "9999999999999999w"], 2, "too long a time"),
        (["deletions", "forget", "--older-than", "1d", "--data", "/nowhere/at/all"], 1, "there is no directory"),
        (["dev", "--deletion-retention", "never"], 2, "'never' is no time"),
    ])
    func `a command that cannot be carried out says why`(_ arguments: [String], _ status: Int32, _ message: String)
        async throws
    {
        let finished = try await StartedNephos(arguments).finish()
        #expect(finished.status == status && finished.output.isEmpty)
        #expect(finished.errors.contains(message), "\(finished.errors)")
        #expect(finished.errors.split(separator: "\n").count == 1)
    }

    @Test func `a missing item is reported, and not created`() async throws {
        try await Self.with(.server) { cloud in
            var finished = try await cloud.run("zones", "list")
            let expected = "nephos: there is no container \(Self.container) in development (BAD_REQUEST)\n"
            #expect(finished.status == 1 && finished.errors == expected, "\(finished)")
            try await cloud.makeZones("A")
            finished = try await cloud.run("zones", "list", "--environment", "production")
            #expect(finished.errors.contains("\(Self.container) in production; it is in development"), "\(finished)")
            let place = ["--url", "http://127.0.0.1:\(cloud.port)", "--container", Self.container + "s"]
            finished = try await StartedNephos(["zones", "list"] + place).finish()
            #expect(finished.errors.contains("did you mean '\(Self.container)'?"), "\(finished)")
            finished = try await cloud.run("zones", "list", "--account", "nobody")
            #expect(
                finished.status == 1
                    && finished.errors.hasPrefix("nephos: there is no account 'nobody': an account exists"))
            finished = try await cloud.run("zones", "remove", "--yes", "--account", "me", "_defaultZone")
            #expect(finished.status == 1 && finished.errors.contains("'_defaultZone' cannot be removed"), "\(finished)")
            let answer = try await TestConnection(port: cloud.port).request(
                "POST", "/nephos/1/\(Self.container)/development/zones/remove",
                body: #"{"account":"me","reason":"LOST"}"#)
            #expect(answer.status == 400 && answer.text.contains("expected one of DELETED, PURGED"), "\(answer.text)")
            #expect(try await cloud.run("zones", "list").output == "me  A\n")
        }
    }
}
