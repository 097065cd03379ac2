import NephosCrypto
import NephosSQLite
import NephosStorage
import NephosWire
import Synchronization
import Testing

@testable import NephosService

@Suite struct SignInTests {
    @Test func `a session signs in to its container and environment alone`() async throws {
        let test = try await TestInstallation()
        let token = try await test.prepare()
        let session = try await test.signIn("ADA@Example.org", apiToken: token).token
        let caller = try await test.caller(token, session)
        #expect(caller.address == "ada@example.org")
        #expect(caller.account.map(AccountID.isOne) == true)
        #expect(!caller.isDeveloper)

        let production = try await test.token(environment: .production).token
        #expect(
            await code { () async throws(ServiceError) in
                try await test.caller(production, session, environment: .production)
            } == .authenticationRequired)
        // A token of one environment is none of the other.
        #expect(
            await code { () async throws(ServiceError) in
                try await test.caller(token, nil, environment: .production)
            } == .authenticationFailed)
    }

    @Test func `missing, unknown and foreign API tokens, and containers that do not exist, are answered alike`()
        async throws
    {
        let test = try await TestInstallation()
        let token = try await test.prepare()
        try await test.installation.createContainer("iCloud.other", by: TestInstallation.root)
        var answers: [ServiceError] = []
        for (apiToken, container) in [
            (nil, TestInstallation.container), (token, "iCloud.other"), (token, "iCloud.none"),
            (String(repeating: "0", count: 64), TestInstallation.container), ("short", TestInstallation.container),
        ] {
            do {
                _ = try await test.caller(apiToken, nil, container: container)
            } catch {
                answers.append(error)
            }
        }
        #expect(answers == [ServiceError](repeating: .invalidAPIToken, count: 5))
    }

    @Test func `wrong passwords and names that do not exist are refused alike`() async throws {
        let test = try await TestInstallation()
        let token = try await test.prepare()
        var answers: [ServiceError] = []
        for (name, password) in [
            ("ada@example.org", "not her password"), ("bob@example.org", TestInstallation.password),
            (String(repeating: "a", count: 300), TestInstallation.password), ("ada@example.org", ""),
        ] {
            do {
                _ = try await test.signIn(name, password: password, apiToken: token)
            } catch {
                answers.append(error)
            }
        }
        #expect(Set(answers.map(\.reason)) == ["the name or the password is wrong"] && answers.count == 4)
    }

    @Test func `guesses are slowed down by name, also for names that do not exist, and a known device goes on`()
        async throws
    {
        let test = try await TestInstallation()
        let token = try await test.prepare()
        let device = try await test.signIn(apiToken: token).device
        for name in ["ada@example.org", "nobody@example.org"] {
            for guess in 0..<5 {
                let result = await code { () async throws(ServiceError) in
                    try await test.signIn(
                        name, password: "guess number \(guess)", apiToken: token, address: [192, 0, 2, UInt8(guess)])
                }
                #expect(result == .authenticationFailed)
            }
            let refused = await code { () async throws(ServiceError) in
                try await test.signIn(name, apiToken: token, address: [192, 0, 2, 99])
            }
            #expect(refused == .throttled)
        }
        // The attacker's guesses do not delay the device.
        _ = try await test.signIn(apiToken: token, device: device)
        test.clock.advance(milliseconds: 2000)
        _ = try await test.signIn(apiToken: token, address: [192, 0, 2, 99])
        // The right password ends the count.
        _ = try await test.signIn(apiToken: token, address: [192, 0, 2, 99])
    }

    @Test func `guesses at the same time do not exceed the allowance`() async throws {
        let test = try await TestInstallation()
        let token = try await test.prepare()
        let codes = await withTaskGroup(of: ServerErrorCode?.self) { group in
            for guess in 0..<16 {
                group.addTask {
                    await code { () async throws(ServiceError) in
                        try await test.signIn(password: "guess number \(guess)", apiToken: token)
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(codes.count { $0 == .authenticationFailed } == 5)
        #expect(codes.count { $0 == .throttled } == 11)
    }

    @Test
    func
        `a device's count is an account's own, a device that it did not get is none of its, and a new password forgets all`()
        async throws
    {
        let test = try await TestInstallation()
        let token = try await test.prepare()
        _ = try await test.installation.createAccount(
            named: "eve", password: TestInstallation.password, by: TestInstallation.root)
        let shared = try await test.signIn("eve", apiToken: token).device
        // The secret that Eve knows is not taken over by Ada's sign-in on the same computer.
        let own = try await test.signIn(apiToken: token, device: shared).device
        #expect(own != shared)
        var guessed: [ServerErrorCode?] = []
        for guess in 0..<12 {
            guessed.append(
                await code { () async throws(ServiceError) in
                    try await test.signIn(password: "guess number \(guess)", apiToken: token, device: shared)
                })
            // Eve's own sign-ins do not end the count of her guesses at Ada.
            _ = try await test.signIn("eve", apiToken: token, device: shared)
        }
        #expect(guessed.count { $0 == .authenticationFailed } == 5)
        _ = try await test.signIn(apiToken: token, device: own)
        try await test.installation.setPassword(
            "another nine lives", ofAccountNamed: "ada@example.org", by: TestInstallation.root)
        // The count of the name, too: it begins again.
        for guess in 0..<5 {
            let result = await code { () async throws(ServiceError) in
                try await test.signIn(password: "guess number \(guess)", apiToken: token)
            }
            #expect(result == .authenticationFailed)
        }
        #expect(
            await code { () async throws(ServiceError) in
                try await test.signIn(password: "another nine lives", apiToken: token, device: own)
            } == .throttled)
    }

    @Test func `an account knows its last devices alone`() async throws {
        let test = try await TestInstallation()
        let token = try await test.prepare()
        for _ in 0...Limits.knownDevices {
            _ = try await test.signIn(apiToken: token)
            test.clock.advance(milliseconds: 1)
        }
        let count = try await test.installation.read { try $0.entries(KnownDevice.self).count }
        #expect(count == Limits.knownDevices)
    }

    @Test func `a web page does not sign in to the administration`() async throws {
        let test = try await TestInstallation()
        _ = try await test.prepare()
        let request = SignIn(
            name: "ada@example.org", password: TestInstallation.password, apiToken: nil,
            origin: "https://evil.example.org")
        for _ in 0..<40 {
            #expect(
                await code { () async throws(ServiceError) in try await test.installation.signIn(request) }
                    == .authenticationFailed)
        }
        // None of them was counted.
        _ = try await test.signIn(apiToken: nil)
    }

    @Test(arguments: [" ada@example.org", "Ada@example.org  "])
    func `spaces at the ends of a name do not count`(name: String) async throws {
        let test = try await TestInstallation()
        _ = try await test.prepare()
        _ = try await test.installation.signIn(SignIn(name: name, password: TestInstallation.password, apiToken: nil))
    }

    private final class Taken: Sendable {
        let count = Mutex(0)
    }

    @Test func `a network has some of the places for sign-ins, and others of it wait`() async {
        let places = SignInPlaces()
        let all = Limits.signInsOfNetwork + Limits.waitingSignInsOfNetwork
        let taken = Taken()
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<all + 7 {
                group.addTask {
                    let isIn = await places.take("a")
                    if isIn { taken.count.withLock { $0 += 1 } }
                    return isIn
                }
            }
            // Those that find no place to wait do not wait for it.
            for _ in 0..<7 + Limits.signInsOfNetwork { _ = await group.next() }
            #expect(taken.count.withLock(\.self) == Limits.signInsOfNetwork)
            #expect(await places.take("b"))
            for count in 1...Limits.waitingSignInsOfNetwork {
                places.giveBack("a")
                #expect(await group.next() == true)
                #expect(taken.count.withLock(\.self) == Limits.signInsOfNetwork + count)
            }
        }
        for _ in 0..<Limits.signInsOfNetwork { places.giveBack("a") }
        // All networks together have a bound.
        places.giveBack("b")
        for network in 0..<Limits.signInsUnderWay { #expect(await places.take("n\(network)")) }
        #expect(await !places.take("c"))
    }

    @Test func `sign-ins that wait take no place from another network`() async {
        let places = SignInPlaces()
        let networks = (0..<Limits.waitingSignIns / Limits.waitingSignInsOfNetwork).map { "n\($0)" }
        await withTaskGroup(of: Bool.self) { group in
            for network in networks {
                for _ in 0..<Limits.signInsOfNetwork { #expect(await places.take(network)) }
                // The one without a place to wait returns when all others wait.
                for _ in 0...Limits.waitingSignInsOfNetwork { group.addTask { await places.take(network) } }
                #expect(await group.next() == false)
            }
            for _ in 0..<Limits.signInsOfNetwork { #expect(await places.take("other")) }
            #expect(await !places.take("other"), "no place to wait is left")
            for network in networks {
                for _ in 0..<Limits.waitingSignInsOfNetwork { places.giveBack(network) }
            }
            for await isIn in group { #expect(isIn) }
        }
        for _ in 0..<Limits.signInsOfNetwork { places.giveBack("other") }
        #expect(await places.take("other"))
    }

    @Test func `fifty people behind one address sign in at once`() async throws {
        let test = try await TestInstallation()
        _ = try await test.prepare()
        let installation = test.installation
        for number in 0..<50 {
            _ = try await installation.createAccount(
                named: "\(number)@example.org", password: TestInstallation.password, isVerified: true,
                by: TestInstallation.root)
        }
        let results = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<50 {
                group.addTask {
                    let request = SignIn(
                        name: "\(number)@example.org", password: TestInstallation.password, apiToken: nil, origin: nil,
                        address: [192, 0, 2, 1])
                    return (try? await installation.signIn(request)) != nil
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(results.count { $0 } == 50)
    }

    @Test(arguments: [Int64.max, 0, -1]) func `an API token's time is bounded`(_ lifetime: Int64) async throws {
        let test = try await TestInstallation()
        _ = try await test.prepare()
        #expect(
            await code { () async throws(ServiceError) in
                try await test.installation.createAPIToken(
                    container: TestInstallation.container, environment: .production, name: "", origins: [],
                    allowsSignIn: true, lifetime: lifetime, by: TestInstallation.root)
            } == .badRequest)
    }

    @Test func `an address is slowed down over all names, and IPv6 by its network`() async throws {
        let test = try await TestInstallation()
        let token = try await test.prepare()
        func guess(_ number: Int, _ address: [UInt8]) async -> ServerErrorCode? {
            await code { () async throws(ServiceError) in
                try await test.signIn("name\(number)", password: "a guess of many", apiToken: token, address: address)
            }
        }
        let network: [UInt8] = [0x20, 1, 0xD, 0xB8, 0, 0, 0, 7]
        for number in 0..<30 {
            let address = network + [0, 0, 0, 0, 0, 0, 0, UInt8(number)]
            #expect(await guess(number, address) == .authenticationFailed)
        }
        #expect(await guess(30, network + [9, 9, 9, 9, 9, 9, 9, 9]) == .throttled)
        // As the server gives it.
        #expect(await guess(30, network) == .throttled)
        #expect(await guess(31, [0x20, 1, 0xD, 0xB8, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 1]) == .authenticationFailed)
    }

    @Test func `waits double from a second to a quarter of an hour, and fade without attempts`() {
        var failures = FailedSignIns.none
        var waits: [Int64] = []
        for _ in 0..<20 {
            failures = failures.adding(at: 1_000_000)
            waits.append(failures.allowedAt(free: 5) - 1_000_000)
        }
        #expect(waits.prefix(8) == [0, 0, 0, 0, 1000, 2000, 4000, 8000])
        #expect(waits.last == FailedSignIns.longestWait)
        #expect(failures.adding(at: 1_000_000 + 3 * FailedSignIns.longestWait).count == 18)
        #expect(failures.adding(at: 1_000_000 + FailedSignIns.lifetime).count == 1)
    }

    @Test func `a clock that was ahead locks nobody out once it is right`() async throws {
        let test = try await TestInstallation()
        let token = try await test.prepare()
        let day: Int64 = 24 * 60 * 60 * 1000
        func guess() async -> ServerErrorCode? {
            await code { () async throws(ServiceError) in
                try await test.signIn(password: "a guess of many", apiToken: token)
            }
        }
        test.clock.advance(milliseconds: day)
        for _ in 0..<5 { #expect(await guess() == .authenticationFailed) }
        #expect(await guess() == .throttled)
        test.clock.advance(milliseconds: -day)
        #expect(await guess() == .authenticationFailed)
        #expect(await guess() == .throttled, "guesses count on")
        test.clock.advance(milliseconds: FailedSignIns.longestWait)
        _ = try await test.signIn(apiToken: token)
    }

    @Test func `attempts under way do not take each other for those of a clock that was ahead`() {
        let failures = FailedSignIns(count: 9, lastAt: 1_000_000)
        #expect(!failures.wasAhead(at: 1_000_000 - Limits.clockDifference))
        #expect(failures.wasAhead(at: 1_000_000 - Limits.clockDifference - 1))
        #expect(failures.adding(at: 999_000) == FailedSignIns(count: 10, lastAt: 1_000_000))
        #expect(failures.adding(at: 900_000) == FailedSignIns(count: 10, lastAt: 900_000))
    }

    @Test func `sessions end after their lifetime without use, and at the latest after a year`() async throws {
        let test = try await TestInstallation()
        let token = try await test.prepare()
        let short = try await test.signIn(apiToken: token).token
        let kept = try await test.signIn(apiToken: token, keepsSignedIn: true).token
        let minute: Int64 = 60_000
        // Used every twenty minutes, the short one lives on.
        for _ in 0..<5 {
            test.clock.advance(milliseconds: 20 * minute)
            _ = try await test.caller(token, short)
        }
        test.clock.advance(milliseconds: 31 * minute)
        #expect(
            await code { () async throws(ServiceError) in try await test.caller(token, short) }
                == .authenticationRequired)
        let day = 24 * 60 * minute
        for _ in 0..<36 {
            test.clock.advance(milliseconds: 10 * day)
            _ = try await test.caller(token, kept)
        }
        test.clock.advance(milliseconds: 6 * day)
        #expect(
            await code { () async throws(ServiceError) in try await test.caller(token, kept) }
                == .authenticationRequired)
    }

    @Test func `a session that ended is refused at once here, and by another server after the recheck`() async throws {
        let test = try await TestInstallation()
        let token = try await test.prepare()
        let (first, second) = (try await test.signIn(apiToken: token), try await test.signIn(apiToken: token))
        _ = try await test.caller(token, first.token)
        let ended = try await test.installation.endSessions(
            ofAccountNamed: "ada@example.org", id: SecretToken(first.token)?.hash, by: TestInstallation.root)
        #expect(ended == 1)
        #expect(
            await code { () async throws(ServiceError) in try await test.caller(token, first.token) }
                == .authenticationRequired)
        _ = try await test.caller(token, second.token)
        // A new password ends them all.
        try await test.installation.setPassword(
            "another nine lives", ofAccountNamed: "ada@example.org", by: TestInstallation.root)
        #expect(
            await code { () async throws(ServiceError) in try await test.caller(token, second.token) }
                == .authenticationRequired)
        #expect(try await test.installation.sessionSummaries(ofAccountNamed: "ada@example.org").isEmpty)
    }

    @Test func `texts of one session differ, and the store has none of them`() async throws {
        let test = try await TestInstallation()
        let token = try await test.prepare()
        let signedIn = try await test.signIn(apiToken: token)
        let again = try #require(SecretToken(signedIn.token)).text()
        #expect(again != signedIn.token && again.utf8.count >= 64)
        _ = try await test.caller(token, again)
        let bodies = try await test.installation.engine.read { reader in
            try InstallationEntry.Kind.allCases.flatMap { kind in
                try reader.installationEntries(kind, after: "", limit: 100).map {
                    $0.name + String(decoding: $0.body, as: UTF8.self)
                }
            }
        }
        // People type passwords into the field of the name.
        _ = try? await test.signIn("a password in the wrong field", password: "x", apiToken: token)
        for secret in [signedIn.token, signedIn.device, TestInstallation.password, "wrong field"] {
            #expect(!bodies.contains { $0.contains(secret) || $0.contains(secret.prefix(30)) })
        }
        // No address is in the audit.
        let audit = try await test.installation.read { try $0.entries(AuditedEvent.self).map(\.value) }
        #expect(
            audit.map(\.event) == ["container made", "account made", "address verified", "API token made", "signed in"])
        #expect(!audit.contains { $0.object.contains("@") || $0.actor.contains("@") })
    }

    @Test func `an API token is for the listed origins, may allow no sign-in, and expires`() async throws {
        let test = try await TestInstallation()
        let own = try await test.prepare()
        let session = try await test.signIn(apiToken: own).token
        let web = try await test.token(origins: ["https://app.example.org"], lifetime: 1000).token
        _ = try await test.caller(web, session, origin: "https://app.example.org")
        _ = try await test.caller(web, nil)
        for origin in ["https://app.example.org.evil.org", "http://app.example.org", "https://APP.example.org", "null"]
        {
            #expect(
                await code { () async throws(ServiceError) in
                    try await test.caller(web, session, origin: origin)
                } == .authenticationFailed)
        }
        // A token for programs is for no page.
        #expect(
            await code { () async throws(ServiceError) in
                try await test.caller(own, nil, origin: "https://app.example.org")
            } == .authenticationFailed)
        test.clock.advance(milliseconds: 1000)
        #expect(
            await code { () async throws(ServiceError) in try await test.caller(web, nil) } == .authenticationFailed)
        let reading = try await test.token(allowsSignIn: false).token
        #expect(
            await code { () async throws(ServiceError) in try await test.signIn(apiToken: reading) }
                == .authenticationFailed)
        #expect(
            await code { () async throws(ServiceError) in try await test.caller(reading, session) }
                == .authenticationFailed)
        #expect(try await test.caller(reading, nil).account == nil)
        try await test.installation.revokeAPIToken(reading, by: TestInstallation.root)
        #expect(
            await code { () async throws(ServiceError) in try await test.caller(reading, nil) }
                == .authenticationFailed)
    }

    @Test(arguments: [
        "app.example.org", "https://app.example.org/", "https://App.example.org", "http://app.example.org",
        "https://app.example.org:443", "https://", "*", "https://a b.org", "null",
    ])
    func `what is no origin is refused`(_ text: String) {
        #expect(throws: ServiceError.self) { try WebOrigin.check(text) }
    }

    @Test(arguments: [
        "https://app.example.org", "https://app.example.org:8443", "http://localhost:3000", "http://127.0.0.1",
        "http://[::1]:3000", "https://[2001:db8::1]",
    ])
    func `an origin is taken as browsers send it`(_ text: String) throws { try WebOrigin.check(text) }
}
