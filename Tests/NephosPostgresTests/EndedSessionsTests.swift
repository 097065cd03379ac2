import NephosPostgresTesting
import NephosService
import NephosStorage
import NephosWire
import Synchronization
import Testing

@testable import NephosPostgres

/// Sessions of an installation whose database is replaced while a server runs.
@Suite(.overPostgreSQL, .oneAtATime) struct EndedSessionsTests {
    private static let container = "iCloud.org.example.Replaced"
    private static let root = AuditActor(name: "user 0")

    private final class Log: Sendable {
        let lines = Mutex<[String]>([])
    }

    @Test(
        arguments: [
            ("timeline = timeline - 1, synchronous = 0", true), ("system_identifier = 1, synchronous = 1", true),
            ("timeline = timeline - 1, synchronous = 1", false),
        ])
    func `sessions end if the database may lack sign-outs`(_ change: String, _ mayLack: Bool) async throws {
        let name = "nephos-sessions-\(UInt64.random(in: .min ... .max))"
        let options = TestCluster.options(connections: 3)
        let address = try PostgresAddress("\(try TestCluster.text.get()) application_name=\(name)")
        let stores = try PostgresStores(address, options: options)
        let log = Log()
        var environment = ServiceEnvironment.system
        environment.log = { line in log.lines.withLock { $0.append(line) } }
        let sender = try #require(MailSender("no-reply@example.org"))
        let installation = try await Installation.open(
            stores, environment, people: PeopleSettings(mail: .init(sender: sender)))
        try await installation.createContainer(Self.container, by: Self.root)
        _ = try await installation.createAccount(named: "ada", password: nil, by: Self.root)
        _ = try await installation.createAccount(
            named: "ada@example.org", password: nil, isVerified: true, by: Self.root)
        let apiToken = try await installation.createAPIToken(
            container: Self.container, environment: .development, name: "", origins: [], allowsSignIn: true,
            lifetime: nil, by: Self.root)
        func signIn() async throws -> String {
            try await installation.createSession(
                ofAccountNamed: "ada", container: Self.container, environment: .development, label: "", by: Self.root
            ).token
        }
        func isSignedIn(_ token: String) async throws -> Bool {
            do {
                let caller = try await installation.caller(
                    container: Self.container, environment: .development, apiToken: apiToken.token, token: token,
                    origin: nil)
                return caller.account != nil
            } catch let error where error.code == .authenticationRequired {
                return false
            }
        }
        func link() async throws -> String {
            let link = try await installation.makeRecoveryLink(ofAccountNamed: "ada@example.org", by: Self.root)
            return String(link.split(separator: "=").last ?? "")
        }
        let sessions = [try await signIn(), try await signIn()]
        let former = try await link()
        try await installation.requestRecovery(of: "ada@example.org", address: [])
        try replace(change, in: options.prefix, connections: name)
        for session in sessions { #expect(try await isSignedIn(session) == !mayLack) }
        #expect(
            try await installation.sessionSummaries(ofAccountNamed: "ada").count == (mayLack ? 0 : sessions.count))
        #expect(try await isSignedIn(try await signIn()))
        // So do links, and queued mails are not sent.
        #expect((try await installation.link(former) == nil) == mayLack)
        #expect(try await installation.link(try await link()) != nil)
        let sent = Mutex(0)
        try await installation.sendDueMails(
            to: MailOutlet { _ async throws(MailFailure) in sent.withLock { $0 += 1 } })
        #expect(sent.withLock { $0 } == (mayLack ? 0 : 1))
        #expect(
            log.lines.withLock { $0.filter { $0.contains("all sessions of before are over") } }.count
                == (mayLack ? 1 : 0))
        await installation.close()
        stores.close()
    }

    /// Changes what is noted of the database, as it would be had it been written in another one, and ends the
    /// connections, as a database does that is replaced.
    private func replace(_ change: String, in schema: String, connections name: String) throws {
        let other = try PostgresConnection(
            try TestCluster.address.get(), PostgresOptions(acceptsUnsafeServer: true), damage: nil)
        defer { other.close() }
        _ = try other.ask("UPDATE \(schema).installation SET \(change)")
        _ = try other.ask(
            "SELECT pg_terminate_backend(pid, 5000)::text FROM pg_stat_activity WHERE application_name = '\(name)'")
    }
}
