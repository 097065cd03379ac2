import CPostgres
import NephosStorage

// What a connection does outside of transactions on a store's tables.

extension PostgresConnection {
    func execute(_ script: String) throws {
        do {
            try link.execute(script: script)
        } catch let error as PostgresError {
            throw error.storageError(while: script.split(separator: "\n").first.map(String.init) ?? "")
        }
    }

    /// The rows of a statement that is asked once, outside of transactions: texts.
    func ask(_ text: String) throws -> [[String]] {
        let (results, failure) = try link.run([.text(text)])
        if let failure { throw failure.storageError(while: text) }
        return results.last.map(Self.texts) ?? []
    }

    /// Runs statements in a transaction of their own, each with its own snapshot, in one round trip.
    /// - Returns: the rows of the last: texts.
    func askInTransaction(_ texts: [String]) throws -> [[String]] {
        let batch = ["BEGIN ISOLATION LEVEL READ COMMITTED"] + texts + ["COMMIT"]
        let (results, failure) = try link.run(batch.map(PostgresLink.Query.text))
        if let failure {
            if !isBroken { try? link.send([.text("ROLLBACK")]) }
            throw failure.storageError(while: batch[min(results.count, batch.count - 1)])
        }
        return results.dropLast().last.map(Self.texts) ?? []
    }

    private static func texts(_ result: PostgresLink.Result) -> [[String]] {
        let columns = Int(PQnfields(result.handle))
        return (0..<result.rows).map { row in
            (0..<columns).map { String(decoding: PostgresStatement.bytes(result, row, $0), as: UTF8.self) }
        }
    }

    /// Waits for notifications of channels that this connection listens to.
    /// - Returns: false where the time is over, or `other` has something to read.
    func waitForNotifications(orFor other: Int32, milliseconds: Int) throws -> Bool {
        try link.waitForInput(orFor: other, milliseconds: milliseconds)
    }

    /// The payloads of the notifications that came.
    func takeNotifications() throws -> [String] { try link.takeNotifications() }
}
