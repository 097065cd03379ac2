import NephosStorage
import NephosTesting
import NephosWire
import Testing

@testable import NephosService

/// How passkeys are added (Web Authentication §7.1).
@Suite struct PasskeyAddingTests {
    @Test func `a passkey is refused for another page, site, browser or kind, and nothing changes`() async throws {
        let test = try await TestInstallation.withPasskeys("bob")
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
        let test = try await TestInstallation.withPasskeys("bob")
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
        let test = try await TestInstallation.withPasskeys()
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
        let test = try await TestInstallation.withPasskeys()
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
}
