import Foundation
import NephosSQLite
import NephosStorage
import Testing

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
            let status = try await TestConnection(path: "\(served.data)/nephos.sock").request("GET", "/status")
            #expect(status.text.contains(Self.container) && !status.text.contains("installation"))
            #expect(try await served.stop() == "", "a container that a command made is not logged at its first write")

            let other = try Served(directory.appendingPathComponent(restored))
            let told = try await other.output("restore", backup)
            #expect(told.hasSuffix("  all sessions ended: everybody signs in again"))
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
}
