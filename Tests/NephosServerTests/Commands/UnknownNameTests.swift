import Foundation
import Testing

/// What commands of the administration say of names that nothing has.
@Suite struct UnknownNameTests {
    @Test func `a command about an unknown name says which, and names the command that lists what there is`()
        async throws
    {
        try await withTemporaryDirectory { directory in
            let served = try ServedInstallation(directory.appendingPathComponent("data"))
            let (ada, none) = ("ada@example.org", "none-such")
            _ = try await served.prepare(accounts: ada)
            let commands = [
                ["sessions", "list", none], ["accounts", "methods", none], ["accounts", "delete", none, "--yes"],
                ["admins", "grant", none], ["api-tokens", "create", "--container", none],
                ["admins", "grant", ada, "--role", "viewer", "--container", none], ["api-tokens", "revoke", none],
                ["server-keys", "revoke", none], ["program-tokens", "revoke", ada, "--token", none],
                ["sessions", "end", ada, "--session", none], ["accounts", "methods", ada, "--remove", none],
                ["admins", "revoke", ada, "--container", none],
            ]
            for command in commands {
                let refused = try await StartedNephos(command + ["--data", served.data]).finish()
                #expect(refused.status == 1 && refused.errors.contains(none), "\(command): \(refused)")
                let list = try #require(refused.errors.firstMatch(of: /'nephos ([^']+)' lists/), "\(refused)").1
                let words = list.split(separator: " ").map(String.init)
                let listed = try await StartedNephos(words + ["--data", served.data]).finish()
                #expect(listed.status == 0, "\(list): \(listed)")
            }
        }
    }
}
