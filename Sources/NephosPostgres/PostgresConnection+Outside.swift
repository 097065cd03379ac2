import CPostgres
import NephosStorage

// What a connection does outside of transactions on a store's tables.

extension PostgresConnection {
    /// Runs `body` with a connection beside the pools', for what happens seldom.
    static func open<T>(
        _ address: PostgresAddress, _ options: PostgresOptions, _ body: (PostgresConnection) throws -> T
    ) throws -> T {
        let connection = try PostgresConnection(address, options, damage: nil)
        defer { connection.close() }
        return try body(connection)
    }

    func execute(_ script: String) throws {
        do {
            try link.execute(script: script)
        } catch let error as PostgresError {
            throw error.storageError(while: script.split(separator: "\n").first.map(String.init) ?? "")
        }
    }

    /// The rows of a statement that is asked once, outside of transactions: texts.
    func ask(_ text: String) throws -> [[String]] {
        let result = try rows(of: text)
        let columns = Int(PQnfields(result.handle))
        return (0..<result.rows).map { row in
            (0..<columns).map { String(decoding: PostgresStatement.bytes(result, row, $0), as: UTF8.self) }
        }
    }

    func rows(of text: String) throws -> PostgresLink.Result {
        let (results, failure) = try link.run([.text(text)])
        if let failure { throw failure.storageError(while: text) }
        guard let result = results.last else { throw StorageError(.other, "PostgreSQL gave no result") }
        return result
    }

    /// Runs statements in a transaction of their own, each with its own snapshot, in one round trip.
    func runInTransaction(_ texts: [String]) throws {
        let batch = ["BEGIN ISOLATION LEVEL READ COMMITTED"] + texts + ["COMMIT"]
        let (results, failure) = try link.run(batch.map(PostgresLink.Query.text))
        if let failure {
            if !isBroken { try? link.send([.text("ROLLBACK")]) }
            throw failure.storageError(while: batch[min(results.count, batch.count - 1)])
        }
    }

    /// The stores for which a condition holds, in the order in which they were made.
    func stores(where condition: String) throws -> [StoreID] {
        try ask("SELECT container, environment FROM store WHERE \(condition) ORDER BY id").map {
            StoreID(container: $0[0], environment: $0[1])
        }
    }
}
