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
    package static let text: Result<String, any Error> = Result { try start("") }

    /// A cluster in which no other test writes: a write under way anywhere in a cluster holds back what feeds give.
    package static let quietStores: Result<PostgresStores, any Error> = Result {
        try PostgresStores(PostgresAddress(start(".quiet")), options: options(connections: 8))
    }

    /// One in which one test of the service writes at a time.
    private static let aloneAddress = Result { try PostgresAddress(start(".alone")) }

    private static func start(_ suffix: String) throws -> String {
        if let given = environment["NEPHOS_TEST_POSTGRESQL"] { return given }
        guard let directory = environment["NEPHOS_TEST_CLUSTER"].map({ $0 + suffix }) else {
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
            connections: connections, connectMilliseconds: 30_000, acceptsUnsafeServer: true,
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
    /// - Parameter isAlone: whether they are in the cluster in which one test writes at a time, which is
    ///   `oneAtATimeOverPostgreSQL`.
    package static func stores(or other: any StoreProvider, isAlone: Bool = false) -> any StoreProvider {
        guard isChosen else { return other }
        do {
            let address = try (isAlone ? aloneAddress : address).get()
            return try PostgresStores(address, options: options(connections: 4))
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

    /// For tests that take long, or need a cluster that does nothing else.
    package static var whenPostgreSQLIsChosen: ConditionTrait {
        .enabled(if: TestCluster.isChosen && TestCluster.isUsable, "run with NEPHOS_TEST_STORAGE=postgresql")
    }
}
