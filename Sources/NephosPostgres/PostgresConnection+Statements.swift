import NephosStorage

extension PostgresConnection {
    func prepare(_ sql: SQL) throws -> any SQLStatement {
        if let statement = statements[sql.rawValue] { return statement }
        let statement = PostgresStatement(sql, self, meter)
        statements[sql.rawValue] = statement
        return statement
    }

    /// Runs a statement, or defers it if it has no result.
    func run(_ statement: PostgresStatement) throws -> PostgresRows? {
        let sql = statement.sql
        if let rows = expectation.take(statement) { return rows }
        if sql == .zoneByName, isWriting, expectation.isOf(statement) { return try runBesideZone(statement) }
        let writes = PostgresSQL.writes(sql)
        if isWriting && writes { try requireLines(of: statement) }
        let forFeed = sql == .zoneByName && expectsFeeds
        let query = query(
            "\(sql.rawValue)_\(forFeed ? 1 : 0)", forFeed ? PostgresSQL.zoneForFeed : PostgresSQL.text(sql),
            statement.parameters, needsStore: PostgresSQL.needsStore(sql))
        if sql == .insertRequestKey { mayRepeat() }
        if PostgresSQL.deferred.contains(sql) {
            try enqueue(query)
            return nil
        }
        if writes { mark.hasSent = true }
        guard let result = try perform([query]).last else { return nil }
        if sql == .insertAccount, result.rows > 0 {
            // No other write sees the account before the commit.
            lines.owners.insert(OwnerID(rawValue: store.number(PostgresStatement.integer(result, 0, 0))))
        }
        if isWriting {
            note(result, of: statement)
        } else if forFeed, result.rows > 0, let owner = statement.integers.first {
            let zone = ZoneKey(owner: OwnerID(rawValue: owner), id: PostgresStatement.integer(result, 0, 0))
            lastSequences[zone] = PostgresStatement.integer(result, 0, PostgresSQL.zoneColumnCount)
        }
        return PostgresRows(result)
    }

    func expectFeeds() { expectsFeeds = !isWriting }

    func knownCompletion(of zone: ZoneKey) throws -> Int64? { lastSequences[zone] }

    private func note(_ result: PostgresLink.Result, of statement: PostgresStatement) {
        guard statement.sql == .recordByName || statement.sql == .recordsByNames, statement.integers.count >= 2 else {
            return
        }
        let zone = ZoneKey(owner: OwnerID(rawValue: statement.integers[0]), id: statement.integers[1])
        note(result, of: statement.texts, in: zone)
    }

    /// Caches the records that a lookup by names found, and the names that it did not find.
    func note(_ result: PostgresLink.Result, of names: [String], in zone: ZoneKey) {
        for name in names where found[RecordKey(zone: zone, name: Array(name.utf8))] == nil {
            found[RecordKey(zone: zone, name: Array(name.utf8))] = .some(nil)
        }
        for row in 0..<result.rows {
            let name = Array(PostgresStatement.bytes(result, row, 0))
            found[RecordKey(zone: zone, name: name)] = PostgresStatement.integer(result, row, 1)
        }
    }

    /// - Parameter needsStore: whether the last parameter is the store's number.
    func query(
        _ name: String, _ text: String, _ parameters: PostgresLink.Parameters = .init(), needsStore: Bool = false
    ) -> Queued {
        var query = Queued(name: name, text: text, parameters: parameters)
        if needsStore { query.parameters.add(store.value) }
        return query
    }

    func enqueue(_ query: Queued) throws {
        expectation.end()
        queued.append(query)
        queuedSize += query.parameters.bytes.count
        if queued.count >= 5000 || queuedSize >= 8 << 20 { _ = try perform([]) }
    }

    func clearQueue() {
        queued.removeAll(keepingCapacity: true)
        queuedSize = 0
    }
}
