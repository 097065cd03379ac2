import NephosStorage

// A transaction's statements are sent in batches, with one round trip each.

extension PostgresConnection {
    /// Sends a batch: the transaction's first statements unless it has begun, the deferred statements, and `last`.
    /// - Returns: the results of `last`.
    func perform(_ last: [Queued]) throws -> [PostgresLink.Result] {
        if isWriting { beforeStatement?() }
        var queries: [Queued] = []
        var stateIndex: Int?
        if !hasBegun {
            queries = beginning()
            if isWriting { stateIndex = queries.count - 1 }
        }
        var versionsIndex: Int?
        // With a read's first statements, as the store may have been removed.
        if !isWriting && (versions.areWanted || !hasBegun && versions[.catalog] == nil) {
            versionsIndex = queries.count
            queries.append(query("versions", PostgresSQL.versions, needsStore: true))
        }
        queries += queued + last
        hasBegun = true
        if queued.count > mark.queued { mark.hasSent = true }
        (mark.queued, mark.queuedSize) = (0, 0)
        clearQueue()
        let (results, failure) = try exchange(queries)
        if let failure {
            hasFailed = true
            let failed = queries.indices.contains(results.count) ? queries[results.count].text : nil
            throw note(failure, while: failed ?? "ending a transaction")
        }
        if let stateIndex { try learnState(results[stateIndex], behind: results[stateIndex - 1]) }
        if let versionsIndex { try learnVersions(results[versionsIndex], from: 0) }
        return last.isEmpty ? [] : Array(results.suffix(last.count))
    }

    /// Sends statements as one batch with one sync, and prepares each that is not prepared.
    /// - Returns: the results, and the error of the first statement that failed. Later statements did not run.
    func exchange(_ queries: [Queued]) throws -> ([PostgresLink.Result], PostgresError?) {
        let (batch, preparations) = messages(of: queries)
        let (results, failure) = try link.run(batch)
        if preparations.isEmpty { return (results, failure) }
        for (index, name) in preparations where index < results.count { prepared.insert(name) }
        return (results.indices.filter { preparations[$0] == nil }.map { results[$0] }, failure)
    }

    /// - Returns: the batch, and the names of the statements that it prepares, by index.
    func messages(of queries: [Queued]) -> ([PostgresLink.Query], [Int: String]) {
        var batch: [PostgresLink.Query] = []
        var preparations: [Int: String] = [:]
        for query in queries {
            if !prepared.contains(query.name), !preparations.values.contains(query.name) {
                preparations[batch.count] = query.name
                batch.append(.prepare(name: query.name, text: query.text))
            }
            batch.append(.run(name: query.name, query.parameters))
        }
        return (batch, preparations)
    }

    /// - Parameter lock: the result of the previous statement, which took the last lock.
    private func learnState(_ result: PostgresLink.Result, behind lock: PostgresLink.Result) throws {
        firstSequence = PostgresStatement.integer(result, 0, 0)
        let last = 1 + SharedContent.allCases.count
        let forOwners = PostgresStatement.integer(lock, 0, 0)
        waits?.waitedForLocks(owners: forOwners, stores: PostgresStatement.integer(result, 0, last + 1) - forOwners)
        let isNoted = PostgresStatement.integer(result, 0, last) != 0
        if !isNoted { try retry(for: .lineage) }
        try learnVersions(result, from: 1)
    }

    /// - Parameter column: the column of the first version.
    func learnVersions(_ result: PostgresLink.Result, from column: Int) throws {
        versions.learn(result, from: column)
        if versions[.catalog] == PostgresStores.removedVersion {
            throw StorageError(.removed, "the store is being removed")
        }
        if versions.areStale { try retry(for: .versions) }
    }

    private func note(_ failure: PostgresError, while action: String) -> StorageError {
        // A retry finds the row that the other write inserted.
        if failure.isConflict || failure.isRace && findsTakenKeysLater { retryReason = .conflict }
        if failure.isLockTimeout && isWriting { retryReason = .lock }
        if failure.isDeadlock { waits?.noteDeadlock() }
        if failure.needsPreparation {
            retryReason = .preparation
            prepareAnew()
            isInTransaction = false
        }
        return failure.storageError(while: action)
    }

    /// Deallocates the prepared statements, which are stale.
    func prepareAnew() {
        prepared.removeAll()
        try? link.send([.text("ROLLBACK"), .text("DEALLOCATE ALL")])
    }
}
