import NephosPostgres
import NephosPostgresTesting
import NephosSQLite
import NephosStorage
import NephosWire
import Synchronization
import Testing

@testable import NephosService

/// The queue of mails, with mail servers that fail.
@Suite struct MailQueueTests {
    /// A mail server that fails as the test says, and keeps what it took.
    private final class MailServer: Sendable {
        let failure = Mutex<MailFailure?>(nil)
        let taken = Mutex<[MailMessage]>([])

        var outlet: MailOutlet {
            MailOutlet { mail async throws(MailFailure) in
                if let failure = self.failure.withLock({ $0 }) { throw failure }
                self.taken.withLock { $0.append(mail) }
            }
        }

        var bodies: [String] { taken.withLock { $0.map(\.body) } }
    }

    private static let (ada, bob) = ("ada@example.org", "bob@example.org")
    private let server = MailServer()

    private func test(_ stores: any StoreProvider = MemoryStores(), failsForLog: Bool = true) async throws
        -> TestInstallation
    {
        let test = try await TestInstallation(stores, failsForLog: failsForLog, people: TestInstallation.people())
        for name in [Self.ada, Self.bob] {
            _ = try await test.installation.createAccount(
                named: name, password: TestInstallation.password, isVerified: true, by: TestInstallation.root)
        }
        return test
    }

    private func queued(_ test: TestInstallation) async throws -> [InstallationEntry] {
        try await test.installation.read { try $0.installationEntries(.queuedMail, after: "", limit: 100) }
    }

    @Test func `mails go on when a clock that was ahead is right`() async throws {
        let test = try await test()
        let (now, later) = (test.clock.now, test.clock.now + 24 * 60 * 60 * 1000)
        func take(at time: Int64) async throws -> Bool {
            try await test.installation.write { try MailAllowance.take(recipient: Self.ada, at: time, in: $0) }
        }
        for _ in 0..<Limits.mailsOfRecipient { #expect(try await take(at: later)) }
        #expect(try await !take(at: later))
        #expect(try await take(at: now))
    }

    @Test(arguments: [
        ("jürgen@example.org", "'ü' is not"), ("ada@müller.example", "begins with xn--"), ("ada", "no e-mail address"),
        ("ada@", "no e-mail address"),
    ])
    func `a sign-up by an address to which no mail can go is refused, and says why`(
        address: String, reason: String
    ) async throws {
        var people = try TestInstallation.people()
        people.signUp = .open
        let test = try await TestInstallation(people: people)
        let refusal = await #expect(throws: ServiceError.self) {
            try await test.installation.requestSignUp(of: address, continuation: nil, address: [])
        }
        #expect(refusal?.reason.contains(reason) == true, "\(refusal as Any)")
        #expect(try await queued(test).isEmpty)
        await test.installation.close()
    }

    @Test(.overPostgreSQL) func `two servers send each mail once`() async throws {
        let stores = try PostgresStores(TestCluster.address.get(), options: TestCluster.options(connections: 4))
        let test = try await test(stores)
        let other = try await test.again()
        let servers = [test.installation, other]
        for index in 0..<20 {
            try await servers[index % 2].requestRecovery(
                of: index % 2 == 0 ? Self.ada : Self.bob, address: [192, 0, 2, UInt8(index)])
        }
        let outlet = server.outlet
        try await withThrowingTaskGroup(of: Void.self) { group in
            for installation in servers {
                group.addTask { while try await installation.sendDueMails(to: outlet) > 0 {} }
            }
            try await group.waitForAll()
        }
        // Five an hour to each.
        #expect(server.bodies.count == 10 && Set(server.bodies).count == 10)
        #expect(try await queued(test).isEmpty)
        await other.close()
        await test.installation.close()
        stores.close()
    }

    @Test func `sign-ups from many networks have one limit, which recoveries do not use up`() async throws {
        let test = try await test()
        func signUp(_ index: Int) async throws {
            try await test.installation.requestSignUp(
                of: "a\(index)@example.org", continuation: nil,
                address: [198, 51, UInt8(index / 250), UInt8(index % 250)])
            while try await test.installation.sendDueMails(to: server.outlet) > 0 {}
        }
        for index in 0..<Limits.mailsOfSignUps { try await signUp(index) }
        let error = await #expect(throws: ServiceError.self) { try await signUp(Limits.mailsOfSignUps) }
        #expect(error?.code == .throttled && error?.retryAfter == 3600)
        try await test.installation.requestRecovery(of: Self.ada, address: [192, 0, 2, 1])
        test.clock.advance(milliseconds: 3_600_000)
        try await signUp(Limits.mailsOfSignUps)
        #expect(server.taken.withLock { $0.count } == Limits.mailsOfSignUps + 2)
        await test.installation.close()
    }

