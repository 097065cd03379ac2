import NephosStorage
import Testing

@testable import NephosService

/// Accounts that servers of before verified addresses wrote.
@Suite struct AddressUpgradeTests {
    private static let ids = ["id:0123456789abcdef0123456789abcdef", "id:1123456789abcdef0123456789abcdef"]

    /// Writes an account as a server does that does not know of addresses.
    private func write(_ name: String, _ id: String, _ installation: Installation) async throws {
        let body = #"{"createdAt":1,"name":"\#(name)"}"#
        try await installation.write { transaction in
            try transaction.put(InstallationEntry(kind: .account, name: id, body: Array(body.utf8)))
            try transaction.put(NamedAccount(id: id), name)
        }
    }

    /// The accounts whose names are addresses, and whether they are verified.
    private func verified(_ installation: Installation) async throws -> [String: Bool] {
        let accounts = try await installation.accounts(after: "").accounts
        return Dictionary(
            uniqueKeysWithValues: accounts.compactMap { account in
                account.isVerified.map { (account.name, $0) }
            })
    }

    private func expectWhole(_ installation: Installation) async throws {
        let findings = try await InstallationVerification(installation.engine, installation.environment).run()
        #expect(findings.problems.isEmpty)
    }

    @Test func `the names of accounts of before addresses were verified count as verified, once`() async throws {
        let test = try await TestInstallation()
        _ = try await test.installation.createAccount(
            named: "new@example.org", password: nil, by: TestInstallation.root)
        for (name, id) in zip(["old@example.org", "old"], Self.ids) { try await write(name, id, test.installation) }
        // The store of before has no mark of the upgrade.
        try await test.installation.write { transaction in
            for entry in try transaction.installationEntries(.doneUpgrade, after: "", limit: 9) {
                try transaction.removeInstallationEntry(.doneUpgrade, entry.name)
            }
        }
        let installation = test.installation
        func start() async throws { try await AddressUpgrade.run(installation.engine, at: test.clock.now) }
        #expect(try await verified(installation) == ["old@example.org": false, "new@example.org": false])
        try await start()
        #expect(try await verified(installation) == ["old@example.org": true, "new@example.org": false])
        let account = try await installation.read { try $0.entry(InstallationAccount.self, Self.ids[1]) }
        #expect(account?.addresses == [])
        // What an earlier server makes or rewrites later is not verified by the next start.
        try await write("old@example.org", Self.ids[0], installation)
        try await write("later@example.org", "id:2123456789abcdef0123456789abcdef", installation)
        try await start()
        #expect(try await verified(installation).values.allSatisfy { !$0 })
        await installation.close()
    }

    @Test func `a list that an earlier server lost verifies nothing, and can be verified again or deleted`()
        async throws
    {
        let test = try await TestInstallation(people: TestInstallation.people())
        let (ada, bob) = ("ada@example.org", "bob@example.org")
        for (name, isVerified) in [(ada, true), (bob, false)] {
            let made = try await test.installation.createAccount(
                named: name, password: nil, isVerified: isVerified, by: TestInstallation.root)
            try await write(name, made.id, test.installation)
        }
        #expect(try await verified(test.installation) == [ada: false, bob: false])
        for name in [ada, bob] {
            let found = try await test.installation.read { try $0.account(verifying: name) }
            #expect(found == nil, "no recovery by \(name)")
        }
        for name in [bob, ada] {
            try await test.installation.verifyAddress(ofAccountNamed: name, by: TestInstallation.root)
        }
        #expect(try await verified(test.installation) == [ada: true, bob: true])
        try await expectWhole(test.installation)
        let id = try await test.installation.accountID(named: ada)
        try await write(ada, id, test.installation)
        _ = try await test.installation.removeAccount(named: ada, by: TestInstallation.root)
        #expect(try await test.installation.read { try !$0.hasAccount(ada) })
        try await expectWhole(test.installation)
        await test.installation.close()
    }
}
