import NephosSQLite
import NephosWire
import Testing

@testable import NephosService

/// The ends of sessions that began other sessions.
@Suite struct EndedSessionTests {
    /// A session that another one asked for, as a web auth token.
    private func next(after token: String, _ apiToken: String, _ test: TestInstallation) async throws -> String {
        let caller = try await test.caller(apiToken, token)
        var context = RequestContext(
            container: TestInstallation.container, environment: .development, scope: .private, account: caller.account,
            requestID: "R")
        context.session = caller.session
        return try await test.installation.webAuthToken(apiToken: apiToken, context)
    }

    private func isLive(_ token: String, _ apiToken: String, _ test: TestInstallation) async -> Bool {
        await code { () async throws(ServiceError) in _ = try await test.caller(apiToken, token) } == nil
    }

    @Test func `a session ends with that which began it, and not the other way round`() async throws {
        let test = try await TestInstallation()
        let apiToken = try await test.prepare()
        let (first, other) = (try await test.signIn(apiToken: apiToken), try await test.signIn(apiToken: apiToken))
        let second = try await next(after: first.token, apiToken, test)
        let third = try await next(after: second, apiToken, test)
        let fourth = try await next(after: other.token, apiToken, test)
        try await test.installation.signOut(third)
        #expect(await isLive(second, apiToken, test))
        let again = try await next(after: second, apiToken, test)
        try await test.installation.signOut(first.token)
        for ended in [second, third, again] { #expect(await !isLive(ended, apiToken, test)) }
        for live in [other.token, fourth] { #expect(await isLive(live, apiToken, test)) }
        let left = try await test.installation.sessionSummaries(ofAccountNamed: "ada@example.org")
        #expect(left.count == 2)
        await test.installation.close()
    }

    @Test(arguments: [false, true])
    func `more sessions of one sign-in than the limit end its own, and none of another sign-in or container`(
        isChain: Bool
    ) async throws {
        let test = try await TestInstallation(KeptMemoryStores())
        let apiToken = try await test.prepare()
        try await test.installation.createContainer("iCloud.other", by: TestInstallation.root)
        let foreign = try await test.installation.createAPIToken(
            container: "iCloud.other", environment: .development, name: "app", origins: [], allowsSignIn: true,
            lifetime: nil, by: TestInstallation.root
        ).token
        let elsewhere = try await test.signIn(apiToken: foreign).token
        let second = try await test.signIn(apiToken: apiToken).token
        let first = try await test.signIn(apiToken: apiToken, keepsSignedIn: true).token
        var begun: [String] = []
        for _ in 0..<Limits.sessionsOfPlace + 5 {
            test.clock.advance(milliseconds: 1000)
            begun.append(try await next(after: isChain ? begun.last ?? first : first, apiToken, test))
        }
        // A server that has no session in its cache.
        let again = try await test.again()
        func isLive(_ token: String) async -> Bool {
            await code { () async throws(ServiceError) in
                _ = try await again.caller(
                    container: TestInstallation.container, environment: .development, apiToken: apiToken, token: token,
                    origin: nil)
            } == nil
        }
        for live in [first, second] + begun.suffix(Limits.sessionsOfPlace - 2) { #expect(await isLive(live)) }
        for ended in begun.prefix(7) { #expect(await !isLive(ended)) }
        let caller = try await again.caller(
            container: "iCloud.other", environment: .development, apiToken: foreign, token: elsewhere, origin: nil)
        #expect(caller.account != nil)
        await again.close()
        await test.installation.close()
    }

    @Test func `a session ends with the first of its chain after those between have expired`() async throws {
        let test = try await TestInstallation()
        let apiToken = try await test.prepare()
        let first = try await test.signIn(apiToken: apiToken, keepsSignedIn: true).token
        let second = try await next(after: first, apiToken, test)
        var last = try await next(after: second, apiToken, test)
        // A chain longer than what sessions remember.
        for _ in 0..<Limits.sessionAncestors { last = try await next(after: last, apiToken, test) }
        for _ in 0..<3 {
            test.clock.advance(milliseconds: Limits.sessionLifetime * 2 / 3)
            #expect(await isLive(last, apiToken, test))
        }
        #expect(await !isLive(second, apiToken, test))
        try await test.installation.signOut(first)
        #expect(await !isLive(last, apiToken, test))
        await test.installation.close()
    }

    @Test func `no session is begun by one that ended meanwhile`() async throws {
        let test = try await TestInstallation()
        let apiToken = try await test.prepare()
        let first = try await test.signIn(apiToken: apiToken).token
        let caller = try await test.caller(apiToken, first)
        try await test.installation.signOut(first)
        var context = RequestContext(
            container: TestInstallation.container, environment: .development, scope: .private, account: caller.account,
            requestID: "R")
        context.session = caller.session
        #expect(
            await code { () async throws(ServiceError) in
                try await test.installation.webAuthToken(apiToken: apiToken, context)
            } == .authenticationRequired)
        await test.installation.close()
    }
}