    @Test func `a mail that fails is tried again later and later, and given up after a day`() async throws {
        let test = try await test(failsForLog: false)
        try await test.installation.requestRecovery(of: Self.ada, address: [])
        server.failure.withLock { $0 = MailFailure("no connection") }
        var attempts: [Int64] = []
        let start = test.clock.now
        while let entry = try await queued(test).first, attempts.count < 100 {
            let due = try #require(QueuedMail.parts(of: entry.name)).dueAt
            if due > test.clock.now {
                #expect(try await test.installation.sendDueMails(to: server.outlet) == 0)
                test.clock.advance(milliseconds: due - test.clock.now)
            }
            attempts.append(test.clock.now - start)
            _ = try await test.installation.sendDueMails(to: server.outlet)
        }
        #expect(attempts.prefix(4) == [0, 60_000, 180_000, 420_000])
        #expect(attempts.count > 20 && attempts.count < 40 && attempts.allSatisfy { $0 < 86_400_000 })
        server.failure.withLock { $0 = nil }
        #expect(try await test.installation.sendDueMails(to: server.outlet) == 0)
        await test.installation.close()
    }

    @Test func `a mail that was refused for good is given up, and another one goes on`() async throws {
        let test = try await test(failsForLog: false)
        try await test.installation.requestRecovery(of: Self.ada, address: [])
        server.failure.withLock { $0 = MailFailure("refused", isPermanent: true) }
        try await test.installation.sendDueMails(to: server.outlet)
        #expect(try await queued(test).isEmpty)
        server.failure.withLock { $0 = nil }
        try await test.installation.requestRecovery(of: Self.bob, address: [])
        try await test.installation.sendDueMails(to: server.outlet)
        #expect(server.taken.withLock { $0.map(\.to.text) } == [Self.bob])
        await test.installation.close()
    }

    @Test func `a mail of a server that was killed is sent by another`() async throws {
        let test = try await test(failsForLog: false)
        try await test.installation.requestRecovery(of: Self.ada, address: [])
        let outlet = server.outlet
        let (installation, clock) = (test.installation, test.clock)
        // While it is sent, it is not taken again; after the lease it is.
        let slow = MailOutlet { _ async throws(MailFailure) in
            #expect((try? await installation.sendDueMails(to: outlet)) == 0)
            clock.advance(milliseconds: Limits.mailLease)
            #expect((try? await installation.sendDueMails(to: outlet)) == 1)
        }
        try await test.installation.sendDueMails(to: slow)
        #expect(server.bodies.count == 1)
        #expect(try await queued(test).isEmpty)
        await test.installation.close()
    }

    @Test func `the store has no secret of a link, queued or sent`() async throws {
        let test = try await test()
        try await test.installation.requestRecovery(of: Self.ada, address: [])
        try await test.installation.requestSignUp(of: "eve@example.org", continuation: nil, address: [])
        func stored() async throws -> String {
            try await test.installation.read { reader in
                try InstallationEntry.Kind.allCases.flatMap { kind in
                    try reader.installationEntries(kind, after: "", limit: 1000).map {
                        "\($0.name) \(String(decoding: $0.body, as: UTF8.self))"
                    }
                }.joined(separator: "\n")
            }
        }
        let before = try await stored()
        #expect(try await test.installation.read { try $0.installationEntries(.link, after: "", limit: 1).isEmpty })
        try await test.installation.sendDueMails(to: server.outlet)
        let after = try await stored()
        let secrets = server.bodies.compactMap { $0.firstMatch(of: /token=([\w-]+)/).map { String($0.1) } }
        #expect(secrets.count == 2)
        for secret in secrets { #expect(!before.contains(secret) && !after.contains(secret)) }
        await test.installation.close()
    }

    @Test func `the audit names accounts, and no address that was typed`() async throws {
        let test = try await test()
        try await test.installation.requestRecovery(of: Self.ada, address: [])
        try await test.installation.requestSignUp(of: "eve@example.org", continuation: nil, address: [])
        _ = try await test.installation.invite("zoe@example.org", by: TestInstallation.root)
        try await test.installation.sendDueMails(to: server.outlet)
        for body in server.bodies {
            let secret = String(try #require(body.firstMatch(of: /token=([\w-]+)/)).1)
            switch try #require(try await test.installation.link(secret)).purpose {
            case .recovery:
                try await test.installation.recover(byLink: secret, password: "another long secret", address: [])
            default:
                _ = try await test.installation.signUp(byLink: secret, password: "another long secret", address: [])
            }
        }
        let events = try await test.installation.read { try $0.entries(AuditedEvent.self).map { "\($0.value)" } }
        for event in ["password set", "invitation made", "address verified", "signed in"] {
            #expect(events.contains { $0.contains(event) }, "\(event)")
        }
        #expect(!events.contains { $0.contains("@") }, "\(events)")
        await test.installation.close()
    }

    @Test func `a mail about an account that is gone is not sent`() async throws {
        let test = try await test()
        try await test.installation.setPassword(
            "another long secret", ofAccountNamed: Self.ada, by: TestInstallation.root)
        try await test.installation.requestRecovery(of: Self.ada, address: [])
        try await test.installation.setPassword(
            "another long secret", ofAccountNamed: Self.bob, by: TestInstallation.root)
        _ = try await test.installation.removeAccount(named: Self.ada, by: TestInstallation.root)
        try await test.installation.sendDueMails(to: server.outlet)
        #expect(server.taken.withLock { $0.map(\.to.text) } == [Self.bob])
        // The name is free, and the address nobody's.
        let again = try await test.installation.createAccount(named: Self.ada, password: nil, by: TestInstallation.root)
        #expect(again.isVerified == false)
        await test.installation.close()
    }
}
