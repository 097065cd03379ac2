/// A connection whose transactions `WriteQueue` and `ReadConnections` open.
package protocol QueuedConnection: SQLConnection {
    static var dialect: SQLDialect { get }

    /// Runs statements without parameters, and discards their rows.
    func execute(_ script: String) throws

    /// Opens a transaction. A writing transaction takes the write lock at once.
    func begin(writing: Bool) throws
    func commit() throws
    /// The total time in nanoseconds that the connection's commits spent on checkpoints.
    var checkpointNanoseconds: Int64 { get }
    /// Rolls back the open transaction, if any. It cannot fail, because a transaction that cannot be rolled back was
    /// never committed.
    func rollback()
    /// Whether a transaction is open. Some failures end a transaction implicitly.
    var isInTransaction: Bool { get }

    /// The version of the store's tables after their last migration (`[Migration].version`); 0 for a new store.
    func schemaVersion() throws -> Int
    /// Sets the version of the tables in the open transaction.
    func setSchemaVersion(_ version: Int) throws

    /// Closes the connection. No other call may follow.
    func close()
}
