import NephosPasskeys
import NephosTesting
import NephosWire
import Synchronization
import Testing

@testable import NephosService

/// Mails about changes of what signs in to an account.
@Suite struct CredentialChangeTests {
    private static let (ada, eve) = ("ada@example.org", "eve@example.org")

    /// The subjects of the mails that are queued, by recipient.
    private func subjects(_ test: TestInstallation) async throws -> [String] {
        let mails = Mutex<[MailMessage]>([])
        let outlet = MailOutlet { mail async throws(MailFailure) in mails.withLock { $0.append(mail) } }
        while try await test.installation.sendDueMails(to: outlet) > 0 {}
        return mails.withLock { $0 }.map { mail in
            #expect(mail.body.contains("https://cloud.example.org/account") && mail.body.contains(mail.to.text))
            return "\(mail.to.text): \(mail.subject)"
        }.sorted()
    }

    private func installation() async throws -> TestInstallation {
        var people = try TestInstallation.people()
        people.passkeys = FidoVerifier()
        let test = try await TestInstallation(people: people)
        _ = try await test.prepare(account: Self.ada)
        _ = try await test.installation.createAccount(
            named: Self.eve, password: TestInstallation.password, by: TestInstallation.root)
        return test
    }

    private func token(_ account: String, _ test: TestInstallation) async throws -> String {
        let place = ProgramPlace(container: TestInstallation.container, environment: "development")
        return try await test.installation.createProgramToken(
            NewProgramToken(name: "Press <here>", places: [place], databases: ["private"], isReadOnly: true),
            ofAccountNamed: account, by: TestInstallation.root
        ).programToken.id
    }

    @Test func `passkeys and program tokens that come and go are mailed to verified addresses`() async throws {
        let test = try await installation()
        let at = " at cloud.example.org"
        // Of an account without a verified address nobody is told.
        for account in [Self.eve, Self.ada] {
            let browser = try await test.browser(account)
            let (first, second) = (try SoftwarePasskey(), try SoftwarePasskey())
            for passkey in [first, second] { try await test.add(passkey, to: browser) }
            let added = "\(Self.ada): A new passkey\(at)"
            #expect(try await subjects(test) == (account == Self.ada ? [added, added] : []))

            let ids = try await test.installation.passkeySummaries(ofAccountNamed: account).map(\.id)
            try await test.installation.removePasskey(try #require(ids.first), of: browser, address: [])
            #expect(
                try await test.installation.removeSignInMethods(
                    ofAccountNamed: account, .passkey, id: nil, by: TestInstallation.root) == 1)
            let removed = "\(Self.ada): A passkey was removed\(at)"
            #expect(try await subjects(test) == (account == Self.ada ? [removed, removed] : []))

            let token = try await token(account, test)
            let made = "\(Self.ada): A new program token\(at)"
            #expect(try await subjects(test) == (account == Self.ada ? [made] : []))
            _ = try await test.installation.revokeProgramTokens(
                ofAccountNamed: account, id: token, by: TestInstallation.root)
            let revoked = "\(Self.ada): A program token was revoked\(at)"
            #expect(try await subjects(test) == (account == Self.ada ? [revoked] : []))
        }
        await test.installation.close()
    }

    @Test func `what changes nothing mails nothing, and each kind of change has its five mails an hour`() async throws {
        let test = try await installation()
        let browser = try await test.browser(Self.ada)
        await #expect(throws: ServiceError.self) {
            try await test.installation.removePasskey("none", of: browser, address: [])
        }
        for id in [nil, "none"] {
            _ = try? await test.installation.removeSignInMethods(
                ofAccountNamed: Self.ada, .passkey, id: id, by: TestInstallation.root)
            _ = try? await test.installation.revokeProgramTokens(
                ofAccountNamed: Self.ada, id: id, by: TestInstallation.root)
        }
        #expect(try await subjects(test).isEmpty)
        for _ in 1...6 { _ = try await token(Self.ada, test) }
        #expect(try await subjects(test).count == 5)
        try await test.add(try SoftwarePasskey(), to: browser)
        #expect(try await subjects(test).count == 1)
        test.clock.advance(milliseconds: 60 * 60_000)
        _ = try await token(Self.ada, test)
        #expect(try await subjects(test).count == 1)
        await test.installation.close()
    }

    @Test func `an account that was deleted meanwhile gets no mail`() async throws {
        let test = try await installation()
        _ = try await token(Self.ada, test)
        _ = try await test.installation.removeAccount(named: Self.ada, by: TestInstallation.root)
        #expect(try await subjects(test).isEmpty)
        await test.installation.close()
    }
}
