import NephosPostgres
import NephosPostgresTesting
import NephosStorage
import NephosWire
import Testing

@testable import NephosService

/// Program tokens: what they reach, how long they are valid, and who makes and revokes them.
@Suite struct ProgramTokenTests {
    private static let (ada, bob) = ("ada@example.org", "bob@example.org")
    private static let day: Int64 = 86_400_000

    private func new(
        _ name: String = "import", containers: [String] = [TestInstallation.container],
        environment: String = "development", databases: [String] = ["private"], isReadOnly: Bool = false,
        lifetime: Int64? = nil
    ) -> NewProgramToken {
        NewProgramToken(
            name: name, places: containers.map { ProgramPlace(container: $0, environment: environment) },
            databases: databases, isReadOnly: isReadOnly, lifetime: lifetime)
    }

    /// An installation with two accounts, of which one has a session.
    private func installation(_ stores: (any StoreProvider)? = nil) async throws -> (TestInstallation, apiToken: String)
    {
        let test = if let stores { try await TestInstallation(stores) } else { try await TestInstallation() }
        let apiToken = try await test.prepare()
        _ = try await test.installation.createAccount(
            named: Self.bob, password: TestInstallation.password, by: TestInstallation.root)
        return (test, apiToken)
    }

    private func make(_ new: NewProgramToken, of account: String = ada, _ test: TestInstallation) async throws
        -> MadeProgramToken
    {
        try await test.installation.createProgramToken(new, ofAccountNamed: account, by: TestInstallation.root)
    }

    private func caller(
        _ token: String, _ installation: Installation, container: String = TestInstallation.container,
        _ environment: ContainerEnvironment = .development, origin: String? = nil
    ) async throws(ServiceError) -> SignedInCaller {
        try await installation.caller(
            container: container, environment: environment, apiToken: nil, token: token, origin: origin)
    }

