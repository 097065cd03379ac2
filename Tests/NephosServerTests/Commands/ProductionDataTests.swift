import Foundation
import Glibc
import NephosPostgresTesting
import NephosStorage
import NephosTesting
import Testing

@testable import NephosPostgres
@testable import NephosSQLite

/// The operator's commands on the data of a production server.
@Suite struct ProductionDataTests {
    private typealias Served = ServedInstallation
    private static let container = ServedInstallation.container

    @Test func `a backup has the accounts, and a restore ends all sessions`() async throws {
        try await withTemporaryDirectory { directory in
            let served = try Served(directory.appendingPathComponent("data"))
            let (backup, restored) = (directory.appendingPathComponent("backup").path, "restored")
            try await served.start()
            let apiToken = try await served.prepare(accounts: "ada@example.org")
            let session = try await served.signIn("ada@example.org")
            try await served.save("a", apiToken: apiToken, token: session)
            let copied = try await served.output("backup", backup)
            #expect(copied.contains("\(Self.container), development: 3 records"))
            #expect(copied.contains(/nephos, installation: \d+ entries/) && !copied.contains("sessions"))
            let status = try await TestConnection(path: "\(served.data)/nephos.sock").request(
                "GET", "/status", headers: ["Host": "localhost"])
            #expect(status.text.contains(Self.container) && !status.text.contains("installation"))
            // A container that a command made is not logged at its first write.
            let logged = try await served.stop().split(separator: "\n")
            #expect(logged.count == 1 && logged[0].contains("audit: head 1:"), "\(logged)")

            let other = try Served(directory.appendingPathComponent(restored))
            let told = try await other.output("restore", backup)
            // The accounts come first.
            #expect(
                told.contains(/^nephos, installation: \d+ entries\n  all sessions ended: everybody signs in again\n/),
                "\(told)")
            try await other.start()
            #expect(try await other.records(apiToken: apiToken, token: session) == nil)
            #expect(try await other.output("sessions", "list", "ada@example.org") == "no sessions")
            let again = try await other.signIn("ada@example.org")
            #expect(try await other.records(apiToken: apiToken, token: again) == ["a"])
            try await other.stop()
            try await other.output("verify")

            // The server that was backed up goes on.
            try await served.start()
            #expect(try await served.records(apiToken: apiToken, token: session) == ["a"])
            try await served.stop()
        }
    }

    @Test func `a restore without the accounts is not taken for the data of nephos dev`() async throws {
        try await withTemporaryDirectory { directory in
            let served = try Served(directory.appendingPathComponent("data"))
            let (backup, unfinished) = (directory.appendingPathComponent("backup").path, "unfinished")
            try await served.start()
            let apiToken = try await served.prepare(accounts: "ada@example.org")
            try await served.save("a", apiToken: apiToken, token: try await served.signIn("ada@example.org"))
            try await served.output("backup", backup)
            try await served.stop()

            let other = try Served(directory.appendingPathComponent(unfinished))
            try await other.output("restore", backup, "--container", Self.container)
            for arguments in [
                ["dev", "--port", "0"], ["serve", "--url", other.url, "--listen", "127.0.0.1:0"],
                ["serve", "--url", other.url, "--check"], ["accounts", "adopt", "--dry-run"], ["containers", "list"],
            ] {
                let refused = try await StartedNephos(arguments + ["--data", other.data]).finish()
                #expect(refused.status == 1, "\(arguments)")
                #expect(refused.errors.contains("with '--container nephos'"), "\(arguments): \(refused.errors)")
            }
            try await other.output("restore", backup, "--container", "nephos")
            try await other.start()
            let session = try await other.signIn("ada@example.org")
            #expect(try await other.records(apiToken: apiToken, token: session) == ["a"])
            try await other.stop()
        }
    }

    @Test(.enabled(if: geteuid() == 0))
    func `as root, commands leave no file that the owner of the data cannot open`() async throws {
        let nobody: uid_t = 65534
        try await withTemporaryDirectory { directory in
            chmod(directory.path, 0o755)
            let served = try Served(directory.appendingPathComponent("data"))
            let restored = try Served(directory.appendingPathComponent("restored"))
            for data in [served.data, restored.data] { #expect(chown(data, nobody, nobody) == 0) }
            try await served.output("containers", "create", Self.container)
            try await served.output("accounts", "create", "--no-password", "ada@example.org")
            _ = try await served.run("zones", "list", "--account", "ada@example.org")
            // Who typed a command, and not the user as whom it goes on.
            let audited = try await served.output("audit", "list")
            #expect(audited.contains("user 0") && !audited.contains("user \(nobody)"), "\(audited)")
            // Files of assets, which a backup holds.
            let assets = "\(served.data)/\(Self.container)/development.assets"
            for path in ["\(served.data)/\(Self.container)", assets] {
                if !FileManager.default.fileExists(atPath: path) { mkdir(path, 0o700) }
                #expect(chown(path, nobody, nobody) == 0)
            }
            let backup = directory.appendingPathComponent("backup").path
            try await served.output("backup", backup)
            let refused = try await restored.run("restore", backup)
            #expect(refused.status == 1 && refused.errors.contains("may not read \(backup)"), "\(refused.errors)")
            let owned = FileManager.default.enumerator(atPath: backup)?.allObjects.compactMap { $0 as? String } ?? []
            for name in [""] + owned { #expect(chown("\(backup)/\(name)", nobody, nobody) == 0) }
            try await restored.output("restore", backup)
            try await restored.output("verify")
            for data in [served.data, restored.data] {
                let names = FileManager.default.enumerator(atPath: data)?.allObjects.compactMap { $0 as? String } ?? []
                #expect(names.contains(".lock"))
                for name in names {
                    var status = stat()
                    #expect(lstat("\(data)/\(name)", &status) == 0 && status.st_uid == nobody, "\(name)")
                }
            }
        }
    }

    @Test(.enabled(if: geteuid() == 0))
    func `as root, a restore and a migration make no directory that no other user's server could use`() async throws {
        try await withTemporaryDirectory { directory in
            let missing = directory.appendingPathComponent("missing").path
            let address = "postgresql://nobody@/none?host=\(directory.path)"
            for arguments in [
                ["restore", "--data", missing, directory.path], ["migrate", "--from", address, "--to", missing],
            ] {
                let refused = try await StartedNephos(arguments).finish()
                #expect(refused.status == 1, "\(arguments)")
                #expect(refused.errors.contains("install -d -m 700 -o nephos \(missing)"), "\(refused.errors)")
                #expect(refused.errors.contains("sudo -u nephos nephos \(arguments[0])"), "\(refused.errors)")
                #expect(!FileManager.default.fileExists(atPath: missing))
            }
        }
    }

    @Test func `a server is not ready while the store of its accounts cannot be written`() async throws {
        try await withTemporaryDirectory { directory in
            let served = try Served(directory.appendingPathComponent("data"))
            try await served.start()
            let data = served.data
            @Sendable func ready() async throws -> TestResponse {
                try await TestConnection(path: "\(data)/nephos.sock").request(
                    "GET", "/ready", headers: ["Host": "localhost"])
            }
            let before = try await ready()
            #expect(before.status == 200, "\(before.text)")
            let connection = try Connection(path: "\(data)/nephos/installation.sqlite", access: .writing)
            try connection.execute(
                """
                CREATE TRIGGER broken BEFORE INSERT ON installation_entry BEGIN SELECT raise(ABORT, 'broken'); END
                """)
            connection.close()
            await eventually { (try? await ready().status) == 503 }
            let after = try await ready()
            #expect(after.text.contains("the store of the accounts cannot be written"), "\(after.text)")
            #expect(try await served.stop().contains("not ready: the store of the accounts cannot be written: "))
        }
    }

    @Test func `a check fails where the store of the accounts cannot be read`() async throws {
        try await withTemporaryDirectory { directory in
            let served = try Served(directory.appendingPathComponent("data"))
            try await served.output("containers", "create", Self.container)
            func check() async throws -> Finished {
                try await served.run("serve", "--check", "--url", "http://127.0.0.1:8484", "--listen", "127.0.0.1:0")
            }
            #expect(try await check().status == 0)
            let path = "\(served.data)/nephos/installation.sqlite"
            let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
            // The header stays as it is.
            try file.seek(toOffset: 4096)
            try file.write(
                contentsOf: Data(repeating: 0x5A, count: try Data(contentsOf: URL(fileURLWithPath: path)).count - 4096))
            try file.close()
            let damaged = try await check()
            #expect(damaged.status == 1, "\(damaged)")
            #expect(damaged.errors.contains("the store of nephos, installation: "), "\(damaged.errors)")
        }
    }

    @Test(.enabled(if: geteuid() == 0), arguments: ["nephos/installation.sqlite", "nephos"])
    func `a check fails where the server's user may not write a store or its directory`(name: String) async throws {
        try await withTemporaryDirectory { directory in
            chmod(directory.path, 0o755)
            let served = try Served(directory.appendingPathComponent("data"))
            #expect(chown(served.data, 65534, 65534) == 0)
            try await served.output("containers", "create", Self.container)
            #expect(chmod("\(served.data)/\(name)", name == "nephos" ? 0o500 : 0o400) == 0)
            let check = try await served.run(
                "serve", "--check", "--url", "http://127.0.0.1:8484", "--listen", "127.0.0.1:0")
            #expect(check.status == 1 && check.errors.contains("may write \(served.data)/\(name)"), "\(check.errors)")
        }
    }

    @Test func `words of checks name what a start would refuse, and what there is`() async throws {
        try await withTemporaryDirectory { directory in
            let path = "\(directory.path)/\(String(repeating: "s", count: 107))"
            let check = try await StartedNephos([
                "serve", "--check", "--url", "http://127.0.0.1:8484", "--data", directory.path, "--socket", path,
            ]).finish()
            #expect(check.status == 1 && check.errors.contains("is longer than 107 bytes"), "\(check.errors)")
            let verify = try await StartedNephos(["verify", "--data", directory.path]).finish()
            #expect(verify.status == 1 && verify.errors.contains("there are no stores in"), "\(verify.errors)")
        }
    }

    @Test func `verify counts the installation's entries, and says which are damaged`() async throws {
        try await withTemporaryDirectory { directory in
            let served = try Served(directory.appendingPathComponent("data"))
            try await served.start()
            _ = try await served.prepare(accounts: "ada@example.org")
            #expect(try await served.output("verify").contains(/^nephos, installation: \d+ entries$/))
            try await served.stop()
            let stores = try DataDirectory(path: served.data)
            let engine = try stores.open(.installation)
            try await engine.write(of: [.everyone]) { transaction in
                try transaction.put(InstallationEntry(kind: .session, name: "x", body: [1], expiresAt: 0))
            }
            await engine.close()
            stores.close()
            let found = try await served.run("verify")
            #expect(found.status == 1)
            #expect(found.output.contains("  the installation's entry 'x' of kind session cannot be read"))
        }
    }

    @Test func `commands on the data know accounts by the names of the installation`() async throws {
        try await withTemporaryDirectory { directory in
            let served = try Served(directory.appendingPathComponent("data"))
            try await served.start()
            let apiToken = try await served.prepare(accounts: "ada@example.org", "bob@example.org")
            let ada = try await served.signIn("ada@example.org")
            try await served.save("a", apiToken: apiToken, token: ada)
            let zone = #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Z"}}}]}"#
            #expect(try await served.send("zones/modify", zone, apiToken: apiToken, token: ada).status == 200)
            let running = try await served.run("query", "Note", "--account", "ada@example.org")
            #expect(running.status == 1 && running.errors.contains("the server is running"))
            #expect(running.errors.contains("--url URL"))
            try await served.stop()

            #expect(try await served.output("query", "Note", "--account", "Ada@example.org").hasPrefix("a in "))
            for arguments in [["query", "Note"], ["zones", "list"], ["share", "list"], ["export"]] {
                let arguments = arguments + ["--account", "nobody@example.org", "--data", served.data]
                let unknown = try await StartedNephos(arguments).finish()
                #expect(unknown.status == 1 && unknown.errors.contains("no account 'nobody@example.org'"))
            }
            let nameless = try await served.run("query", "Note")
            #expect(nameless.status == 2 && nameless.errors.contains("which account of the production server?"))
            let absent = try await served.run("query", "Note", "--account", "bob@example.org")
            #expect(absent.status == 1 && absent.errors.contains("no account 'bob@example.org'"))
            #expect(try await served.output("query", "Note", "--database", "public") == "")
            #expect(try await served.output("zones", "list") == "ada@example.org  Z")
            let listed = try await served.output("accounts", "list", "--container", Self.container)
            #expect(listed.contains(/^ada@example\.org  _[0-9a-f]{32}$/), "\(listed)")
            let why = try await served.output(
                "why", "ada@example.org", "a", "--owner", "ada@example.org", "--zone", "_defaultZone")
            #expect(why.contains("ada@example.org") && !why.contains("id:"), "\(why)")
            let elsewhere = try await served.run("schema", "import", "--container", "iCloud.other", "/dev/null")
            #expect(elsewhere.status != 0 && elsewhere.errors.contains("has no container 'iCloud.other'"))
        }
    }

    @Test func `commands on the data are in the audit, each once, as the user's of this machine`() async throws {
        try await withTemporaryDirectory { directory in
            let served = try Served(directory.appendingPathComponent("data"))
            try await served.start()
            let apiToken = try await served.prepare(accounts: "ada@example.org", "bob@example.org")
            for name in ["ada@example.org", "bob@example.org"] {
                try await served.save("a", apiToken: apiToken, token: try await served.signIn(name))
            }
            try await served.stop()
            let before = try await served.output("audit", "list").split(separator: "\n").count
            let file = directory.appendingPathComponent("all.jsonl").path
            try await served.output("export", "--all", "--output", file)
            try await served.output("query", "Note", "--account", "ada@example.org")
            try await served.output("import", file, "--account", "ada@example.org")
            try await served.output("deletions", "forget", "--older-than", "30d", "--yes")
            try await served.output("zones", "list", "--account", "ada@example.org")
            let schema = directory.appendingPathComponent("app.ckdb").path
            try await served.output("schema", "export", "--output", schema)
            try await served.output("schema", "import", schema)
            let events = try await served.output("audit", "list").split(separator: "\n").dropFirst(before)
            let expected = [
                "nephos export", "nephos query", "nephos import", "/nephos/deletions/forget", "/nephos/schema/import",
            ]
            #expect(events.count == expected.count, "\(events)")
            for (event, name) in zip(events, expected) {
                #expect(event.hasSuffix("  user \(geteuid())  \(name)  \(Self.container) development"), "\(event)")
            }
        }
    }

    @Test func `the name of the server's own store is no container's`() async throws {
        try await withTemporaryDirectory { directory in
            let served = try Served(directory.appendingPathComponent("data"))
            let refused = try await served.run("containers", "create", "nephos")
            #expect(refused.status == 1 && refused.errors.contains("another name"), "\(refused)")
            try await served.output("containers", "create", "nephos.org")
            let server = try StartedNephos([
                "dev", "--port", "0", "--data", directory.appendingPathComponent("dev").path,
            ])
            let saved = try await TestConnection(port: try readyPort(try await server.readyLine())).request(
                "POST", "/database/1/nephos/development/private/zones/list?ckAPIToken=any&ckWebAuthToken=dev:me")
            #expect(saved.text.contains("another name"), "\(saved.text)")
            #expect(try await server.stop().status == 0)
        }
    }

    @Test func `an account accepts an invitation to its name, and shares show the names of accounts`() async throws {
        try await withTemporaryDirectory { directory in
            let served = try Served(directory.appendingPathComponent("data"))
            try await served.start()
            let apiToken = try await served.prepare(accounts: "ada@example.org", "bob@example.org", "eve@example.org")
            let ada = try await served.signIn("ada@example.org")
            let zone = #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Z"}}}]}"#
            #expect(try await served.send("zones/modify", zone, apiToken: apiToken, token: ada).status == 200)
            let share = """
                {"zoneID":{"zoneName":"Z"},"operations":[{"operationType":"create","record":{
                 "recordName":"cloudkit.zoneshare","recordType":"cloudkit.share","fields":{},"publicPermission":"NONE",
                 "participants":[{"userIdentity":{"lookupInfo":{"emailAddress":"bob@example.org"}},
                 "permission":"READ_ONLY","type":"USER"}]}}]}
                """
            let saved = try await served.send("records/modify", share, apiToken: apiToken, token: ada)
            let guid = String(try #require(saved.text.firstMatch(of: /"shortGUID":"([^"]+)"/), "\(saved.text)").1)
            try await served.stop()
            let refused = try await served.run("share", "accept", guid, "--account", "eve@example.org")
            #expect(refused.status == 1 && refused.errors.contains("not among the share's participants"))
            let accepted = try await served.output("share", "accept", guid, "--account", "bob@example.org")
            #expect(accepted.hasPrefix("accepted: zone Z "))
            let listed = try await served.output("share", "list")
            #expect(listed.hasPrefix("ada@example.org  Z  the whole zone") && !listed.contains("id:"), "\(listed)")
            #expect(listed.contains("    bob@example.org  PRIVATE_USER  READ_ONLY  ACCEPTED"))
        }
    }

    @Test func `an export of one installation is imported into another by the names of accounts`() async throws {
        try await withTemporaryDirectory { directory in
            let (first, second) = (
                try Served(directory.appendingPathComponent("first")),
                try Served(directory.appendingPathComponent("second"))
            )
            let file = directory.appendingPathComponent("all.jsonl").path
            try await first.start()
            let apiToken = try await first.prepare(accounts: "ada@example.org")
            try await first.save("a", apiToken: apiToken, token: try await first.signIn("ada@example.org"))
            try await first.stop()
            try await first.output("export", "--all", "--output", file)
            #expect(try String(contentsOfFile: file, encoding: .utf8).contains(#""account":"ada@example.org""#))

            try await second.start()
            let other = try await second.prepare(accounts: "bob@example.org")
            try await second.stop()
            let refused = try await second.run("import", file)
            #expect(refused.status == 1 && refused.errors.contains("no account 'ada@example.org'"))
            try await second.output("accounts", "create", "--no-password", "ada@example.org")
            try await second.output("import", file)
            try await second.start()
            let session = try await second.signIn("ada@example.org")
            #expect(try await second.records(apiToken: other, token: session) == ["a"])
            try await second.stop()
        }
    }

    @Test func `an export of several accounts needs no token, and an account for its public records`() async throws {
        try await withTemporaryDirectory { directory in
            let served = try Served(directory.appendingPathComponent("data"))
            try await served.start()
            let apiToken = try await served.prepare(accounts: "ada@example.org", "bob@example.org")
            let token = try await served.signIn("ada@example.org")
            try await served.save("old", apiToken: apiToken, token: token)
            let file = directory.appendingPathComponent("all.jsonl").path
            func header(_ database: String, _ account: String?) -> String {
                let account = account.map { #","account":"\#($0)""# } ?? ""
                return #"{"nephosExport":1,"container":"\#(Self.container)","environment":"development","#
                    + #""database":"\#(database)"\#(account)}"#
            }
            let record = { (name: String) in
                #"{"operations":[{"operationType":"forceReplace","record":{"recordName":"\#(name)","recordType":"Note"}}]}"#
            }
            try Data(
                [
                    header("public", nil), record("shown"), header("private", "ada@example.org"), record("hers"),
                    header("private", "bob@example.org"), record("his"),
                ].joined(separator: "\n").utf8
            ).write(to: URL(fileURLWithPath: file))
            let byToken = try await StartedNephos(
                ["import", file, "--url", served.url],
                environment: ["NEPHOS_TOKEN": token, "NEPHOS_API_TOKEN": apiToken]
            ).finish()
            #expect(byToken.status == 1 && byToken.errors.contains(":3: another database begins here"), "\(byToken)")
            #expect(try await served.records(apiToken: apiToken, token: token) == ["old"])
            try await served.stop()
            let nobody = try await served.run("import", file)
            #expect(
                nobody.status == 1 && nobody.errors.contains(":1: public records of a production server"), "\(nobody)")
            let imported = try await served.run("import", file, "--account", "bob@example.org")
            #expect(imported.status == 0, "\(imported)")
            #expect(try await served.output("query", "Note", "--account", "ada@example.org").hasPrefix("hers in "))
            #expect(try await served.output("query", "Note", "--account", "bob@example.org").hasPrefix("his in "))
            #expect(try await served.output("query", "Note", "--database", "public") == "shown")
        }
    }

    @Test func `an administrator elsewhere lists accounts by name, and deletes them in all containers alone`()
        async throws
    {
        try await withTemporaryDirectory { directory in
            let served = try Served(directory.appendingPathComponent("data"))
            try await served.start()
            _ = try await served.prepare(accounts: "ada@example.org", "bob@example.org")
            try await served.output("admins", "grant", "ada@example.org")
            let signedIn = try await TestConnection(port: served.port).request(
                "POST", "/nephos/1/installation/sessions/sign-in", headers: ["Host": "127.0.0.1:\(served.port)"],
                body: #"{"account":"ada@example.org","password":"nine lives of a grey cat","administration":true}"#)
            let token = try #require(signedIn.text.firstMatch(of: /"ckWebAuthToken":"([^"]+)"/), "\(signedIn.text)").1
            func run(_ arguments: String...) async throws -> Finished {
                try await StartedNephos(
                    ["accounts"] + arguments,
                    environment: [
                        "NEPHOS_URL": served.url, "NEPHOS_TOKEN": String(token), "NEPHOS_CONTAINER": Self.container,
                    ]
                ).finish()
            }
            let listed = try await run("list")
            #expect(listed.status == 0 && listed.output.split(separator: "\n").count == 2, "\(listed)")
            #expect(listed.output.contains("bob@example.org"), "\(listed)")
            let refused = try await run("delete", "--yes", "bob@example.org", "--container", Self.container)
            #expect(refused.status == 2 && refused.errors.contains("leave out '--container'"), "\(refused)")
            let deleted = try await run("delete", "--yes", "bob@example.org", "--url", served.url)
            #expect(deleted.status == 0 && deleted.output.contains("in every container"), "\(deleted)")
            let left = try await run("list", "--url", served.url)
            #expect(left.status == 0 && !left.output.contains("bob@example.org"), "\(left)")
            // By the socket of a server whose data are elsewhere.
            let socket = try await StartedNephos(
                ["accounts", "list", "--socket", "\(served.data)/nephos.sock", "--data", directory.path]
            ).finish()
            #expect(socket.output.hasPrefix("ada@example.org  "), "\(socket)")
            // Who restores a backup reads there whose deletion to repeat.
            let bob = try #require(listed.output.firstMatch(of: /bob@example.org  (\S+)/)).1
            #expect(try await served.stop().contains("account deleted: \(bob)\n"))
        }
    }

    @Test(.overPostgreSQL) func `accounts, tokens and sessions move to PostgreSQL and back`() async throws {
        let name = "served_\(UInt32.random(in: .min ... .max))"
        let text = try TestCluster.text.get()
        let host = try #require(text.firstMatch(of: /host=(\S+)/)).1
        let options = PostgresOptions(acceptsUnsafeServer: true)
        let admin = try PostgresConnection(try PostgresAddress(text), options, damage: nil)
        try admin.execute("CREATE DATABASE \(name) ENCODING 'UTF8' TEMPLATE template0")
        admin.close()
        let address = "postgresql://nephos@/\(name)?host=\(host)"
        let unsafe = "--accept-unsafe-storage"
        func migrate(_ from: String, _ to: String, _ options: String...) async throws {
            let moved = try await StartedNephos(["migrate", "--from", from, "--to", to, unsafe] + options).finish()
            #expect(moved.status == 0, "\(moved.errors)")
            #expect(moved.output.contains(/nephos, installation: \d+ rows/))
        }
        try await withTemporaryDirectory { directory in
            let first = try Served(directory.appendingPathComponent("first"))
            try await first.start()
            let apiToken = try await first.prepare(accounts: "ada@example.org")
            let session = try await first.signIn("ada@example.org")
            try await first.save("a", apiToken: apiToken, token: session)
            try await first.stop()
            // The accounts move with the first container.
            try await migrate(first.data, address, "--container", Self.container)
            // All of it is moved: what is still in the files is not to be taken for what is served.
            let revoked = try await first.run("api-tokens", "revoke", apiToken)
            #expect(revoked.status == 1 && revoked.errors.contains("assets.id"), "\(revoked.errors)")
            #expect(revoked.errors.contains("'--storage "), "\(revoked.errors)")
            let listed = try await first.run("accounts", "list")
            #expect(listed.status == 1 && listed.errors.contains("'--storage "), "\(listed.errors)")
            let zones = try await first.run("zones", "list", "--account", "ada@example.org")
            #expect(zones.errors.contains("assets.id") && !zones.errors.contains("--storage"), "\(zones.errors)")
            let stored = try await first.run("accounts", "list", "--storage", address, unsafe)
            #expect(stored.output.hasPrefix("ada@example.org  "), "\(stored)")

            let second = try Served(
                directory.appendingPathComponent("second"), storage: ["--storage", address, unsafe])
            try await second.start()
            #expect(try await second.records(apiToken: apiToken, token: session) == ["a"])
            try await second.save("b", apiToken: apiToken, token: session)
            let verified = try await second.output("verify", "--storage", address, unsafe)
            #expect(verified.contains(/nephos, installation: \d+ entries/))
            try await second.stop()

            let third = try Served(directory.appendingPathComponent("third"))
            let mark = URL(fileURLWithPath: third.data).appendingPathComponent("assets.id")
            try Data("1\n".utf8).write(to: mark)
            try await migrate(address, third.data)
            #expect(!FileManager.default.fileExists(atPath: mark.path))
            try await third.start()
            #expect(try await third.records(apiToken: apiToken, token: session) == ["a", "b"])
            try await third.stop()
            try await third.output("verify")
        }
    }
}
