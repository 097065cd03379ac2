import NephosPasskeys
import NephosPostgres
import NephosPostgresTesting
import NephosSQLite
import NephosStorage
import NephosTesting
import NephosWire
import Testing

@testable import NephosService

/// Passkeys: how they are added, and whom they sign in (Web Authentication §7).
@Suite struct PasskeyTests {
    private func installation(_ accounts: String...) async throws -> TestInstallation {
        let test = try await TestInstallation(failsForLog: false, people: .withPasskeys())
        _ = try await test.prepare()
        for name in accounts {
            _ = try await test.installation.createAccount(
                named: name, password: TestInstallation.password, by: TestInstallation.root)
        }
        return test
    }

    // MARK: Signing in

    @Test(arguments: [SoftwarePasskey.Algorithm.es256, .edDSA, .rs256])
    func `a passkey of each algorithm signs in`(_ algorithm: SoftwarePasskey.Algorithm) async throws {
        let test = try await installation()
        let passkey = try SoftwarePasskey(algorithm)
        let handle = try await test.add(passkey, to: try await test.browser())
        let signedIn = try await test.signIn(by: try await test.request(handle).signed(passkey))
        let session = try #require(try await test.installation.browserSession(signedIn.browserToken))
        #expect(session.name == "ada@example.org" && signedIn.token.isEmpty)
        let events = try await test.events()
        #expect(events.suffix(3) == ["passkey added", "passkey used", "signed in"])
    }

    @Test func `a passkey signs in to an app, with a session like a password's`() async throws {
        let test = try await installation()
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
        let test = try await installation("bob")
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
        let test = try await installation()
        let passkey = try SoftwarePasskey()
        let handle = try await test.add(passkey, to: try await test.browser())
        let (first, second) = (
            try await test.request(handle, "first").signed(passkey),
            try await test.request(handle, "second").signed(passkey)
        )
        await expectRefusal(test) { () async throws(ServiceError) in try await test.signIn(by: first, "second") }
        await expectRefusal(test) { () async throws(ServiceError) in try await test.signIn(by: second, "first") }
        _ = try await test.signIn(by: second, "second")
        _ = try await test.signIn(by: first, "first")
    }

    /// Expects that a call is refused, and that no session begins by it.
    private func expectRefusal<T>(
        _ test: TestInstallation, _ reason: String = "", _ call: () async throws(ServiceError) -> T
    ) async {
        let before = try? await test.installation.sessionSummaries(ofAccountNamed: "ada@example.org").count
        #expect(await code(call) == .authenticationFailed, "\(reason)")
        let after = try? await test.installation.sessionSummaries(ofAccountNamed: "ada@example.org").count
        #expect(before == after, "\(reason)")
    }

