import NephosCrypto
import NephosPasskeys
import NephosStorage
import NephosTesting
import NephosWire
import Testing

@testable import NephosService

/// How accounts sign in, and that the last way to do so stays.
@Suite struct SignInMethodsTests {
    private static let ada = "ada@example.org"

    private func installation(_ accounts: String...) async throws -> TestInstallation {
        let lying = try LyingProvider(issuer: "https://id.example.com", kind: .p256) { 0 }
        var people = try PeopleSettings(url: "https://cloud.example.org", signUp: .open).signingIn(by: lying)
        people.passkeys = FidoVerifier()
        let test = try await TestInstallation(failsForLog: false, people: people)
        _ = try await test.prepare()
        for name in accounts {
            _ = try await test.installation.createAccount(
                named: name, password: TestInstallation.password, by: TestInstallation.root)
        }
        return test
    }

    /// Takes the password of an account, as one that a provider made has none.
    private func takePassword(_ account: String, _ test: TestInstallation) async throws {
        try await test.installation.write { transaction in
            var (id, found) = try transaction.requireInstallationAccount(named: account)
            found.password = nil
            try transaction.put(found, id)
        }
    }

    /// Gives an account a person of an issuer.
    /// - Returns: the name of the entry.
    private func addIdentity(
        _ subject: String, issuer: String = "https://id.example.com", of account: String, _ test: TestInstallation
    ) async throws -> String {
        let name = StoredIdentity.name(ProvidedIdentity(issuer: issuer, subject: subject))
        try await test.installation.write { transaction in
            let id = try transaction.requireInstallationAccount(named: account).id
            try transaction.put(StoredIdentity(account: id), name)
            try transaction.put(
                AccountIdentity(issuer: issuer, label: subject, addedAt: 0), AccountIdentity.name(id, name))
        }
        return name
    }

    private func expectLast(
        sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
    ) async {
        let error = await #expect(throws: ServiceError.self, sourceLocation: sourceLocation) { try await body() }
        #expect(error?.reason.contains("the last way to sign in") == true, sourceLocation: sourceLocation)
    }

    private func remove(
        _ id: String?, only kind: SignInMethodSummary.Kind? = nil, of account: String = ada, _ test: TestInstallation
    ) async throws -> Int {
        try await test.installation.removeSignInMethods(
            ofAccountNamed: account, kind, id: id, by: TestInstallation.root)
    }

    // MARK: The last way

    @Test func `a method is the last without a password and without another one that signs in here`() {
        func isLast(
            _ id: String, hasPassword: Bool = false, providers: [String] = [], endedProviders: [String] = [],
            passkeys: [String] = []
        ) -> Bool {
            let identities = (providers + endedProviders).map {
                SignInMethods.Identity(
                    id: $0, provider: "", label: "", addedAt: 0, isUsable: providers.contains($0))
            }
            return SignInMethods(hasPassword: hasPassword, identities: identities, passkeys: passkeys).areLast([id])
        }
        #expect(isLast("key", passkeys: ["key"]))
        #expect(!isLast("key", hasPassword: true, passkeys: ["key"]))
        #expect(!isLast("key", passkeys: ["key", "other"]))
        #expect(!isLast("key", providers: ["person"], passkeys: ["key"]))
        #expect(!isLast("person", providers: ["person"], passkeys: ["key"]))
        #expect(isLast("person", providers: ["person"]))
        #expect(!isLast("person", providers: ["person", "other"]))
        // A provider that the server does not use any more signs nobody in.
        #expect(isLast("key", endedProviders: ["person"], passkeys: ["key"]))
        #expect(!isLast("person", endedProviders: ["person"], passkeys: ["key"]))
    }

