// Loads and writes of several rows. On a connection without round trips, single statements are as fast. A remote
// connection pipelines statements, so that a statement does not wait for the outcome of the one before it.

extension StorageReader {
    /// The existing records and tombstones with these names, in any order. Costs one round trip.
    package func records(zone: ZoneKey, named names: [String]) throws -> [RecordRow] {
        if names.isEmpty { return [] }
        if type(of: connection).isRemote && names.count > 1 {
            return try self.rows(
                .recordsByNames, bind: { try $0.bind(zone).bind(names) }, read: { visited(zone, $0).row })
        }
        return try run(.recordByName) { statement in
            var rows: [RecordRow] = []
            rows.reserveCapacity(names.count)
            for name in names {
                try statement.bind(zone).bind(name)
                if try statement.step() { rows.append(visited(zone, statement).row) }
                statement.reset()
            }
            return rows
        }
    }

    /// All edges of the given kinds to any of `targets`, in any order. Costs one round trip.
    package func references(
        zone: ZoneKey, to targets: [String], kinds: [ReferenceRow.Kind]
    ) throws -> [ReferenceRow] {
        if type(of: connection).isRemote {
            if targets.isEmpty { return [] }
            return try self.rows(.referencesToAny) {
                try $0.bind(zone).bind(targets)
            } read: { row in
                ReferenceRow.Kind(rawValue: row.integer(1)).map {
                    ReferenceRow(zone: zone, target: row.text(0), kind: $0, source: row.text(2))
                }
            }.compactMap { $0 }.filter { kinds.contains($0.kind) }
        }
        return try run(.referencesTo) { statement in
            var rows: [ReferenceRow] = []
            for target in targets {
                for kind in Set(kinds) {
                    try statement.bind(zone).bind(target).bind(kind.rawValue).bind(limit: .max)
                    while try statement.step() {
                        rows.append(ReferenceRow(zone: zone, target: target, kind: kind, source: statement.text(0)))
                    }
                    statement.reset()
                }
            }
            return rows
        }
    }
}

extension StorageTransaction {
    /// Writes the records in order, each as `put(_:)` does.
    /// - Returns: the numbers of the records.
    @discardableResult
    package func put(_ records: [RecordRow]) throws -> [RowNumber] { try records.map { try put($0) } }

    /// Adds edges. Idempotent. The next method removes edges.
    package func insert(_ references: [ReferenceRow]) throws {
        try change(.insertReference, for: references) { try $0.bind($1) }
    }

    package func remove(_ references: [ReferenceRow]) throws {
        try change(.removeReference, for: references) { try $0.bind($1) }
    }

    /// Removes all edges from any of `sources`.
    package func removeReferences(zone: ZoneKey, from sources: [String]) throws {
        if sources.isEmpty { return }
        try change(.removeReferencesFromAny) { try $0.bind(zone).bind(sources) }
    }

    /// Adds index entries. Idempotent. Many entries are first sorted in index order. The next method removes entries.
    package func insert(_ entries: [IndexEntryRow]) throws {
        try change(.insertIndexEntry, for: entries) { try $0.bind($1).bind($1.record) }
    }

    package func remove(_ entries: [IndexEntryRow]) throws {
        try change(.removeIndexEntry, for: entries) { try $0.bind($1) }
    }

    /// Runs a statement once for each of `rows`.
    private func change<Row>(_ sql: SQL, for rows: [Row], _ bind: (any SQLStatement, Row) throws -> Void) throws {
        if rows.isEmpty { return }
        hasWritten = true
        writtenRows += rows.count
        try run(sql) { statement in
            for row in rows {
                try bind(statement, row)
                _ = try statement.step()
                statement.reset()
            }
        }
    }
}