    @Test func `a sign-in is refused for another page, site, account, key or use`() async throws {
        let test = try await installation("bob")
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
            await expectRefusal(test, reason) { () async throws(ServiceError) in try await test.signIn(by: signed) }
        }
        let foreign = try await test.request(handle).signed(passkey, by: other)
        await expectRefusal(test, "another key") { () async throws(ServiceError) in try await test.signIn(by: foreign) }
        let unknown = try await test.request(handle).signed(try SoftwarePasskey())
        await expectRefusal(test, "unknown") { () async throws(ServiceError) in try await test.signIn(by: unknown) }
        var creation = try await test.creation(try await test.browser())
        creation.type = "webauthn.get"
        let misused = try creation.signed(passkey)
        await expectRefusal(test, "a creation's") { () async throws(ServiceError) in try await test.signIn(by: misused)
        }
        // The same without a change is none.
        _ = try await test.signIn(by: try await test.request(handle).signed(passkey))
        #expect(try await test.events().contains("passkey refused"))
    }

    @Test func `a challenge is used once, within five minutes`() async throws {
        let test = try await installation()
        let passkey = try SoftwarePasskey()
        let handle = try await test.add(passkey, to: try await test.browser())
        let (used, late) = (
            try await test.request(handle).signed(passkey), try await test.request(handle).signed(passkey)
        )
        _ = try await test.signIn(by: used)
        await expectRefusal(test, "used") { () async throws(ServiceError) in try await test.signIn(by: used) }
        test.clock.advance(milliseconds: Limits.passkeyChallengeLifetime - 1)
        await expectRefusal(test, "used before") { () async throws(ServiceError) in try await test.signIn(by: used) }
        _ = try await test.signIn(by: late)
        let expired = try await test.request(handle).signed(passkey)
        test.clock.advance(milliseconds: Limits.passkeyChallengeLifetime)
        await expectRefusal(test, "expired") { () async throws(ServiceError) in try await test.signIn(by: expired) }
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
        let test = try await installation()
        let passkey = try SoftwarePasskey()
        let handle = try await test.add(passkey, to: try await test.browser())
        let epoch = try await test.installation.read { try $0.tokenEpoch() }
        var answer = try await test.request(handle)
        answer.challenge = try test.installation.challengeText(
            .assertion, binding: TestInstallation.binding, epoch: epoch - 1)
        let signed = try answer.signed(passkey)
        await expectRefusal(test) { () async throws(ServiceError) in try await test.signIn(by: signed) }
    }

    @Test func `a counter advances, stays 0, or is refused and audited`() async throws {
        let test = try await installation()
        let (counting, other) = (try SoftwarePasskey(), try SoftwarePasskey())
        let browser = try await test.browser()
        let handle = try await test.add(counting, to: browser, counter: 5)
        try await test.add(other, to: browser)
        for counter: UInt32 in [6, 100, .max] {
            _ = try await test.signIn(by: try await test.request(handle, counter: counter).signed(counting))
        }
        for counter: UInt32 in [.max, 5, 0] {
            let signed = try await test.request(handle, counter: counter).signed(counting)
            await expectRefusal(test, "\(counter)") { () async throws(ServiceError) in try await test.signIn(by: signed)
            }
        }
        let events = try await test.events()
        #expect(events.filter { $0 == "passkey refused: its counter went back" }.count == 3)
        for counter: UInt32 in [0, 0, 1] {
            _ = try await test.signIn(by: try await test.request(handle, counter: counter).signed(other))
        }
        let signed = try await test.request(handle, counter: 0).signed(other)
        await expectRefusal(test, "0") { () async throws(ServiceError) in try await test.signIn(by: signed) }
    }

    @Test func `one of two sign-ins at once with the same counter is refused`() async throws {
        let test = try await installation()
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
        let test = try await installation()
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

    // MARK: Adding

    @Test func `a passkey is refused for another page, site, browser or kind, and nothing changes`() async throws {
        let test = try await installation("bob")
        let (browser, bob) = (try await test.browser(), try await test.browser("bob"))
        let changes: [(String, (inout PasskeyAnswer) -> Void)] = [
            ("another origin", { $0.origin = "https://evil.example.org" }),
            ("a frame of another origin", { $0.crossOrigin = true }),
            ("the type of a sign-in", { $0.type = "webauthn.get" }),
            ("another relying party", { $0.relyingParty = "evil.example.org" }),
            ("no verification", { $0.flags = 1 }),
            ("no presence", { $0.flags = 4 }),
            ("no challenge", { $0.challenge = "" }),
        ]
        func expectRefusal(_ reason: String, _ new: NewPasskey, _ binding: String = TestInstallation.binding)
            async throws
        {
            let refused = await code { () async throws(ServiceError) in
                try await test.installation.addPasskey(new, of: browser, binding: binding, address: [])
            }
            #expect(refused == .authenticationFailed, "\(reason)")
            #expect(try await test.passkeys() == [], "\(reason)")
        }
        for (reason, change) in changes {
            var answer = try await test.creation(browser)
            change(&answer)
            try await expectRefusal(reason, answer.made(try SoftwarePasskey()))
        }
        let answer = try await test.creation(browser)
        try await expectRefusal("another browser", answer.made(try SoftwarePasskey()), "another page")
        try await expectRefusal("a short key", answer.made(try SoftwarePasskey(.shortRS256)))
        try await expectRefusal("a long ID", answer.made(try SoftwarePasskey(idSize: 1024)))
        var request = try await test.request("")
        request.type = "webauthn.create"
        try await expectRefusal("a sign-in's challenge", request.made(try SoftwarePasskey()))
        test.clock.advance(milliseconds: Limits.passkeyChallengeLifetime)
        try await expectRefusal("an expired challenge", answer.made(try SoftwarePasskey()))
        // Nothing of it was bob's either, whose own passkey has the longest ID.
        try await test.add(try SoftwarePasskey(idSize: 1023), to: bob)
        #expect(try await test.passkeys("bob") == ["key"])
    }

    @Test func `a passkey and a challenge are added once`() async throws {
        let test = try await installation("bob")
        let (browser, bob) = (try await test.browser(), try await test.browser("bob"))
        let passkey = try SoftwarePasskey()
        let answer = try await test.creation(browser)
        let made = answer.made(passkey)
        func add(_ new: NewPasskey, _ browser: BrowserSession) async -> ServerErrorCode? {
            await code { () async throws(ServiceError) in
                try await test.installation.addPasskey(
                    new, of: browser, binding: TestInstallation.binding, address: [])
            }
        }
        #expect(await add(made, browser) == nil)
        #expect(await add(made, browser) == .authenticationFailed)
        #expect(await add(answer.made(try SoftwarePasskey()), browser) == .authenticationFailed)
        #expect(await add(try await test.creation(browser).made(passkey), browser) == .exists)
        #expect(await add(try await test.creation(bob).made(passkey), bob) == .exists)
        #expect(try await test.passkeys() == ["key"])
        #expect(try await test.passkeys("bob") == [])
    }

    @Test func `an account has one handle, also if two pages add its first passkeys`() async throws {
        let test = try await installation()
        let browser = try await test.browser()
        let (first, second) = (try await test.creation(browser, "first"), try await test.creation(browser, "second"))
        #expect(first.handle != second.handle && first.handle.utf8.count == 43)
        func add(_ answer: PasskeyAnswer, _ binding: String) async throws -> ServerErrorCode? {
            let made = answer.made(try SoftwarePasskey())
            return await code { () async throws(ServiceError) in
                try await test.installation.addPasskey(made, of: browser, binding: binding, address: [])
            }
        }
        #expect(try await add(second, "second") == nil)
        #expect(try await add(first, "first") == .authenticationFailed)
        let third = try await test.creation(browser, "first")
        #expect(third.handle == second.handle)
        #expect(try await add(third, "first") == nil)
    }

    @Test func `an account has twenty passkeys at most, and another after one is removed`() async throws {
        let test = try await installation()
        let browser = try await test.browser()
        let late = try await test.creation(browser, "late")
        var handles: Set<String> = []
        for _ in 0..<20 {
            let passkey = try SoftwarePasskey()
            handles.insert(try await test.add(passkey, to: browser))
        }
        #expect(handles.count == 1)
        #expect(try await test.installation.passkeys(of: browser, binding: "").creation == nil)
        let ids = try await test.installation.passkeySummaries(ofAccountNamed: "ada@example.org").map(\.id)
        #expect(Set(ids).count == 20)
        // A page that was open before: its handle is not the account's.
        let made = late.made(try SoftwarePasskey())
        let refused = await code { () async throws(ServiceError) in
            try await test.installation.addPasskey(made, of: browser, binding: "late", address: [])
        }
        #expect(refused == .authenticationFailed)
        try await test.installation.removePasskey(ids[7], of: browser, address: [])
        let open = [try await test.creation(browser, "1"), try await test.creation(browser, "2")]
        var codes: [ServerErrorCode?] = []
        for (answer, binding) in zip(open, ["1", "2"]) {
            let made = answer.made(try SoftwarePasskey())
            codes.append(
                await code { () async throws(ServiceError) in
                    try await test.installation.addPasskey(made, of: browser, binding: binding, address: [])
                })
        }
        #expect(codes == [nil, .badRequest])
    }

    // MARK: Changing

    @Test func `a passkey has the name that its person gives it`() async throws {
        let test = try await installation("bob")
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
        let test = try await installation("bob")
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
        await expectRefusal(test) { () async throws(ServiceError) in try await test.signIn(by: signed) }
        _ = try await test.signIn(by: try await test.request(handle).signed(kept))
        // It may be added again.
        #expect(try await test.add(lost, to: browser) == handle)
        #expect(
            try await test.installation.removeSignInMethods(
                ofAccountNamed: "ada@example.org", .passkey, id: nil, by: TestInstallation.root) == 2)
        #expect(try await test.passkeys() == [])
    }

    @Test func `changes need a sign-in of the last quarter of an hour, and a session that lives`() async throws {
        let test = try await installation()
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
        let test = try await installation("bob")
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
        let test = try await installation()
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

    // MARK: The site

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
                await expectRefusal(test) { () async throws(ServiceError) in try await test.signIn(by: signed) }
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