    @Test func `the last passkey of an account without a password stays, also for administrators`() async throws {
        let test = try await installation("bob")
        for account in [Self.ada, "bob"] {
            let browser = try await test.browser(account)
            for passkey in [try SoftwarePasskey(), try SoftwarePasskey()] { try await test.add(passkey, to: browser) }
            try await takePassword(account, test)
            let ids = try await test.installation.passkeySummaries(ofAccountNamed: account).map(\.id)
            try #require(ids.count == 2)
            for kind in [nil, SignInMethodSummary.Kind.passkey] {
                await expectLast { _ = try await remove(nil, only: kind, of: account, test) }
            }
            if account == "bob" {
                try await test.installation.removePasskey(ids[1], of: browser, address: [])
            } else {
                #expect(try await remove(ids[1], of: account, test) == 1)
            }
            await expectLast { try await test.installation.removePasskey(ids[0], of: browser, address: []) }
            for kind in [nil, SignInMethodSummary.Kind.passkey] {
                await expectLast { _ = try await remove(ids[0], only: kind, of: account, test) }
            }
            #expect(try await test.passkeys(account).count == 1)
            // A provider signs in besides, until it is the last.
            let person = try await addIdentity("person of \(account)", of: account, test)
            await #expect(throws: ServiceError.self) { try await remove(person, only: .passkey, of: account, test) }
            await #expect(throws: ServiceError.self) { try await remove(ids[0], only: .provider, of: account, test) }
            #expect(try await remove(nil, only: .passkey, of: account, test) == 1)
            #expect(try await remove(nil, only: .passkey, of: account, test) == 0)
            await expectLast { _ = try await remove(nil, only: .provider, of: account, test) }
        }
        await test.installation.close()
    }

    /// Makes passkeys of an account those of a former host, which the public URL does not name any more.
    private func move(_ ids: [String], of account: String, _ test: TestInstallation) async throws {
        try await test.installation.write { transaction in
            let owner = try transaction.requireInstallationAccount(named: account).id
            for (id, passkey) in try transaction.passkeys(of: owner) where ids.contains(id) {
                var former = passkey
                former.relyingParty = "former.example.org"
                try transaction.put(former, id)
            }
        }
    }

    @Test func `passkeys of a former host are removed whatever is left, and are not what the last way is counted by`()
        async throws
    {
        let test = try await installation("bob")
        for account in [Self.ada, "bob"] {
            func removeOne(_ id: String, by browser: BrowserSession) async throws {
                if account == "bob" { return try await test.installation.removePasskey(id, of: browser, address: []) }
                #expect(try await remove(id, of: account, test) == 1)
            }
            let browser = try await test.browser(account)
            for passkey in [try SoftwarePasskey(), try SoftwarePasskey(), try SoftwarePasskey()] {
                try await test.add(passkey, to: browser)
            }
            try await takePassword(account, test)
            let ids = try await test.installation.passkeySummaries(ofAccountNamed: account).map(\.id)
            try #require(ids.count == 3)
            try await move(Array(ids[..<2]), of: account, test)
            let methods = try await test.installation.signInMethodList(ofAccountNamed: account).methods
            #expect(methods.filter(\.isUsable).map(\.id) == [ids[2]])
            #expect(methods.first { $0.id == ids[0] }?.place == "former.example.org")
            await expectLast { try await removeOne(ids[2], by: browser) }
            try await removeOne(ids[0], by: browser)
            // Also where nothing is left that signs in.
            try await move([ids[2]], of: account, test)
            try await removeOne(ids[1], by: browser)
            try await removeOne(ids[2], by: browser)
            #expect(try await test.passkeys(account).isEmpty)
        }
        await test.installation.close()
    }

    // MARK: Administration

