import NephosPasskeys
import NephosStorage
import NephosTesting
import NephosWire
import Testing

@testable import NephosService

@Suite struct InstallationVerificationTests {
    private func problems(_ test: TestInstallation) async throws -> [String] {
        try await InstallationVerification(test.installation.engine, test.installation.environment).run().problems
    }

    @Test func `what an installation makes is whole`() async throws {
        let (clock, browser) = (TestCloud.Clock(), "a secret of the browser")
        let provider = try LyingProvider(issuer: "https://id.example.com", kind: .p256) { clock.now }
        var people = try TestInstallation.people().signingIn(by: provider)
        people.passkeys = FidoVerifier()
        let test = try await TestInstallation(failsForLog: false, people: people)
        let begun = try await test.installation.beginSignIn(
            by: "a", .page("/account"), browserSecret: browser, address: [])
        let response = provider.authorize(begun, as: .init("1"))
        _ = try await test.installation.signIn(
            try #require(test.installation.providerSignIn(response["state"] ?? "", by: "a")),
            ProviderResponse(code: response["code"] ?? "", issuer: nil, isError: false),
            request: SignIn(name: "", password: "", apiToken: nil), browserSecret: browser)
        let token = try await test.prepare()
        try await test.add(try SoftwarePasskey(), to: try await test.browser())
        _ = try await test.installation.makeRecoveryLink(
            ofAccountNamed: "ada@example.org", by: TestInstallation.root)
        try await test.installation.requestRecovery(of: "ada@example.org", address: [192, 0, 2, 1])
        try await test.installation.grant(
            .administrator, toAccountNamed: "ada@example.org", container: nil, by: TestInstallation.root)
        _ = try await test.signIn(apiToken: token)
        _ = await code { () async throws(ServiceError) in try await test.signIn(password: "wrong", apiToken: token) }
        _ = try await test.installation.beginLogin(apiToken: token, label: "", address: [])
        _ = try await test.installation.createServerKey(
            container: TestInstallation.container, environment: .development, name: "",
            publicKey: SignedRequestTests.publicKey, replacing: nil, by: TestInstallation.root)
        _ = try await test.installation.createProgramToken(
            NewProgramToken(
                name: "import",
                places: [ProgramPlace(container: TestInstallation.container, environment: "production")],
                databases: ["private"], isReadOnly: true),
            ofAccountNamed: "ada@example.org", by: TestInstallation.root)
        try await test.installation.claim(signed: "signed-request", by: "key")
        _ = try await test.installation.createAccount(named: "bob", password: nil, by: TestInstallation.root)
        try await test.installation.beginDeletion(
            ofAccountNamed: "bob", erasesPublicRecords: true, by: TestInstallation.root)
        // What it has is removed one by one.
        try await test.installation.createContainer("iCloud.deleted", by: TestInstallation.root)
        _ = try await test.installation.createAPIToken(
            container: "iCloud.deleted", environment: .production, name: "", origins: [], allowsSignIn: true,
            lifetime: nil, by: TestInstallation.root)
        try await test.installation.beginDeletion(ofContainer: "iCloud.deleted", by: TestInstallation.root)
        await test.installation.finishAudit()
        try await test.installation.audit("an event", "x", by: TestInstallation.root)
        let findings = try await InstallationVerification(test.installation.engine).run()
        #expect(findings.problems == [] && findings.problemCount == 0)
        let missing = try await test.installation.read { reader in
            try InstallationEntry.Kind.allCases.filter {
                try reader.installationEntries($0, after: "", limit: 1).isEmpty
            }
        }
        // Adoption alone makes entries of that kind.
        #expect(missing == [.adoptedName])
    }

