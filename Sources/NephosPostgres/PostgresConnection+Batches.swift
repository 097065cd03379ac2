import NephosStorage

// The way to the server: what a transaction sends, in batches of which each is waited for once.

extension PostgresConnection {
    /// Sends what begins the transaction, if it has not begun, what was left for later, and these.
    /// - Returns: what these gave.
    func perform(_ last: [Queued]) throws -> [PostgresLink.Result] {
        if isWriting { beforeStatement?() }
        var queries: [Queued] = []
        var stateIndex: Int?
        if !hasBegun {
            queries = beginning()
            if isWriting { stateIndex = queries.count - 1 }
        }
        var versionsIndex: Int?
        if !isWriting && versions.areWanted {
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

    /// Sends statements as one batch with one sync, each after its Parse message where it is not prepared yet.
    /// - Returns: what each gave, and why the first failed that did: nothing behind it ran.
    func exchange(_ queries: [Queued]) throws -> ([PostgresLink.Result], PostgresError?) {
        let (batch, preparations) = messages(of: queries)
        let (results, failure) = try link.run(batch)
        if preparations.isEmpty { return (results, failure) }
        for (index, name) in preparations where index < results.count { prepared.insert(name) }
        return (results.indices.filter { preparations[$0] == nil }.map { results[$0] }, failure)
    }

    /// - Returns: what is sent, and the names of the statements that it prepares, by their places.
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

    /// - Parameter lock: what the statement before gave, which took the last lock.
    private func learnState(_ result: PostgresLink.Result, behind lock: PostgresLink.Result) throws {
        firstSequence = PostgresStatement.integer(result, 0, 0)
        let last = 1 + SharedContent.allCases.count
        let forOwners = PostgresStatement.integer(lock, 0, 0)
        waits?.waitedForLocks(owners: forOwners, stores: PostgresStatement.integer(result, 0, last + 1) - forOwners)
        let isNoted = PostgresStatement.integer(result, 0, last) != 0
        if !isNoted { try beginAnew(for: .lineage) }
        try learnVersions(result, from: 1)
    }

    /// - Parameter column: the first version's.
    private func learnVersions(_ result: PostgresLink.Result, from column: Int) throws {
        versions.learn(result, from: column)
        if versions.areStale { try beginAnew(for: .versions) }
    }

    private func note(_ failure: PostgresError, while action: String) -> StorageError {
        // A second run finds what another write was faster with.
        if failure.isConflict || failure.isRace && findsTakenKeysLater { again = .conflict }
        if failure.isDeadlock { waits?.noteDeadlock() }
        if failure.needsPreparation {
            again = .preparation
            prepareAnew()
            isInTransaction = false
        }
        return failure.storageError(while: action)
    }

    /// Forgets what is prepared, which a failed transaction found stale.
    func prepareAnew() {
        prepared.removeAll()
        try? link.send([.text("ROLLBACK"), .text("DEALLOCATE ALL")])
    }
}
