import NephosPostgresTesting
import Testing

@testable import NephosPostgres

/// A database of its own, without tables, whose connection can have programs wait.
struct EmptyDatabase {
    let address: String
    private let connection: PostgresConnection

    init() throws {
        let name = "moved_\(UInt32.random(in: .min ... .max))"
        let text = try TestCluster.text.get()
        let host = try #require(text.firstMatch(of: /host=(\S+)/)).1
        let options = PostgresOptions(acceptsUnsafeServer: true)
        try PostgresConnection.open(try PostgresAddress(text), options) {
            try $0.execute("CREATE DATABASE \(name) ENCODING 'UTF8' TEMPLATE template0")
        }
        address = "postgresql://nephos@/\(name)?host=\(host)"
        connection = try PostgresConnection(try PostgresAddress(address), options, damage: nil)
    }

    /// Has what copies a store wait before it.
    func hold(store: Int) throws { try call("pg_advisory_lock", store) }

    func release(store: Int) throws { try call("pg_advisory_unlock", store) }

    /// Has what makes the tables wait before it.
    func holdTables() throws { try callTables("pg_advisory_lock") }

    func releaseTables() throws { try callTables("pg_advisory_unlock") }

    private func callTables(_ function: String) throws {
        let key = PostgresAddress.lockKey("tables of nephos")
        _ = try connection.ask("SELECT \(function)(\(key.0), \(key.1))::text")
    }

    /// Makes the tables, and has what reads or writes the list of stores wait.
    func holdStores() throws {
        let options = PostgresOptions(acceptsUnsafeServer: true)
        try PostgresStores(try PostgresAddress(address), options: options).close()
        try connection.execute("BEGIN; LOCK TABLE nephos.store IN ACCESS EXCLUSIVE MODE")
    }

    func releaseStores() throws { try connection.execute("ROLLBACK") }

    /// Whether anything waits for the list of stores.
    var isWaitedFor: Bool {
        get throws {
            try !connection.ask(
                "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'nephos.store'::regclass"
            ).isEmpty
        }
    }

    var hasTables: Bool {
        get throws { try !connection.ask("SELECT 1 FROM pg_namespace WHERE nspname = 'nephos'").isEmpty }
    }

    private func call(_ function: String, _ store: Int) throws {
        _ = try connection.ask("SELECT \(function)(\(PostgresAddress.lockKey("nephos").1), \(store))::text")
    }
}
