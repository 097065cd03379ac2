import Foundation
import NephosTesting
import Synchronization
import Testing

@testable import NephosServer

/// Kills of `nephos serve` while people add passkeys, or sign in for the first time by a provider: what was acknowledged
/// is there, and what was not is whole or absent.
@Suite struct SignInKillTests {
    /// Kills a process once it has counted so many answers.
    private final class Killer: Sendable {
        private let process: Int32
        private let left: Mutex<Int>

        init(_ process: Int32, after answers: Int) {
            self.process = process
            left = Mutex(answers)
        }

        func count() {
            let isLast = left.withLock { left in
                left -= 1
                return left == 0
            }
            if isLast { kill(process, SIGKILL) }
        }
    }

    /// Runs work in lanes, and kills the server amid it, after so many answers of all lanes.
    private func killed<Outcome: Sendable>(
        _ served: ServedInstallation, after answers: Int, lanes: Int,
        _ work: @escaping @Sendable (Int, @escaping @Sendable () -> Void) async -> [Outcome]
    ) async throws -> [Outcome] {
        let server = try #require(served.processID)
        let killer = Killer(server, after: answers)
        let outcomes = await withTaskGroup(of: [Outcome].self) { group in
            for lane in 0..<lanes { group.addTask { await work(lane) { killer.count() } } }
            return await group.reduce(into: []) { $0 += $1 }
        }
        // There may have been fewer answers.
        kill(server, SIGKILL)
        try await served.finishKilled()
        return outcomes
    }

    // MARK: Passkeys

    private struct Registration: Sendable {
        var lane: Int
        var name: String
        var passkey: SoftwarePasskey
        var handle: String
        var isAcknowledged = false
    }

    private static let accounts = ["ada@example.org", "bob@example.org", "eve@example.org"]

    @Test func `kills amid registrations leave each passkey whole or absent, and those that were acknowledged`()
        async throws
    {
        try await withTemporaryDirectory { directory in
            let served = try ServedInstallation(directory.appendingPathComponent("data"), host: "localhost")
            try await served.start()
            for account in Self.accounts {
                try await served.output("accounts", "create", account, input: typed("nine lives of a grey cat"))
            }
            let browsers = Self.accounts.map { _ in ProgramBrowser(served) }
            for (browser, account) in zip(browsers, Self.accounts) {
                let done = try await browser.post(
                    "/sign-in", from: try await browser.get("/sign-in"),
                    "account=\(account)&password=nine+lives+of+a+grey+cat")
                #expect(done.status == 303, "\(done.text)")
            }
            for round in 0..<6 {
                let tried = try await killed(served, after: 1 + round * 5 % 12, lanes: browsers.count) {
                    lane, answered in await Self.register(lane, round, browsers[lane], answered)
                }
                try await served.start()
                for one in tried { try await expectWholeOrAbsent(one, browsers[one.lane], served) }
            }
            try await served.stop()
            try await served.output("verify")
        }
    }

    /// Adds two passkeys, unless the server ends before.
    private static func register(
        _ lane: Int, _ round: Int, _ browser: ProgramBrowser, _ answered: () -> Void
    ) async -> [Registration] {
        var tried: [Registration] = []
        do {
            for number in 0..<2 {
                let page = try await browser.get("/account")
                answered()
                tried.append(
                    Registration(
                        lane: lane, name: "key-\(round)-\(lane)-\(number)", passkey: try SoftwarePasskey(),
                        handle: try PasskeyForm.handle(page)))
                let done = try await add(tried[number], browser, page)
                tried[number].isAcknowledged = done.status == 303
                answered()
            }
        } catch {
            // The server is gone.
        }
        return tried
    }

    private static func add(
        _ one: Registration, _ browser: ProgramBrowser, _ page: TestResponse
    ) async throws -> TestResponse {
        try await browser.post(
            "/account", from: page, try PasskeyForm.made(one.passkey, page, browser.origin, name: one.name))
    }

