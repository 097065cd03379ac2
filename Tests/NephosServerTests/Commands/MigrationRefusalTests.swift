import Foundation
import Glibc
import NephosPostgresTesting
import NephosTesting
import Testing

/// What `nephos migrate`, and servers over a database, refuse with nothing changed.
@Suite(.overPostgreSQL) struct MigrationRefusalTests {
    private static let unsafe = "--accept-unsafe-storage"

    /// Expects that a server and commands refuse a directory and a database together.
    private func expectRefusals(_ data: String, _ storage: [String], _ words: String) async throws {
        for arguments in [
            ["verify"], ["serve", "--url", "http://127.0.0.1:8484", "--listen", "127.0.0.1:0"],
            ["serve", "--url", "http://127.0.0.1:8484", "--check"], ["containers", "list"],
            ["accounts", "adopt", "--dry-run"], ["dev", "--port", "0"],
        ] {
            let refused = try await StartedNephos(arguments + ["--data", data] + storage).finish()
            #expect(refused.status == 1 && refused.errors.contains(words), "\(arguments): \(refused)")
        }
    }

    /// Kills a migration that waits.
    private func kill(_ command: StartedNephos, release: () throws -> Void) async throws {
        #expect(try await command.stop(SIGKILL).exited == false)
        try release()
    }

    @Test(.timeLimit(.minutes(3)))
    func
        `stores that are not in the database are neither served over it nor marked, also after a migration killed before its note`()
        async throws
    {
        try await withTemporaryDirectory { directory in
            let database = try EmptyDatabase()
            let storage = ["--storage", database.address, Self.unsafe]
            let first = try ServedInstallation(directory.appendingPathComponent("first"))
            try await first.start()
            let apiToken = try await first.prepare(accounts: "ada@example.org")
            let session = try await first.signIn("ada@example.org")
            try await first.save("a", apiToken: apiToken, token: session)
            try await first.stop()
            let mark = "\(first.data)/assets.id"
            func expectUnmoved() async throws {
                try await expectRefusals(
                    first.data, storage, "has stores that are not in the database")
                #expect(!FileManager.default.fileExists(atPath: mark))
            }
            try await expectUnmoved()
            #expect(try !database.hasTables)

            let migration = ["migrate", "--from", first.data, "--to", database.address, Self.unsafe]
            try database.holdTables()
            let early = try StartedNephos(migration)
            _ = try await offThePool { early.errors.fileHandleForReading.availableData }
            try await kill(early, release: database.releaseTables)
            try await expectUnmoved()
            #expect(try !database.hasTables)

            try database.holdStores()
            let late = try StartedNephos(migration)
            await eventually { (try? database.isWaitedFor) == true }
            try await kill(late, release: database.releaseStores)
            try await expectUnmoved()

            // A server of an earlier version marked them.
            try Data("1\n".utf8).write(to: URL(fileURLWithPath: mark))
            let refused = try await StartedNephos(migration).finish()
            #expect(refused.status == 1 && refused.errors.contains("none of its containers"), "\(refused.errors)")
            try FileManager.default.removeItem(atPath: mark)

            let moved = try await StartedNephos(migration).finish()
            #expect(moved.status == 0, "\(moved.errors)")
            let second = try ServedInstallation(URL(fileURLWithPath: first.data), storage: storage)
            try await second.start()
            #expect(try await second.records(apiToken: apiToken, token: session) == ["a"])
            try await second.stop()
        }
    }

    @Test(.timeLimit(.minutes(3))) func `stores are not copied beside the accounts of another installation`()
        async throws
    {
        try await withTemporaryDirectory { directory in
            let database = try EmptyDatabase()
            let storage = ["--storage", database.address, Self.unsafe]
            let served = try ServedInstallation(directory.appendingPathComponent("served"))
            let other = try ServedInstallation(directory.appendingPathComponent("other"))
            try await served.start()
            _ = try await served.prepare(accounts: "ada@example.org")
            try await served.stop()
            try await other.start()
            let apiToken = try await other.prepare(accounts: "bob@example.org")
            try await other.save("b", apiToken: apiToken, token: try await other.signIn("bob@example.org"))
            try await other.output("containers", "create", "iCloud.org.example.Zebra")
            try await other.stop()
            func migrate(_ from: String, _ to: String, _ more: String...) async throws -> Finished {
                try await StartedNephos(["migrate", "--from", from, "--to", to, Self.unsafe] + more).finish()
            }
            let (words, container) = ("another installation's accounts", ServedInstallation.container)
            #expect(try await migrate(served.data, database.address).status == 0)
            for refused in [
                try await migrate(other.data, database.address, "--container", container),
                try await migrate(other.data, database.address), try await migrate(database.address, other.data),
            ] {
                #expect(refused.status == 1 && refused.errors.contains(words), "\(refused)")
            }
            // Nothing was noted that would keep the database's servers from their data.
            let verified = try await StartedNephos(["verify", "--data", served.data] + storage).finish()
            #expect(verified.status == 0, "\(verified)")

            let backup = directory.appendingPathComponent("backup").path
            try await other.output("backup", backup)
            let third = try ServedInstallation(directory.appendingPathComponent("third"))
            try await third.output("accounts", "create", "--no-password", "cy@example.org")
            let refused = try await third.run("restore", backup, "--container", container)
            #expect(refused.status == 1 && refused.errors.contains(words), "\(refused)")
            try await third.output("verify")
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func `a server that is stopped while another makes the tables says that it never served`()
        async throws
    {
        try await withTemporaryDirectory { directory in
            let database = try EmptyDatabase()
            try database.holdTables()
            let server = try StartedNephos([
                "serve", "--data", directory.path, "--url", "http://127.0.0.1:8484", "--listen", "127.0.0.1:0",
                "--storage",
                database.address, Self.unsafe,
            ])
            let waiting = try await offThePool {
                String(decoding: server.errors.fileHandleForReading.availableData, as: UTF8.self)
            }
            #expect(waiting.contains("waiting for another server"), "\(waiting)")
            let stopped = try await server.stop()
            #expect(stopped.status == 0 && stopped.errors.contains("stopped before it served"), "\(stopped)")
            #expect(!stopped.errors.contains("under way"), "\(stopped)")
            try database.releaseTables()
        }
    }
}
