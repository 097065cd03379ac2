import NephosPostgres
import NephosPostgresTesting
import NephosStorage
import NephosTesting
import NephosWire
import Testing

@testable import NephosService

/// Whom passkeys sign in (Web Authentication §7.2).
@Suite struct PasskeySignInTests {
    @Test(arguments: [SoftwarePasskey.Algorithm.es256, .edDSA, .rs256])
    func `a passkey of each algorithm signs in`(_ algorithm: SoftwarePasskey.Algorithm) async throws {
        let test = try await TestInstallation.withPasskeys()
        let passkey = try SoftwarePasskey(algorithm)
        let handle = try await test.add(passkey, to: try await test.browser())
        let signedIn = try await test.signIn(by: try await test.request(handle).signed(passkey))
        let session = try #require(try await test.installation.browserSession(signedIn.browserToken))
        #expect(session.name == "ada@example.org" && signedIn.token.isEmpty)
        let events = try await test.events()
        #expect(events.suffix(3) == ["passkey added", "passkey used", "signed in"])
    }

    @Test func `a passkey signs in to an app, with a session like a password's`() async throws {
        let test = try await TestInstallation.withPasskeys()
        let apiToken = try await test.token().token
        let passkey = try SoftwarePasskey()
        let handle = try await test.add(passkey, to: try await test.browser())
        let signedIn = try await test.signIn(by: try await test.request(handle).signed(passkey), apiToken: apiToken)
        #expect(try await test.caller(apiToken, signedIn.token).address == "ada@example.org")
        let sessions = try await test.installation.sessionSummaries(ofAccountNamed: "ada@example.org")
        #expect(sessions.filter { $0.label == "browser" }.map(\.container).contains(TestInstallation.container))
        // The device is known at its next sign-in.
        _ = try await test.signIn(apiToken: apiToken, device: signedIn.device)
        let unknown = await code { () async throws(ServiceError) in
            try await test.installation.signIn(
                by: PasskeySignIn(
                    credential: "", handle: "",
                    assertion: PasskeyAssertion(clientData: "", authenticatorData: "", signature: "")),
                SignIn(name: "", password: "", apiToken: "x"), binding: "")
        }
        #expect(unknown == .authenticationFailed)
    }

    @Test func `two accounts with two passkeys each sign in as themselves, in either order`() async throws {
        let test = try await TestInstallation.withPasskeys("bob")
        var keys: [(account: String, handle: String, passkey: SoftwarePasskey)] = []
        for account in ["ada@example.org", "bob", "ada@example.org", "bob"] {
            let passkey = try SoftwarePasskey()
            keys.append((account, try await test.add(passkey, to: try await test.browser(account)), passkey))
        }
        #expect(Set(keys.map(\.handle)).count == 2)
        for (account, handle, passkey) in keys + keys.reversed() {
            let signedIn = try await test.signIn(by: try await test.request(handle).signed(passkey))
            #expect(try await test.installation.browserSession(signedIn.browserToken)?.name == account)
        }
    }

    @Test func `two browsers sign in by one passkey, each by its own challenge`() async throws {
        let test = try await TestInstallation.withPasskeys()
        let passkey = try SoftwarePasskey()
        let handle = try await test.add(passkey, to: try await test.browser())
        let (first, second) = (
            try await test.request(handle, "first").signed(passkey),
            try await test.request(handle, "second").signed(passkey)
        )
        await test.expectRefusal { () async throws(ServiceError) in try await test.signIn(by: first, "second") }
        await test.expectRefusal { () async throws(ServiceError) in try await test.signIn(by: second, "first") }
        _ = try await test.signIn(by: second, "second")
        _ = try await test.signIn(by: first, "first")
    }

    @Test func `a sign-in is refused for another page, site, account, key or use`() async throws {
        let test = try await TestInstallation.withPasskeys("bob")
        let (passkey, other) = (try SoftwarePasskey(.es256), try SoftwarePasskey(.es256))
        let handle = try await test.add(passkey, to: try await test.browser())
        let others = try await test.add(other, to: try await test.browser("bob"))
        let changes: [(String, (inout PasskeyAnswer) -> Void)] = [
            ("another origin", { $0.origin = "https://evil.example.org" }),
            ("another port", { $0.origin = "https://cloud.example.org:8443" }),
            ("no TLS", { $0.origin = "http://cloud.example.org" }),
            ("a slash", { $0.origin += "/" }),
            ("a frame of another origin", { $0.crossOrigin = true }),
            ("the type of a creation", { $0.type = "webauthn.create" }),
            ("another relying party", { $0.relyingParty = "example.org" }),
            ("no verification", { $0.flags = 1 }),
            ("no presence", { $0.flags = 4 }),
            ("another account's handle", { $0.handle = others }),
            ("no handle", { $0.handle = "" }),
            ("a challenge of nobody's", { $0.challenge = "AAAA" }),
            ("no challenge", { $0.challenge = "" }),
        ]
        for (reason, change) in changes {
            var answer = try await test.request(handle)
            change(&answer)
            let signed = try answer.signed(passkey)
            await test.expectRefusal(reason) { () async throws(ServiceError) in try await test.signIn(by: signed) }
        }
        let foreign = try await test.request(handle).signed(passkey, by: other)
        await test.expectRefusal("another key") { () async throws(ServiceError) in try await test.signIn(by: foreign) }
        let unknown = try await test.request(handle).signed(try SoftwarePasskey())
        await test.expectRefusal("unknown") { () async throws(ServiceError) in try await test.signIn(by: unknown) }
        var creation = try await test.creation(try await test.browser())
        creation.type = "webauthn.get"
        let misused = try creation.signed(passkey)
        await test.expectRefusal("a creation's") { () async throws(ServiceError) in try await test.signIn(by: misused)
        }
        // The same without a change is none.
        _ = try await test.signIn(by: try await test.request(handle).signed(passkey))
        #expect(try await test.events().contains("passkey refused"))
    }

