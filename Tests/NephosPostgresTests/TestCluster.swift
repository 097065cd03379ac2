import Foundation
import NephosPostgres
import NephosStorage
import Testing

/// The PostgreSQL cluster of a test run, which `scripts/run-tests` stops at its end. It is started when it is first needed.
enum TestCluster {
    private static let environment = ProcessInfo.processInfo.environment
    /// Where a continuous integration runs a cluster that does not start is a failure, elsewhere the tests are left out.
    private static let isRequired = environment["CI"] != nil

    static let address: Result<PostgresAddress, any Error> = Result {
        if let given = environment["NEPHOS_TEST_POSTGRESQL"] { return try PostgresAddress(given) }
        guard let directory = environment["NEPHOS_TEST_CLUSTER"] else {
            throw Unavailable(description: "run the tests with scripts/run-tests, which stops the cluster after them")
        }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "scripts/postgresql-cluster")
        process.arguments = ["start", directory]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Unavailable(description: "PostgreSQL does not start") }
        return try PostgresAddress(text.trimmingCharacters(in: .whitespacesAndNewlines))
    }

    static let isUsable: Bool = {
        switch address {
        case .success: return true
        case .failure(let error):
            print("The tests over PostgreSQL are left out: \(error)")
            return isRequired
        }
    }()

    struct Unavailable: Error, CustomStringConvertible {
        var description: String
    }

    /// The stores that the tests share; each test has one of its own in it.
    static let stores: Result<PostgresStores, any Error> = Result {
        try PostgresStores(try address.get(), options: PostgresOptions(connections: 24, acceptsUnsafeServer: true))
    }

    /// A store that is empty.
    static func newStore() -> StoreID {
        StoreID(container: "iCloud.\(UUID().uuidString)", environment: "development")
    }
}

extension Trait where Self == ConditionTrait {
    static var overPostgreSQL: ConditionTrait { .enabled(if: TestCluster.isUsable, "PostgreSQL is not to be had") }
}