    private func expectRefused(
        _ token: String, _ installation: Installation, container: String = TestInstallation.container,
        _ environment: ContainerEnvironment = .development, origin: String? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        let error = await #expect(throws: ServiceError.self, sourceLocation: sourceLocation) {
            _ = try await caller(token, installation, container: container, environment, origin: origin)
        }
        #expect(error?.clientCode == .notAuthenticated, sourceLocation: sourceLocation)
    }

    @Test func `a token signs its account in, where it reaches, until its time`() async throws {
        let (test, _) = try await installation()
        try await test.installation.createContainer("iCloud.other", by: TestInstallation.root)
        try await test.installation.createContainer("iCloud.third", by: TestInstallation.root)
        let wide = try await make(
            new(containers: [TestInstallation.container, "iCloud.other"], databases: ["public", "shared"]), test)
        let narrow = try await make(new("read", isReadOnly: true, lifetime: 2 * Self.day), of: Self.bob, test)
        let ids = (
            try await test.installation.accountID(named: Self.ada),
            try await test.installation.accountID(named: Self.bob)
        )
        for container in [TestInstallation.container, "iCloud.other"] {
            let found = try await caller(wide.token, test.installation, container: container)
            #expect(found.account == ids.0 && found.address == Self.ada && !found.isDeveloper)
            // An upload ends with it; no session has this name.
            #expect(found.session == StoredProgramToken.prefix + wide.programToken.id)
            #expect(found.program == ProgramAccess(isReadOnly: false, databases: [.public, .shared]))
        }
        let found = try await caller(narrow.token, test.installation)
        #expect(found.account == ids.1 && found.address == nil)
        #expect(found.program == ProgramAccess(isReadOnly: true, databases: [.private]))
        await expectRefused(narrow.token, test.installation, container: "iCloud.other")
        await expectRefused(wide.token, test.installation, container: "iCloud.third")
        await expectRefused(wide.token, test.installation, .production)
        await expectRefused(wide.token, test.installation, origin: "https://app.example.org")
        await expectRefused("nephos_program_x", test.installation)
        // It does not roll: uses move no expiry.
        test.clock.advance(milliseconds: 2 * Self.day - 1)
        _ = try await caller(narrow.token, test.installation)
        test.clock.advance(milliseconds: 1)
        await expectRefused(narrow.token, test.installation)
        #expect(try await test.installation.programTokenSummaries(ofAccountNamed: Self.bob) == [])
        test.clock.advance(milliseconds: 88 * Self.day - 1)
        _ = try await caller(wide.token, test.installation)
        test.clock.advance(milliseconds: 1)
        await expectRefused(wide.token, test.installation)
        await test.installation.close()
    }

    @Test func `a program token is no session, administrator, browser or other token`() async throws {
        let (test, apiToken) = try await installation()
        try await test.installation.grant(
            .administrator, toAccountNamed: Self.ada, container: nil, by: TestInstallation.root)
        let token = try await make(new(), test).token
        #expect(Installation.anotherText(of: token) == nil)
        #expect(try await test.installation.browserSession(token) == nil)
        let error = await #expect(throws: ServiceError.self) { _ = try await test.installation.administrator(token) }
        #expect(error?.clientCode == .notAuthenticated)
        // Nor is its secret one without the prefix.
        await expectRefused(String(token.dropFirst(StoredProgramToken.prefix.count)), test.installation)
        try await test.installation.signOut(token)
        _ = try await caller(token, test.installation)
        let session = try await test.signIn(apiToken: apiToken).token
        await expectRefused(StoredProgramToken.prefix + session, test.installation)
        let stored = try await test.installation.read { try $0.installationEntries(.programToken, after: "", limit: 9) }
        #expect(stored.count == 1 && stored.allSatisfy { !String(decoding: $0.body, as: UTF8.self).contains(token) })
        await test.installation.close()
    }

    @Test func `a token that cannot be is refused with the reason`() async throws {
        let (test, _) = try await installation()
        let wrong: [(NewProgramToken, String)] = [
            (new(""), "name"), (new(containers: []), "containers"), (new(environment: "testing"), "environment"),
            (new(databases: []), "databases"), (new(databases: ["private", "all"]), "databases"),
            (new(lifetime: 0), "365 days"), (new(lifetime: 365 * Self.day + 1), "365 days"),
            (new(containers: ["iCloud.none"]), "iCloud.none"),
        ]
        for (token, word) in wrong {
            let error = await #expect(throws: ServiceError.self) { _ = try await make(token, test) }
            #expect(error?.reason.contains(word) == true, "\(error?.reason ?? "")")
        }
        let error = await #expect(throws: ServiceError.self) { _ = try await make(new(), of: "eve", test) }
        #expect(error?.clientCode == .unknownItem)
        for number in 0..<Limits.programTokensOfAccount { _ = try await make(new("\(number)"), test) }
        let full = await #expect(throws: ServiceError.self) { _ = try await make(new(), test) }
        #expect(full?.reason.contains("revoke one") == true)
        _ = try await make(new(lifetime: 365 * Self.day), of: Self.bob, test)
        await test.installation.close()
    }

    @Test func `tokens end with their account, and with all sessions only if that is asked for`() async throws {
        let (test, apiToken) = try await installation()
        let tokens = [try await make(new(), test).token, try await make(new("two"), test).token]
        let others = try await make(new(), of: Self.bob, test)
        _ = try await test.signIn(apiToken: apiToken)
        _ = try await test.installation.endSessions(ofAccountNamed: Self.ada, id: nil, by: TestInstallation.root)
        try await test.installation.setPassword(
            "another long secret", ofAccountNamed: Self.ada, by: TestInstallation.root)
        for token in tokens { _ = try await caller(token, test.installation) }
        _ = try await test.installation.endSessions(
            ofAccountNamed: Self.ada, id: nil, withProgramTokens: true, by: TestInstallation.root)
        for token in tokens { await expectRefused(token, test.installation) }
        let third = try await make(new(), test).token
        _ = try await test.installation.removeAccount(named: Self.ada, by: TestInstallation.root)
        await expectRefused(third, test.installation)
        _ = try await caller(others.token, test.installation)
        let error = await #expect(throws: ServiceError.self) {
            _ = try await test.installation.revokeProgramTokens(
                ofAccountNamed: Self.bob, id: "none", by: TestInstallation.root)
        }
        #expect(error?.clientCode == .unknownItem)
        let findings = try await InstallationVerification(test.installation.engine, test.installation.environment).run()
        #expect(findings.problems == [])
        await test.installation.close()
    }

    @Test func `a person makes tokens for the apps that they are signed in to, after a recent sign-in`() async throws {
        let (test, apiToken) = try await installation()
        try await test.installation.createContainer("iCloud.other", by: TestInstallation.root)
        var request = SignIn(
            name: Self.ada, password: TestInstallation.password, apiToken: apiToken, keepsSignedIn: true)
        request.startsBrowserSession = true
        let signedIn = try await test.installation.signIn(request)
        let browser = try #require(try await test.installation.browserSession(signedIn.browserToken))
        let place = ProgramPlace(container: TestInstallation.container, environment: "development")
        #expect(try await test.installation.programPlaces(of: browser) == [place])
        let made = try await test.installation.createProgramToken(new(), of: browser, address: [])
        #expect(try await caller(made.token, test.installation).account == browser.account)
        for other in [
            new(containers: ["iCloud.other"]), new(environment: "production"), new(containers: ["iCloud.none"]),
        ] {
            let error = await #expect(throws: ServiceError.self) {
                _ = try await test.installation.createProgramToken(other, of: browser, address: [])
            }
            #expect(error?.reason.contains("signed in to") == true)
        }
        test.clock.advance(milliseconds: 16 * 60_000)
        let late = await #expect(throws: ServiceError.self) {
            _ = try await test.installation.createProgramToken(new(), of: browser, address: [])
        }
        #expect(late?.clientCode == .notAuthenticated)
        #expect(try await test.installation.programTokenSummaries(ofAccountNamed: Self.ada).count == 1)
        await test.installation.close()
    }

    @Test(.overPostgreSQL) func `a revocation holds on every server after a recheck`() async throws {
        let stores = try PostgresStores(TestCluster.address.get(), options: TestCluster.options(connections: 4))
        let (test, _) = try await installation(stores)
        let other = try await test.again()
        let tokens = [try await make(new(), test), try await make(new("two"), test)]
        for token in tokens {
            for server in [test.installation, other] { _ = try await caller(token.token, server) }
        }
        _ = try await test.installation.revokeProgramTokens(
            ofAccountNamed: Self.ada, id: tokens[0].programToken.id, by: TestInstallation.root)
        await expectRefused(tokens[0].token, test.installation)
        other.programTokens.expire()
        await expectRefused(tokens[0].token, other)
        for server in [test.installation, other] { _ = try await caller(tokens[1].token, server) }
        await test.installation.close()
        await other.close()
        stores.close()
    }

    @Test func `a token of before a restore is over`() async throws {
        let (test, _) = try await installation()
        let token = try await make(new(), test).token
        // A database in place of another begins another epoch.
        try await test.installation.write { transaction in
            for entry in try transaction.installationEntries(.programToken, after: "", limit: 9) {
                var stored = try StoredProgramToken.decoded(entry)
                stored.epoch += 1
                try transaction.put(stored, hash: entry.name)
            }
        }
        await expectRefused(token, test.installation)
        #expect(try await test.installation.programTokenSummaries(ofAccountNamed: Self.ada) == [])
        await test.installation.close()
    }

    // MARK: Endpoints

    /// Whether a token lets its program use an endpoint.
    private func mayUse(
        _ path: String, _ scope: DatabaseScope, _ databases: Set<DatabaseScope>, isReadOnly: Bool = false
    ) throws -> Bool {
        func isIt(_ answer: some EndpointAnswering) -> Bool { answer.endpoint.path == path }
        let endpoint = try #require(NephosService.endpoints.first { isIt($0) })
        var context = TestCloud().context("ada", scope)
        context.program = ProgramAccess(isReadOnly: isReadOnly, databases: databases)
        do throws(ServiceError) {
            try endpoint.admit(context)
            return true
        } catch {
            #expect(error.code == .accessDenied)
            return false
        }
    }

    @Test func `an endpoint that reaches another database than its path's needs a token for that one`() throws {
        for path in ["records/resolve", "records/accept", "records/requestAccess", "keys/account"] {
            #expect(try !mayUse(path, .public, [.public]), "\(path)")
            #expect(try mayUse(path, .public, [.public, .private, .shared]), "\(path)")
        }
        #expect(try !mayUse("records/resolve", .private, [.private]) && !mayUse("records/resolve", .shared, [.shared]))
        #expect(try !mayUse("records/accept", .shared, [.shared]) && mayUse("keys/account", .private, [.private]))
        #expect(try mayUse("records/accept", .shared, [.shared, .private]))
        #expect(try !mayUse("records/accept", .shared, [.shared, .private], isReadOnly: true))
    }

    @Test func `a session of an installation resolves no share of another container`() async throws {
        let cloud = TestCloud()
        let shared = try await cloud.makeSharedList()
        var context = cloud.context("ada", container: "iCloud.other")
        let request = ShortGUIDsRequest(shortGUIDs: [.init(value: shared.guid)])
        func fails() async throws -> Bool {
            if case .failure = try await cloud.service.resolveShares(request, context).results[0] {
                true
            } else {
                false
            }
        }
        #expect(try await !fails(), "as an app, any container resolves it")
        context.session = "session"
        #expect(try await fails())
        await cloud.service.close()
    }
}