    @Test func `entries that miss what belongs to them are problems`() async throws {
        let test = try await TestInstallation(people: .withPasskeys())
        let token = try await test.prepare()
        try await test.add(try SoftwarePasskey(), to: try await test.browser())
        try await test.installation.endSessions(of: try await test.browser(), id: nil, address: [])
        let passkey = try #require(
            try await test.installation.passkeySummaries(ofAccountNamed: "ada@example.org").first?.id)
        _ = try await test.signIn(apiToken: token)
        let id = try await test.installation.accountID(named: "ada@example.org")
        let hash = try #require(
            try await test.installation.sessionSummaries(ofAccountNamed: "ada@example.org").first?.id)
        func expect(
            _ expected: String..., change: @escaping @Sendable (StorageTransaction) throws -> Void,
            undo: @escaping @Sendable (StorageTransaction) throws -> Void
        ) async throws {
            try await test.installation.write(change)
            #expect(try await problems(test) == expected)
            try await test.installation.write(undo)
            #expect(try await problems(test) == [])
        }
        /// Removes an entry, and puts it back.
        func expect(_ expected: String..., without kind: InstallationEntry.Kind, _ name: String) async throws {
            let entry = try #require(try await test.installation.read { try $0.installationEntry(kind, name) })
            _ = try await test.installation.write { try $0.removeInstallationEntry(kind, name) }
            #expect(try await problems(test) == expected)
            try await test.installation.write { try $0.put(entry) }
        }
        try await expect(
            "session \(hash): it is not among the sessions of account \(id)", without: .accountSession,
            AccountSession.name(id, hash))
        try await expect("account \(id): its session \(hash) does not exist", without: .session, hash)
        try await expect(
            "account \(id): its name 'ada@example.org' is no account's", without: .accountName, "ada@example.org")
        try await expect(
            "the name 'ada@example.org' is that of account \(id), which does not exist",
            "session \(hash): its account \(id) does not exist",
            "the address 'ada@example.org' is that of account \(id), which does not exist",
            "passkey \(passkey): its account \(id) does not exist",
            "the account \(id) of passkeys does not exist", without: .account, id)
        try await expect(
            "passkey \(passkey): it is not among the passkeys of account \(id)", without: .accountPasskeys, id)
        try await expect("account \(id): its passkey \(passkey) does not exist", without: .passkey, passkey)
        try await expect("the address 'eve@example.org' is that of account \(id), which lacks it") {
            try $0.put(VerifiedAddress(account: id, verifiedAt: 1), "eve@example.org")
        } undo: {
            try $0.removeInstallationEntry(.verifiedAddress, "eve@example.org")
        }
        try await expect(
            "API token \(token): its container \(TestInstallation.container) does not exist", without: .container,
            TestInstallation.container)
        try await expect("the role 'id:0/*', administrator: its account does not exist") {
            try $0.put(StoredRole(role: .administrator), StoredRole.name("id:0", "*"))
        } undo: {
            try $0.removeInstallationEntry(.role, "id:0/*")
        }
        try await expect("the name 'eve' is that of account \(id), whose name is 'ada@example.org'") {
            try $0.put(NamedAccount(id: id), "eve")
        } undo: {
            try $0.removeInstallationEntry(.accountName, "eve")
        }
        try await expect("identity x: its account id:0 does not exist") {
            try $0.put(StoredIdentity(account: "id:0"), "x")
        } undo: {
            try $0.removeInstallationEntry(.identity, "x")
        }
        try await expect("identity x: it is not among those of account \(id)") {
            try $0.put(StoredIdentity(account: id), "x")
        } undo: {
            try $0.removeInstallationEntry(.identity, "x")
        }
        let identity = AccountIdentity(issuer: "https://id.example.com", label: "", addedAt: 1)
        try await expect("account \(id): its identity x does not exist") {
            try $0.put(identity, AccountIdentity.name(id, "x"))
        } undo: {
            try $0.removeInstallationEntry(.accountIdentity, AccountIdentity.name(id, "x"))
        }
        try await expect("the name 'eve' became account id:0, which does not exist") {
            try $0.put(AdoptedName(signInName: "eve", account: "id:0"), "eve")
        } undo: {
            try $0.removeInstallationEntry(.adoptedName, "eve")
        }
    }

    @Test func `damaged entries of every kind are problems, and expired ones are not`() async throws {
        let test = try await TestInstallation()
        let now = test.clock.now
        try await test.installation.write { transaction in
            for kind in InstallationEntry.Kind.allCases {
                try transaction.put(InstallationEntry(kind: kind, name: "x", body: [0x7B], expiresAt: now + 1))
            }
        }
        let found = try await problems(test)
        #expect(found.count == InstallationEntry.Kind.allCases.count)
        for kind in InstallationEntry.Kind.allCases {
            #expect(found.contains { $0.contains("'x' of kind \(kind) cannot be read") })
        }
        test.clock.advance(milliseconds: 1)
        #expect(try await problems(test) == [])
    }
}
