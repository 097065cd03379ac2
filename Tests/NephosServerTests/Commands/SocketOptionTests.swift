import Foundation
import NephosPostgresTesting
import Testing

/// `--socket`, which names the socket of one of several servers over a data directory.
@Suite struct SocketOptionTests {
    @Test func `a command with a socket at which no server answers leaves the data of a stopped server alone`()
        async throws
    {
        try await withTemporaryDirectory { directory in
            let served = try ServedInstallation(directory.appendingPathComponent("data"))
            try await served.output("containers", "create", ServedInstallation.container)
            let socket = directory.appendingPathComponent("none.sock").path
            for arguments in [
                ["containers", "create", "iCloud.org.example.Other"], ["containers", "list"], ["accounts", "list"],
                ["accounts", "create", "--no-password", "ada@example.org"], ["audit", "list"],
            ] {
                let refused = try await StartedNephos(
                    arguments + ["--socket", socket, "--data", served.data]
                ).finish()
                #expect(refused.status == 1, "\(arguments)")
                #expect(refused.errors.contains("no server answers at \(socket)"), "\(arguments): \(refused)")
            }
            #expect(try await served.output("containers", "list") == ServedInstallation.container)
            let both = try await StartedNephos(
                ["containers", "list", "--socket", socket, "--url", "http://127.0.0.1:1"]
            ).finish()
            #expect(both.status == 2 && both.errors.contains("exclude each other"), "\(both)")
        }
    }

    @Test(.overPostgreSQL) func `the database of a stopped server is reached beside the name of its socket`()
        async throws
    {
        try await withTemporaryDirectory { directory in
            let socket = directory.appendingPathComponent("none.sock").path
            let finished = try await StartedNephos([
                "containers", "create", ServedInstallation.container, "--socket", socket, "--data", directory.path,
                "--storage", try EmptyDatabase().address, "--accept-unsafe-storage",
            ]).finish()
            #expect(finished.status == 0, "\(finished)")
        }
    }

    @Test func `commands that administer ask the server at a socket, also of several containers`() async throws {
        try await withTemporaryDirectory { directory in
            let served = try ServedInstallation(directory.appendingPathComponent("data"))
            try await served.start()
            let apiToken = try await served.prepare(accounts: "ada@example.org")
            try await served.save("a", apiToken: apiToken, token: try await served.signIn("ada@example.org"))
            let listed = try await served.output("accounts", "list")
            let ada = String(try #require(listed.firstMatch(of: /ada@example\.org  (\S+)/)).1)
            let why = ["why", ada, "a", "--owner", ada, "--zone", "_defaultZone"]
            for (arguments, expected) in [
                (["schema", "export"], "RECORD TYPE Note"), (["schema", "indexes"], "no indexes"),
                (["schema", "preflight"], ""), (["preflight"], ""), (["zones", "list"], ""), (["roles", "list"], ""),
                (["deletions", "forget", "--older-than", "30d", "--yes"], "deletions forgotten"),
                (["share", "list"], "no shares"), (["query"], "Note"), (why, "owns the record"), (["status"], "Note"),
                (["accounts", "list"], "ada@example.org"), (["containers", "list"], ServedInstallation.container),
                (["accounts", "list", "--container", ServedInstallation.container], ada),
            ] {
                // A command that looked elsewhere would find no server.
                func run(_ socket: String) async throws -> Finished {
                    try await StartedNephos(
                        arguments + ["--socket", socket], in: directory,
                        environment: ["NEPHOS_URL": "http://127.0.0.1:1"]
                    ).finish()
                }
                let finished = try await run("\(served.data)/nephos.sock")
                let isRefused = arguments.last == "preflight"
                #expect(finished.status == (isRefused ? 1 : 0), "\(arguments): \(finished)")
                #expect(expected.isEmpty || finished.output.contains(expected), "\(arguments): \(finished)")
                #expect(!isRefused || finished.errors.contains("production would refuse"), "\(finished)")
                let none = try await run("\(directory.path)/none.sock")
                #expect(none.status == 1 && none.errors.contains("no server answers at"), "\(arguments): \(none)")
            }
            try await served.output("containers", "create", "iCloud.org.example.Zebra")
            let which = try await StartedNephos(["zones", "list", "--socket", "\(served.data)/nephos.sock"]).finish()
            #expect(which.status == 2 && which.errors.contains("iCloud.org.example.Zebra"), "\(which)")
            try await served.stop()
        }
    }
}
