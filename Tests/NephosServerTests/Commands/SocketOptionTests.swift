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
}
