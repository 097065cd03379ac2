import Foundation
package import NephosPostgres
package import NephosStorage
package import Testing

/// The PostgreSQL cluster of a test run, which `scripts/run-tests` stops at its end. It is started when it is first needed.
package enum TestCluster {
    private static let environment = ProcessInfo.processInfo.environment
    /// Whether a cluster that does not start is a failure; otherwise its tests are left out.
    private static let isRequired = environment["NEPHOS_REQUIRE_POSTGRESQL"] != nil

    package static let address: Result<PostgresAddress, any Error> = text.flatMap { text in
        Result { try PostgresAddress(text) }
    }

    /// The address as a user gives it.
    package static let text: Result<String, any Error> = Result {
        if let given = environment["NEPHOS_TEST_POSTGRESQL"] { return given }
        guard let directory = environment["NEPHOS_TEST_CLUSTER"] else {
            throw Unavailable(description: "run the tests with scripts/run-tests, which stops the cluster after them")
        }
        try script("start", directory)
        let text = try String(contentsOfFile: "\(directory)/address", encoding: .utf8)
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// A directory for a cluster of a test's own, which `scripts/run-tests` stops at its end.
    package static func directory(_ suffix: String) throws -> String {
        guard let directory = environment["NEPHOS_TEST_CLUSTER"] else {
            throw Unavailable(description: "run the tests with scripts/run-tests, which stops the clusters after them")
        }
        return "\(directory).\(suffix)"
    }

    /// Runs `scripts/postgresql-cluster`. Blocks.
    package static func script(_ arguments: String...) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "scripts/postgresql-cluster")
        process.arguments = arguments
        // Not a pipe, which the server would keep open.
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw Unavailable(description: "scripts/postgresql-cluster \(arguments.joined(separator: " ")) failed")
        }
    }

    /// Says once why tests are left out, if they are.
    package static let isUsable: Bool = {
        switch address {
        case .success: return true
        case .failure(let error):
            print("The tests over PostgreSQL are left out: \(error)")
            return isRequired
        }
    }()

    private struct Unavailable: Error, CustomStringConvertible {
        var description: String
    }

    /// The stores that tests share; each has one of its own in it.
    package static let stores: Result<PostgresStores, any Error> = Result {
        try PostgresStores(try address.get(), options: options(connections: 24))
    }

    /// Options of stores of their own: no other server has them open. A busy machine makes tests wait longer than servers
    /// should.
    package static func options(connections: Int) -> PostgresOptions {
        var options = PostgresOptions(
            connections: connections, connectMilliseconds: 30_000, statementMilliseconds: 120_000,
            acceptsUnsafeServer: true,
            prefix: "t\(UInt64.random(in: .min ... .max))")
        options.idleMilliseconds = 60_000
        return options
    }

    /// A store that is empty.
    package static func newStore() -> StoreID {
        StoreID(container: "iCloud.\(UUID().uuidString)", environment: "development")
    }

    /// Whether tests of the service run over PostgreSQL.
    package static let isChosen = environment["NEPHOS_TEST_STORAGE"] == "postgresql"

    /// Stores of a cloud of its own, a few connections to it; `other` where PostgreSQL was not chosen.
    package static func stores(or other: any StoreProvider) -> any StoreProvider {
        guard isChosen else { return other }
        do {
            return try PostgresStores(try address.get(), options: options(connections: 4))
        } catch {
            Issue.record(error)
            return other
        }
    }
}

extension Trait where Self == ConditionTrait {
    package static var overPostgreSQL: ConditionTrait {
        .enabled(if: TestCluster.isUsable, "PostgreSQL is not to be had")
    }
}
