// Loads and writes by sets. Where a statement costs no way to another process, one after another is as good.

extension SQLReader {
    package func records(zone: ZoneKey, named names: [String]) throws -> [RecordRow] {
        try run(.recordByName) { statement in
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

    package func references(
        zone: ZoneKey, to targets: [String], kinds: [ReferenceRow.Kind]
    ) throws -> [ReferenceRow] {
        try run(.referencesTo) { statement in
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

extension SQLTransaction {
    @discardableResult
    package func put(_ records: [RecordRow]) throws -> [RowNumber] { try records.map { try put($0) } }

    package func insert(_ references: [ReferenceRow]) throws {
        try change(.insertReference, for: references) { try $0.bind($1) }
    }

    package func remove(_ references: [ReferenceRow]) throws {
        try change(.removeReference, for: references) { try $0.bind($1) }
    }

    package func insert(_ entries: [IndexEntryRow]) throws {
        try change(.insertIndexEntry, for: entries) { try $0.bind($1).bind($1.record) }
    }

    package func remove(_ entries: [IndexEntryRow]) throws {
        try change(.removeIndexEntry, for: entries) { try $0.bind($1) }
    }

    /// Runs a statement for each of `rows`.
    private func change<Row>(_ sql: SQL, for rows: [Row], _ bind: (any SQLStatement, Row) throws -> Void) throws {
        if rows.isEmpty { return }
        hasWritten = true
        try run(sql) { statement in
            for row in rows {
                try bind(statement, row)
                _ = try statement.step()
                statement.reset()
            }
        }
    }
}
