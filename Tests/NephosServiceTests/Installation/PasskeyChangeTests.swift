import NephosSQLite
import NephosStorage
import NephosTesting
import NephosWire
import Testing

@testable import NephosService

/// How passkeys are named and removed, and when they end.
@Suite struct PasskeyChangeTests {
    @Test func `a passkey has the name that its person gives it`() async throws {
        let test = try await TestInstallation.withPasskeys("bob")
        let (browser, bob) = (try await test.browser(), try await test.browser("bob"))
        try await test.add(try SoftwarePasskey(), to: browser)
        let id = try #require(try await test.installation.passkeySummaries(ofAccountNamed: "ada@example.org").first?.id)
        func rename(_ name: String, _ browser: BrowserSession) async -> ServerErrorCode? {
            await code { () async throws(ServiceError) in
                try await test.installation.renamePasskey(id, to: name, of: browser, address: [])
            }
        }
        let longest = String(repeating: "é", count: Limits.passkeyName / 2)
        #expect(await rename(longest, browser) == nil)
        for name in ["", "  ", longest + "e", "a\nb"] { #expect(await rename(name, browser) == .badRequest, "\(name)") }
        #expect(await rename("mine", bob) == .notFound)
        #expect(try await test.passkeys() == [longest])
        var answer = try await test.creation(browser)
        answer.name = ""
        let made = answer.made(try SoftwarePasskey())
        let refused = await code { () async throws(ServiceError) in
            try await test.installation.addPasskey(made, of: browser, binding: TestInstallation.binding, address: [])
        }
        #expect(refused == .badRequest)
    }

    @Test func `a removed passkey signs nobody in, and the others do`() async throws {
        let test = try await TestInstallation.withPasskeys("bob")
        let (browser, bob) = (try await test.browser(), try await test.browser("bob"))
        let (lost, kept) = (try SoftwarePasskey(), try SoftwarePasskey())
        let handle = try await test.add(lost, to: browser)
        try await test.add(kept, to: browser)
        let id = try #require(try await test.installation.passkeySummaries(ofAccountNamed: "ada@example.org").first?.id)
        let foreign = await code { () async throws(ServiceError) in
            try await test.installation.removePasskey(id, of: bob, address: [])
        }
        #expect(foreign == .notFound)
        try await test.installation.removePasskey(id, of: browser, address: [])
        let signed = try await test.request(handle).signed(lost)
        await test.expectRefusal { () async throws(ServiceError) in try await test.signIn(by: signed) }
        _ = try await test.signIn(by: try await test.request(handle).signed(kept))
        // It may be added again.
        #expect(try await test.add(lost, to: browser) == handle)
        #expect(
            try await test.installation.removeSignInMethods(
                ofAccountNamed: "ada@example.org", .passkey, id: nil, by: TestInstallation.root) == 2)
        #expect(try await test.passkeys() == [])
    }

    @Test func `changes need a sign-in of the last quarter of an hour, and a session that lives`() async throws {
        let test = try await TestInstallation.withPasskeys()
        let (browser, other) = (try await test.browser(), try await test.browser())
        try await test.add(try SoftwarePasskey(), to: browser)
        let id = try #require(try await test.installation.passkeySummaries(ofAccountNamed: "ada@example.org").first?.id)
        func expectRefusals(_ browser: BrowserSession) async throws {
            let made = try await test.creation(try await test.browser()).made(try SoftwarePasskey())
            let codes = [
                await code { () async throws(ServiceError) in
                    try await test.installation.addPasskey(
                        made, of: browser, binding: TestInstallation.binding, address: [])
                },
                await code { () async throws(ServiceError) in
                    try await test.installation.renamePasskey(id, to: "x", of: browser, address: [])
                },
                await code { () async throws(ServiceError) in
                    try await test.installation.removePasskey(id, of: browser, address: [])
                },
            ]
            #expect(codes == [.authenticationRequired, .authenticationRequired, .authenticationRequired])
            #expect(try await test.passkeys() == ["key"])
        }
        try await test.installation.endSessions(of: other, id: other.id, address: [])
        try await expectRefusals(other)
        test.clock.advance(milliseconds: Administrator.recent + 1)
        try await expectRefusals(browser)
        let state = try await test.installation.passkeys(of: browser, binding: "")
        #expect(!state.isRecent && state.creation == nil && state.passkeys.count == 1)
    }

