import Foundation
import Glibc
import Testing

/// `nephos containers delete`, on the data of a running server, a stopped one, and one that is killed.
@Suite struct ContainersCommandTests {
    private static let container = ServedInstallation.container

    private func waitUntilGone(_ served: ServedInstallation) async throws {
        let deadline = ContinuousClock.now + .seconds(120)
        while try await served.output("containers", "list").contains("being deleted") {
            try #require(ContinuousClock.now < deadline, "the container is not removed")
        }
        let directory = try FileManager.default.contentsOfDirectory(atPath: served.data)
        #expect(!directory.contains { $0.contains(Self.container) }, "\(directory)")
    }

    @Test func `a container is deleted once that is confirmed, with the server running and stopped`() async throws {
        try await withTemporaryDirectory { directory in
            let served = try ServedInstallation(directory.appendingPathComponent("data"))
            try await served.start()
            let apiToken = try await served.prepare(accounts: "ada@example.org")
            let session = try await served.signIn("ada@example.org")
            try await served.save("a", apiToken: apiToken, token: session)
            try await served.output("containers", "create", "iCloud.second")
            let unconfirmed = try await served.run("containers", "delete", Self.container)
            #expect(
                unconfirmed.status != 0 && unconfirmed.errors.contains("this erases the container \(Self.container)"))
            #expect(try await served.records(apiToken: apiToken, token: session) == ["a"])
            let unknown = try await served.run("containers", "delete", "iCloud.none", "--yes")
            #expect(unknown.status != 0 && unknown.errors.contains("there is no container iCloud.none"))

            let deleted = try await served.output("containers", "delete", Self.container, "--yes")
            #expect(
                deleted == """
                    container \(Self.container) deleted:
                      development: 1 account, 2 zones, 3 records
                    """, "\(deleted)")
            let refused = try await served.send(
                "records/query", #"{"query":{"recordType":"Note"}}"#, apiToken: apiToken, token: session)
            #expect(refused.status == 401 && refused.text.contains("AUTHENTICATION_FAILED"), "\(refused.text)")
            try await waitUntilGone(served)
            #expect(try await served.output("containers", "list") == "iCloud.second")
            let audit = try await served.output("audit", "list")
            #expect(audit.contains("container deletion begun") && audit.contains("container removed"), "\(audit)")
            let log = try await served.stop()
            #expect(log.contains("container deleted: \(Self.container)"), "\(log)")

            try await served.output("verify")
            #expect(
                try await served.output("containers", "delete", "iCloud.second", "--yes")
                    == "container iCloud.second deleted:\n  it had no data")
            // The next server removes what it had.
            #expect(try await served.output("containers", "list") == "iCloud.second  being deleted")
            try await served.output("verify")
            try await served.start()
            try await waitUntilGone(served)
            #expect(try await served.output("containers", "list") == "no containers")
            try await served.stop()
        }
    }

    @Test func `a server that is killed goes on at its next start`() async throws {
        try await withTemporaryDirectory { directory in
            let served = try ServedInstallation(directory.appendingPathComponent("data"))
            try await served.start()
            let apiToken = try await served.prepare(accounts: "ada@example.org")
            let session = try await served.signIn("ada@example.org")
            try await served.save("a", apiToken: apiToken, token: session)
            try await served.output("containers", "delete", Self.container, "--yes")
            kill(try #require(served.processID), SIGKILL)
            try await served.finishKilled()

            #expect(try await served.output("containers", "list") == "\(Self.container)  being deleted")
            try await served.output("verify")
            try await served.output("backup", directory.appendingPathComponent("backup").path)
            let made = try await served.run("containers", "create", Self.container)
            #expect(made.status != 0 && made.errors.contains("is being deleted"), "\(made.errors)")
            try await served.start()
            try await waitUntilGone(served)
            try await served.output("containers", "create", Self.container)
            let refused = try await served.send(
                "records/query", #"{"query":{"recordType":"Note"}}"#, apiToken: apiToken, token: session)
            #expect(refused.status == 401 && refused.text.contains("AUTHENTICATION_FAILED"), "\(refused.text)")
            let again = try await served.output("api-tokens", "create", "--container", Self.container)
            let signedIn = try await served.signIn("ada@example.org")
            let empty = try await served.send(
                "records/query", #"{"query":{"recordType":"Note"}}"#, apiToken: again, token: signedIn)
            #expect(empty.text.contains("Did not find record type: Note"), "\(empty.text)")
            try await served.stop()
        }
    }
}
