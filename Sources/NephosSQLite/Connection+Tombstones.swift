import NephosStorage

/// Statements that put a tombstone in the place of a record.
struct TombstoneStatements {
    let remove: Statement
    let insert: Statement

    func finalize() {
        remove.finalize()
        insert.finalize()
    }
}

extension Connection {
    /// The size of a record's fields from which its row is removed and inserted again, so that its page is freed. The rows of
    /// smaller records are about as large as tombstones.
    private static let freedSize = 256

    /// Puts a tombstone in the place of a large record, under the same number: SQLite merges pages only after a row is
    /// removed, not after an update that makes a row smaller. The record's page would stay as long as the tombstone.
    func put(_ record: RecordRow) throws -> RowNumber? {
        guard record.isDeleted, record.number.value > 0 else { return nil }
        let statements = try tombstoneStatements ?? makeTombstoneStatements()
        tombstoneStatements = statements
        defer { statements.remove.reset() }
        try statements.remove.bind(record.number.value).bind(owner: record.zone.owner.rawValue).bind(record.zone.id)
            .bind(record.name)
        _ = try statements.remove.step()
        guard statements.remove.changes > 0 else { return nil }
        defer { statements.insert.reset() }
        try statements.insert.bind(record.number.value).bind(owner: record.zone.owner.rawValue).bind(record.zone.id)
            .bind(record.name).bind(contentOf: record)
        _ = try statements.insert.step()
        return record.number
    }

    private func makeTombstoneStatements() throws -> TombstoneStatements {
        let columns = SQL.contentColumns
        return TombstoneStatements(
            remove: try prepare(
                text: """
                    DELETE FROM record
                    WHERE id = $1 AND owner = $2 AND zone = $3 AND name = $4 AND length(fields) > \(Self.freedSize)
                    """),
            insert: try prepare(
                text: """
                    INSERT INTO record (id, owner, zone, name, \(columns.joined(separator: ", ")))
                    VALUES ($1, $2, $3, $4, \(SQL.parameters(columns.count, from: 5)))
                    """))
    }
}
