import NephosPostgresTesting
import NephosStorage
import Synchronization
import Testing

@testable import NephosPostgres

/// What a PostgreSQL server sends unasked.
@Suite(.overPostgreSQL) struct NoticeTests {
    private final class Lines: Sendable {
        let all = Mutex<[String]>([])
    }

    @Test func `the reason for which the server ends an idle session is a line of the log`() throws {
        let lines = Lines()
        var options = TestCluster.options(connections: 1)
        options.log = { line in lines.all.withLock { $0.append(line) } }
        let address = try TestCluster.address.get()
        let connection = try PostgresConnection(address, options, damage: nil)
        defer { connection.close() }
        let process = try #require(try connection.ask("SELECT pg_backend_pid()::text").first?.first)
        try PostgresConnection.open(address, TestCluster.options(connections: 1)) {
            _ = try $0.ask("SELECT pg_terminate_backend(\(process), 5000)::text")
        }
        #expect(try connection.link.waitForInput(milliseconds: 5000))
        _ = try? connection.link.takeNotifications()
        let logged = lines.all.withLock { $0 }
        #expect(logged.count == 1 && logged[0].hasPrefix("PostgreSQL: FATAL: "), "\(logged)")
        #expect(!logged.joined().contains("\n"))
    }
}