    private func expectWholeOrAbsent(
        _ one: Registration, _ browser: ProgramBrowser, _ served: ServedInstallation
    ) async throws {
        let isListed = try await served.output("accounts", "passkeys", Self.accounts[one.lane]).contains(one.name)
        #expect(isListed || !one.isAcknowledged, "\(one.name) is lost")
        #expect(try await signsIn(one, served) == isListed, "\(one.name)")
        if isListed { return }
        // An account has a handle from its first passkey on.
        let page = try await browser.get("/account")
        var again = one
        again.handle = try PasskeyForm.handle(page)
        let done = try await Self.add(again, browser, page)
        #expect(done.status == 303, "\(done.text)")
        #expect(try await signsIn(again, served))
    }

    private func signsIn(_ one: Registration, _ served: ServedInstallation) async throws -> Bool {
        let browser = ProgramBrowser(served)
        let page = try await browser.get("/sign-in?return=/account")
        let done = try await browser.post(
            "/sign-in?return=/account", from: page,
            try PasskeyForm.signed(one.passkey, one.handle, page, browser.origin))
        guard done.status == 303 else { return false }
        return try await browser.get("/account").text.contains("<h1>\(Self.accounts[one.lane])</h1>")
    }

    // MARK: Providers

    @Test func `kills amid first sign-ins by a provider leave one account for each person, and acknowledged ones`()
        async throws
    {
        let provider = try ServedProvider()
        try await withTemporaryDirectory { directory in
            let served = try ServedInstallation(
                directory.appendingPathComponent("data"),
                storage: try provider.arguments(in: directory))
            try await served.start()
            for round in 0..<6 {
                let browsers = (0..<3).map { _ in ProgramBrowser(served) }
                let tried = try await killed(served, after: 3 + round * 2 % 7, lanes: 3) { lane, answered in
                    let name = "p\(round)-\(lane)"
                    let isIn = try? await Self.signIn(name, provider.lying, browsers[lane], answered)
                    return [(name: name, isAcknowledged: isIn == true)]
                }
                try await served.start()
                for one in tried { try await expectOneAccount(one.name, one.isAcknowledged, provider.lying, served) }
            }
            try await served.stop()
            try await served.output("verify")
        }
        await provider.server.stop()
    }

    /// Signs a person in, from the page to the callback.
    private static func signIn(
        _ name: String, _ provider: LyingProvider, _ browser: ProgramBrowser, _ answered: () -> Void
    ) async throws -> Bool {
        let page = try await browser.get("/sign-in?return=/account")
        answered()
        let start = try await browser.post("/account/providers/start/own", from: page, "return=/account")
        answered()
        guard let link = start.text.firstMatch(of: /<a href="(http:[^"]+)">Continue at Our own/)?.1 else {
            throw TestFailure("no link: \(start.text)")
        }
        let response = provider.authorize(
            String(link).replacing("&amp;", with: "&"), as: .init(name, "\(name)@example.org", isVerified: true))
        let query = response.map { name, value in
            "\(name)=\(value.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")"
        }
        let done = try await browser.get("/account/providers/callback/own?\(query.joined(separator: "&"))")
        answered()
        return done.status == 303
    }

    private func expectOneAccount(
        _ name: String, _ isAcknowledged: Bool, _ provider: LyingProvider, _ served: ServedInstallation
    ) async throws {
        /// The lines of the person's accounts, each with its ID.
        func accounts() async throws -> [Substring] {
            try await served.output("accounts", "list").split(separator: "\n").filter { $0.contains("\(name)@") }
        }
        let before = try await accounts()
        #expect(before.count <= 1 && (before.count == 1 || !isAcknowledged), "\(name)")
        let browser = ProgramBrowser(served)
        #expect(try await Self.signIn(name, provider, browser, {}), "\(name)")
        #expect(try await browser.get("/account").text.contains("<h1>\(name)@example.org</h1>"))
        let after = try await accounts()
        #expect(after.count == 1 && (before.isEmpty || after == before), "\(name)")
    }
}
