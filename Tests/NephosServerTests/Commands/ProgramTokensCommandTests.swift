import Foundation
import Testing

@testable import NephosServer

/// `nephos program-tokens`, and commands that sign in with such a token.
@Suite struct ProgramTokensCommandTests {
    private static let container = ServedInstallation.container

    @Test func `a program token is made, listed, used and revoked by command`() async throws {
        try await withTemporaryDirectory { directory in
            let served = try ServedInstallation(directory.appendingPathComponent("data"))
            try await served.start()
            let apiToken = try await served.prepare(accounts: "ada@example.org", "bob@example.org")
            let session = try await served.signIn("ada@example.org")
            try await served.save("a", apiToken: apiToken, token: session)
            func query(_ token: String, _ options: String...) async throws -> Finished {
                try await StartedNephos(
                    ["query", "Note", "--container", Self.container] + options,
                    environment: ["NEPHOS_URL": served.url, "NEPHOS_TOKEN": token]
                ).finish()
            }
            let token = try await served.output(
                "program-tokens", "create", "ada@example.org", "--name", "report", "--container", Self.container,
                "--database", "private", "--read-only", "--expires", "30d")
            #expect(token.hasPrefix("nephos_program_"))
            let found = try await query(token)
            #expect(found.status == 0 && found.output.contains("a"), "\(found)")
            let exported = try await StartedNephos(
                ["export", "--type", "Note", "--container", Self.container],
                environment: ["NEPHOS_URL": served.url, "NEPHOS_TOKEN": token]
            ).finish()
            #expect(exported.status == 0 && exported.output.contains("\"recordName\":\"a\""), "\(exported)")
            let elsewhere = try await query(token, "--database", "public")
            #expect(elsewhere.status == 1 && elsewhere.errors.contains("does not reach the public"), "\(elsewhere)")
            let other = try await query(token, "--environment", "production")
            #expect(other.status == 1 && other.errors.contains("does not reach this container"), "\(other)")
            for list in [["program-tokens", "list"], ["accounts", "programs"], ["sessions", "list"]] {
                let listed = try await served.output(list[0], list[1], "ada@example.org")
                #expect(listed.contains("program report: reads private of \(Self.container), development, until "))
                #expect(!listed.contains(token))
            }
            #expect(try await served.output("program-tokens", "list", "bob@example.org") == "no program tokens")
            try await served.output("sessions", "end", "ada@example.org")
            #expect(try await query(token).status == 0)
            #expect(try await query(session).status == 1)
            let revoked = try await served.output("program-tokens", "revoke", "ada@example.org")
            #expect(revoked == "program tokens revoked: 1")
            #expect(try await query(token).errors.contains("is revoked"))
            try await served.stop()
            // The data of the stopped server takes the same commands.
            let wrong = try await served.run(
                "program-tokens", "create", "ada@example.org", "--container", Self.container, "--name", "a",
                "--expires", "366d")
            #expect(wrong.status == 1 && wrong.errors.contains("365 days"), "\(wrong)")
            let last = try await served.output(
                "program-tokens", "create", "bob@example.org", "--container", Self.container, "--name", "a")
            #expect(last.hasPrefix("nephos_program_"))
            try await served.output("verify")
        }
    }
}