    @Test func `a challenge is used once, within five minutes`() async throws {
        let test = try await TestInstallation.withPasskeys()
        let passkey = try SoftwarePasskey()
        let handle = try await test.add(passkey, to: try await test.browser())
        let (used, late) = (
            try await test.request(handle).signed(passkey), try await test.request(handle).signed(passkey)
        )
        _ = try await test.signIn(by: used)
        await test.expectRefusal("used") { () async throws(ServiceError) in try await test.signIn(by: used) }
        test.clock.advance(milliseconds: Limits.passkeyChallengeLifetime - 1)
        await test.expectRefusal("used before") { () async throws(ServiceError) in try await test.signIn(by: used) }
        _ = try await test.signIn(by: late)
        let expired = try await test.request(handle).signed(passkey)
        test.clock.advance(milliseconds: Limits.passkeyChallengeLifetime)
        await test.expectRefusal("expired") { () async throws(ServiceError) in try await test.signIn(by: expired) }
    }

    @Test(.overPostgreSQL) func `a challenge that was used at one server is used at another`() async throws {
        let stores = try PostgresStores(TestCluster.address.get(), options: TestCluster.options(connections: 4))
        let test = try await TestInstallation(stores, failsForLog: false, people: .withPasskeys())
        _ = try await test.prepare()
        let passkey = try SoftwarePasskey()
        let handle = try await test.add(passkey, to: try await test.browser())
        let other = try await test.again()
        let signed = [try await test.request(handle).signed(passkey), try await test.request(handle).signed(passkey)]
        func signIn(_ server: Installation, _ signed: PasskeySignIn) async -> ServerErrorCode? {
            await code { () async throws(ServiceError) in
                try await server.signIn(
                    by: signed, SignIn(name: "", password: "", apiToken: nil), binding: TestInstallation.binding)
            }
        }
        #expect(await signIn(other, signed[0]) == nil)
        #expect(await signIn(test.installation, signed[0]) == .authenticationFailed)
        #expect(await signIn(test.installation, signed[1]) == nil)
        #expect(await signIn(other, signed[1]) == .authenticationFailed)
        await other.close()
        await test.installation.close()
        stores.close()
    }

    @Test func `a challenge of another token epoch is none, as the database may lack its use`() async throws {
        let test = try await TestInstallation.withPasskeys()
        let passkey = try SoftwarePasskey()
        let handle = try await test.add(passkey, to: try await test.browser())
        let epoch = try await test.installation.read { try $0.tokenEpoch() }
        var answer = try await test.request(handle)
        answer.challenge = try test.installation.challengeText(
            .assertion, binding: TestInstallation.binding, epoch: epoch - 1)
        let signed = try answer.signed(passkey)
        await test.expectRefusal { () async throws(ServiceError) in try await test.signIn(by: signed) }
    }

    @Test func `a counter advances, stays 0, or is refused and audited`() async throws {
        let test = try await TestInstallation.withPasskeys()
        let (counting, other) = (try SoftwarePasskey(), try SoftwarePasskey())
        let browser = try await test.browser()
        let handle = try await test.add(counting, to: browser, counter: 5)
        try await test.add(other, to: browser)
        for counter: UInt32 in [6, 100, .max] {
            _ = try await test.signIn(by: try await test.request(handle, counter: counter).signed(counting))
        }
        for counter: UInt32 in [.max, 5, 0] {
            let signed = try await test.request(handle, counter: counter).signed(counting)
            await test.expectRefusal("\(counter)") { () async throws(ServiceError) in try await test.signIn(by: signed)
            }
        }
        let events = try await test.events()
        #expect(events.filter { $0 == "passkey refused: its counter went back" }.count == 3)
        for counter: UInt32 in [0, 0, 1] {
            _ = try await test.signIn(by: try await test.request(handle, counter: counter).signed(other))
        }
        let signed = try await test.request(handle, counter: 0).signed(other)
        await test.expectRefusal("0") { () async throws(ServiceError) in try await test.signIn(by: signed) }
    }

    @Test func `one of two sign-ins at once with the same counter is refused`() async throws {
        let test = try await TestInstallation.withPasskeys()
        let passkey = try SoftwarePasskey()
        let handle = try await test.add(passkey, to: try await test.browser(), counter: 1)
        let signed = [
            try await test.request(handle, counter: 2).signed(passkey),
            try await test.request(handle, counter: 2).signed(passkey),
        ]
        let codes = await withTaskGroup(of: ServerErrorCode?.self) { group in
            for passkey in signed {
                group.addTask { await code { () async throws(ServiceError) in try await test.signIn(by: passkey) } }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(codes) == [nil, .authenticationFailed])
    }

    @Test func `guesses from a network are slowed, and others' are not`() async throws {
        let test = try await TestInstallation.withPasskeys()
        let passkey = try SoftwarePasskey()
        let handle = try await test.add(passkey, to: try await test.browser())
        let wrong = try await test.request(handle).signed(try SoftwarePasskey())
        for _ in 0..<30 {
            #expect(
                await code { () async throws(ServiceError) in try await test.signIn(by: wrong) }
                    == .authenticationFailed)
        }
        let right = try await test.request(handle).signed(passkey)
        #expect(await code { () async throws(ServiceError) in try await test.signIn(by: right) } == .throttled)
        _ = try await test.signIn(by: right, address: [192, 0, 2, 2])
        // Passwords and passkeys have counts of their own.
        _ = try await test.signIn(apiToken: nil)
    }
}
