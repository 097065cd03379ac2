import Foundation
import Glibc
import NephosPostgresTesting
import Testing

/// `nephos migrate`, killed after each store: nothing is served before all that was to be moved is, and a repetition goes on.
@Suite(.overPostgreSQL) struct InterruptedMigrationTests {
    private static let unsafe = "--accept-unsafe-storage"
    private static let containers = [ServedInstallation.container, "iCloud.org.example.Zebra"]
    /// In the order in which they are copied.
    private static let stores =
        ["nephos, installation"] + containers.map { "\($0), development" }

    /// Runs a migration, and kills it as it waits for the store with that number.
    private func interrupt(_ arguments: [String], before number: Int, _ database: EmptyDatabase) async throws {
        try database.hold(store: number)
        let command = try StartedNephos(["migrate"] + arguments)
        var printed = ""
        while !printed.contains("\(Self.stores[number - 2]): ") {
            let text = try await command.readyLine()
            if text.isEmpty {
                let ended = try await command.finish()
                try #require(!text.isEmpty, "\(arguments) ended: \(ended)")
            }
            printed += text
        }
        #expect(try await command.stop(SIGKILL).exited == false)
        try database.release(store: number)
    }

    private func expectRefusal(_ data: String, _ storage: [String], _ words: String) async throws {
        for arguments in [
            ["verify"], ["serve", "--url", "http://127.0.0.1:8484", "--listen", "127.0.0.1:0"],
            ["serve", "--url", "http://127.0.0.1:8484", "--check"], ["containers", "list"],
        ] {
            let refused = try await StartedNephos(arguments + ["--data", data] + storage).finish()
            #expect(refused.status == 1, "\(arguments)")
            let told = refused.errors + refused.output
            #expect(told.contains(words) && told.contains(/goe?s? on where/), "\(arguments): \(told)")
        }
    }

    /// Moves all stores, killed after each of them but the last.
    private func move(
        _ arguments: [String], to data: String, _ storage: [String], _ database: EmptyDatabase, _ words: String
    ) async throws {
        for number in 2...Self.stores.count {
            try await interrupt(arguments, before: number, database)
            try await expectRefusal(data, storage, words)
        }
        let other = try await StartedNephos(["migrate"] + arguments + ["--container", Self.containers[0]]).finish()
        #expect(other.status == 0 && other.output == "\(Self.stores[1]): copied before\n", "\(other)")
        #expect(other.errors.contains("still to copy"), "\(other.errors)")
        try await expectRefusal(data, storage, words)
        let moved = try await StartedNephos(["migrate"] + arguments).finish()
        #expect(moved.status == 0, "\(moved.errors)")
        #expect(moved.output.contains("\(Self.stores[0]): copied before\n\(Self.stores[1]): copied before\n"))
        #expect(moved.output.contains(/Zebra, development: \d+ rows/), "\(moved.output)")
    }

    @Test(.timeLimit(.minutes(5))) func `a killed migration goes on, and nothing is served before it has ended`()
        async throws
    {
        try await withTemporaryDirectory { directory in
            let database = try EmptyDatabase()
            let storage = ["--storage", database.address, Self.unsafe]
            let first = try ServedInstallation(directory.appendingPathComponent("first"))
            try await first.start()
            let apiToken = try await first.prepare(accounts: "ada@example.org")
            try await first.output("containers", "create", Self.containers[1])
            let session = try await first.signIn("ada@example.org")
            try await first.save("a", apiToken: apiToken, token: session)
            try await first.stop()
            let folder = URL(fileURLWithPath: first.data)
            try FileManager.default.copyItem(
                at: folder.appendingPathComponent(Self.containers[0]),
                to: folder.appendingPathComponent(Self.containers[1]))
            try await move(
                ["--from", first.data, "--to", database.address, Self.unsafe], to: first.data, storage, database,
                "'nephos migrate' was interrupted")
            #expect(FileManager.default.fileExists(atPath: "\(first.data)/assets.id"))

            let second = try ServedInstallation(directory.appendingPathComponent("second"), storage: storage)
            try await second.start()
            #expect(try await second.records(apiToken: apiToken, token: session) == ["a"])
            try await second.stop()

            let third = try ServedInstallation(directory.appendingPathComponent("third"))
            try await move(
                ["--from", database.address, "--to", third.data, Self.unsafe], to: third.data, [], database,
                "copy.unfinished")
            try await third.start()
            #expect(try await third.records(apiToken: apiToken, token: session) == ["a"])
            try await third.stop()
            try await third.output("verify")
        }
    }
}
