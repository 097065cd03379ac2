import NephosStorage

// A transaction runs the bodies of one or several writes.

extension PostgresConnection {
    /// A savepoint of the connection's state before a body of a group.
    struct BodyMark {
        var queued = 0
        var queuedSize = 0
        var found: [RecordKey: Int64?] = [:]
        var writtenZones: Set<ZoneKey> = []
        /// Whether some of the body's changes were sent.
        var hasSent = false
    }

    /// The change sequences of the transaction.
    func sequences() -> SequenceCounter {
        SequenceCounter { [self] in
            let first = try takeFirstSequence()
            return (first, first + PostgresSQL.sequencesPerTransaction - 1)
        }
    }

    /// Runs the body of a write.
    func run<T>(_ body: (StorageTransaction) throws -> T, _ sequences: SequenceCounter) throws -> T {
        let transaction = StorageTransaction(self, sequence: sequences)
        defer { transaction.invalidate() }
        let value = try body(transaction)
        // An operation that failed fails the write, even if the body went on.
        if let failure = transaction.failure { throw failure }
        try throwIfRetrying()
        for (zone, sequence) in transaction.changedZones.sorted(by: { $0.key.id < $1.key.id }) {
            try noteChange(zone, sequence)
        }
        return value
    }

    func beginBody() throws {
        try sendAhead()
        mark = BodyMark(queued: queued.count, queuedSize: queuedSize, found: found, writtenZones: writtenZones)
        isRepeatable = false
    }

    /// Discards the changes of the last body.
    /// - Returns: false if some were sent, or if a statement failed. The transaction is then to be rolled back.
    func undoBody() -> Bool {
        if mark.hasSent || hasFailed || isBroken { return false }
        queued.removeSubrange(mark.queued...)
        (queuedSize, found, writtenZones) = (mark.queuedSize, mark.found, mark.writtenZones)
        expectation = ZoneExpectation()
        retryReason = nil
        return true
    }

    /// Sends many deferred changes without waiting for their results, so that PostgreSQL executes them while the next body
    /// runs. If one fails, the commit fails, and each body is retried alone.
    private func sendAhead() throws {
        guard hasBegun, queued.count >= Self.sentAhead else { return }
        let (batch, preparations) = messages(of: queued)
        try link.send(batch)
        prepared.formUnion(preparations.values)
        clearQueue()
    }

    private static let sentAhead = 64
}