    @Test func `passkeys end with their account`() async throws {
        let test = try await TestInstallation.withPasskeys("bob")
        let (lost, kept) = (try SoftwarePasskey(), try SoftwarePasskey())
        let handle = try await test.add(lost, to: try await test.browser())
        let other = try await test.add(kept, to: try await test.browser("bob"))
        _ = try await test.installation.removeAccount(named: "ada@example.org", by: TestInstallation.root)
        let left = try await test.installation.read { reader in
            try [InstallationEntry.Kind.passkey, .accountPasskeys].map {
                try reader.installationEntries($0, after: "", limit: 10).count
            }
        }
        #expect(left == [1, 1])
        let signed = try await test.request(handle).signed(lost)
        #expect(
            await code { () async throws(ServiceError) in try await test.signIn(by: signed) } == .authenticationFailed)
        _ = try await test.signIn(by: try await test.request(other).signed(kept))
    }

    @Test(arguments: [false, true])
    func `passkeys stay with a new password, unless they are to go`(_ isRemoved: Bool) async throws {
        let test = try await TestInstallation.withPasskeys()
        let apiToken = try await test.token().token
        let browser = try await test.browser()
        try await test.add(try SoftwarePasskey(), to: browser)
        try await test.installation.changePassword(
            of: browser, from: TestInstallation.password, to: "a tenth life of the cat", device: nil,
            removesOtherMethods: isRemoved, address: [])
        #expect(try await test.passkeys() == (isRemoved ? [] : ["key"]))
        _ = try await test.signIn(password: "a tenth life of the cat", apiToken: apiToken)
        let link = try await test.installation.makeRecoveryLink(
            ofAccountNamed: "ada@example.org", by: TestInstallation.root)
        let secret = String(try #require(link.split(separator: "=").last))
        #expect(try await test.installation.link(secret)?.otherMethods == (isRemoved ? 0 : 1))
        try await test.installation.recover(
            byLink: secret, password: "an eleventh life of it", removesOtherMethods: isRemoved, address: [])
        #expect(try await test.passkeys() == (isRemoved ? [] : ["key"]))
    }

    @Test func `passkeys end where the host changes, and stay where it comes back`() async throws {
        let directory = TemporaryStores()
        defer { directory.remove() }
        let passkey = try SoftwarePasskey()
        var handle = ""
        /// Runs a server at a URL, to its end.
        func serve(_ url: String, _ body: (TestInstallation) async throws -> Void) async throws {
            let stores = try directory.open()
            let test = try await TestInstallation(stores, failsForLog: false, people: .withPasskeys(url: url))
            if !handle.isEmpty { test.clock.advance(milliseconds: 60_000) }
            try await body(test)
            await test.installation.close()
            stores.close()
        }
        func signed(_ test: TestInstallation, _ origin: String, _ relyingParty: String) async throws -> PasskeySignIn {
            var answer = try await test.request(handle)
            (answer.origin, answer.relyingParty) = (origin, relyingParty)
            return try answer.signed(passkey)
        }
        try await serve("https://cloud.example.org") { test in
            _ = try await test.prepare()
            handle = try await test.add(passkey, to: try await test.browser())
        }
        try await serve("https://new.example.org") { test in
            for relyingParty in ["cloud.example.org", "new.example.org"] {
                let signed = try await signed(test, "https://new.example.org", relyingParty)
                await test.expectRefusal { () async throws(ServiceError) in try await test.signIn(by: signed) }
            }
            let browser = try await test.browser()
            let state = try await test.installation.passkeys(of: browser, binding: "")
            #expect(state.passkeys.map(\.relyingParty) == ["cloud.example.org"])
            #expect(state.creation?.relyingParty == "new.example.org" && state.creation?.excluded == [])
        }
        // Another port is the same host, with an origin of its own.
        for url in ["https://cloud.example.org:8443", "https://cloud.example.org"] {
            try await serve(url) { test in
                _ = try await test.signIn(by: try await signed(test, url, "cloud.example.org"))
            }
        }
    }

    @Test(arguments: [
        ("https://cloud.example.org", "cloud.example.org"), ("https://cloud.example.org:8443", "cloud.example.org"),
        ("http://localhost:8484", "localhost"), ("https://localhost", "localhost"), ("http://cloud.example.org", nil),
        ("https://192.0.2.1", nil), ("https://192.0.2.1:8443", nil), ("http://127.0.0.1:8484", nil),
        ("https://[2001:db8::1]", nil), ("", nil),
    ])
    func `a server has passkeys at a name, and with TLS or on this machine`(_ url: String, _ host: String?) async throws
    {
        let test = try await TestInstallation(people: .withPasskeys(url: url))
        #expect(test.installation.passkeyHost == host)
        #expect(try await test.installation.passkeyRequest(binding: "")?.relyingParty == host)
        let without = try await TestInstallation(people: PeopleSettings(url: url))
        #expect(without.installation.passkeyHost == nil)
    }
}