    @Test func `administrators list and remove what signs in to one account`() async throws {
        let test = try await installation("bob")
        var ids: [String: [String]] = [:]
        for account in [Self.ada, "bob"] {
            try await test.add(try SoftwarePasskey(), to: try await test.browser(account))
            let person = try await addIdentity("person of \(account)", of: account, test)
            let ended = try await addIdentity(account, issuer: "https://old.example.com", of: account, test)
            let list = try await test.installation.signInMethodList(ofAccountNamed: account)
            #expect(list.hasPassword)
            #expect(Set(list.methods.map(\.id)).isSuperset(of: [person, ended]))
            #expect(list.methods.map(\.isUsable).count { $0 } == 2)
            #expect(list.methods.first { $0.id == ended }?.place == "https://old.example.com")
            #expect(list.methods.first { $0.kind == .passkey }?.place == "cloud.example.org")
            ids[account] = list.methods.map(\.id)
        }
        let (own, other) = (try #require(ids[Self.ada]), try #require(ids["bob"]))
        for foreign in other + ["none"] {
            await #expect(throws: ServiceError.self) { try await remove(foreign, test) }
        }
        for id in own { #expect(try await remove(id, test) == 1) }
        #expect(try await remove(nil, test) == 0)
        #expect(try await test.installation.signInMethodList(ofAccountNamed: Self.ada).methods.isEmpty)
        #expect(try await test.installation.signInMethodList(ofAccountNamed: "bob").methods.map(\.id) == other)
        #expect(try await remove(nil, of: "bob", test) == 3)
        let events = try await test.events()
        #expect(events.count { $0 == "passkey removed" } == 2 && events.count { $0 == "provider removed" } == 4)
        await test.installation.close()
    }

    @Test func `a command on the data of a stopped server, which knows no providers, counts all methods`() async throws
    {
        let test = try await TestInstallation()
        _ = try await test.prepare()
        let (first, second) = (
            try await addIdentity("first", of: Self.ada, test),
            try await addIdentity("second", issuer: "https://old.example.com", of: Self.ada, test)
        )
        try await takePassword(Self.ada, test)
        let methods = try await test.installation.signInMethodList(ofAccountNamed: Self.ada).methods
        #expect(methods.map(\.isUsable) == [true, true])
        #expect(try await remove(first, test) == 1)
        await expectLast { _ = try await remove(second, test) }
        await test.installation.close()
    }

    // MARK: Accounts that an earlier server deleted

    @Test func `the passkeys of an account that an earlier server deleted sign nobody in`() async throws {
        let test = try await installation("bob")
        let (lost, kept) = (try SoftwarePasskey(), try SoftwarePasskey())
        let handle = try await test.add(lost, to: try await test.browser())
        let other = try await test.add(kept, to: try await test.browser("bob"))
        // It removed the account and its name alone.
        try await test.installation.write { transaction in
            let id = try transaction.requireInstallationAccount(named: Self.ada).id
            try transaction.removeInstallationEntry(.accountName, Self.ada)
            try transaction.removeInstallationEntry(.account, id)
        }
        let signed = try await test.request(handle).signed(lost)
        await #expect(throws: ServiceError.self) { try await test.signIn(by: signed) }
        _ = try await test.signIn(by: try await test.request(other).signed(kept))
        await test.installation.close()
    }

    @Test func `a person of an account that an earlier server deleted begins anew`() async throws {
        let (clock, browser) = (TestCloud.Clock(), "a secret of the browser")
        let lying = try LyingProvider(issuer: "https://id.example.com", kind: .p256) { clock.now }
        var people = try TestInstallation.people().signingIn(by: lying)
        people.signUp = .open
        let test = try await TestInstallation(failsForLog: false, people: people)
        func signIn(_ subject: String) async throws -> ProviderOutcome {
            let begun = try await test.installation.beginSignIn(
                by: "a", .page("/account"), browserSecret: browser, address: [])
            let response = lying.authorize(
                begun, as: .init(subject, "\(subject)@example.org", isVerified: true, name: subject))
            return try await test.installation.signIn(
                try #require(test.installation.providerSignIn(response["state"] ?? "", by: "a")),
                ProviderResponse(code: response["code"] ?? "", issuer: nil, isError: false),
                request: SignIn(name: "", password: "", apiToken: nil), browserSecret: browser)
        }
        var former: [String: String] = [:]
        for subject in ["ada", "bob"] {
            _ = try await signIn(subject)
            former[subject] = try await test.installation.accountID(named: "\(subject)@example.org")
        }
        try await test.installation.write { transaction in
            let id = try transaction.requireInstallationAccount(named: Self.ada).id
            try transaction.removeInstallationEntry(.accountName, Self.ada)
            try transaction.removeInstallationEntry(.verifiedAddress, Self.ada)
            try transaction.removeInstallationEntry(.account, id)
        }
        for subject in ["bob", "ada"] { _ = try await signIn(subject) }
        #expect(try await test.installation.accountID(named: Self.ada) != former["ada"])
        #expect(try await test.installation.accountID(named: "bob@example.org") == former["bob"])
        let gone = try #require(former["ada"])
        let left = try await test.installation.read { try $0.identities(of: gone) }
        #expect(left.isEmpty)
        await test.installation.close()
    }
}
