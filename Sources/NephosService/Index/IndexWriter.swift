import NephosStorage
import NephosWire

/// Maintains the index entries of records, inside the transaction that writes the records.
///
/// In development every field with an indexable type may be queried ("the server indexes all fields with data types it
/// can use in the predicate of a query"; `CKRecord`, Apple's documentation). Writing entries for all these fields with
/// every save would cost several times the save itself, so the first query that needs an index makes it. The schema
/// says which queries are allowed; `IndexDefinitions` says which indexes exist. For a type that was never queried, a
/// save pays one dictionary lookup.
struct IndexWriter {
    let definitions: IndexDefinitions
    let accounts: Accounts

    /// Replaces the entries of `old` with the entries of `new`. An index that is being built may lack the entries of
    /// `old`.
    func update(
        old: RecordRow?, new: RecordRow?, _ known: KnownFields = .none, in transaction: StorageTransaction
    ) throws {
        if let old, let new, old.type != new.type {
            // A different type has different indexes.
            try update(old: old, new: nil, in: transaction)
            return try update(old: nil, new: new, known, in: transaction)
        }
        guard let row = new ?? old, let indexes = definitions[row.type] else { return }
        let previous = old.flatMap { $0.isDeleted ? nil : $0 }
        let next = new.flatMap { $0.isDeleted ? nil : $0 }
        if let previous, let next, Self.isUnmoved(previous, next, known, indexes) { return }
        let before = try previous.map { try record($0, indexes, transaction) }
        let after = try next.map { try record($0, indexes, known, transaction) }
        for definition in indexes.definitions {
            let gone = before.map(definition.signature.entries) ?? []
            let come = after.map(definition.signature.entries) ?? []
            // During a build the old entries may be missing, and the build does not reach a record saved meanwhile, so
            // all entries are inserted.
            let missing = definition.isReady ? Self.difference(come, gone) : come
            func entries(_ values: [[UInt8]]) -> [IndexEntryRow] {
                values.map { value in
                    IndexEntryRow(
                        zone: row.zone, definition: definition.id, value: value, name: row.name,
                        record: row.number.value)
                }
            }
            try transaction.remove(entries(Self.difference(gone, come)))
            try transaction.insert(entries(missing))
        }
    }

    /// Whether a save certainly changes no entry, without decoding the fields.
    private static func isUnmoved(
        _ previous: RecordRow, _ next: RecordRow, _ known: KnownFields, _ indexes: TypeIndexes
    ) -> Bool {
        if !indexes.looksAtEverySave, previous.fields == next.fields, previous.parent == next.parent,
            previous.share == next.share
        {
            return true
        }
        guard case .sent(let fields) = known else { return false }
        return !indexes.definitions.contains { $0.mayMove(previous, next, fields) }
    }

    private func record(
        _ row: RecordRow, _ indexes: TypeIndexes, _ known: KnownFields, _ reader: StorageReader
    ) throws -> QueryableRow {
        guard case .all(let fields) = known else { return try record(row, indexes, reader) }
        guard indexes.needsUsers else { return QueryableRow(row, known: fields) }
        return QueryableRow(
            row, known: fields, creator: try accounts.userRecordName(id: row.createdBy, reader),
            modifier: try accounts.userRecordName(id: row.modifiedBy, reader))
    }

    /// The record with the fields and users that the indexes of its type need.
    func record(
        _ row: RecordRow, _ indexes: TypeIndexes, _ reader: StorageReader
    ) throws -> QueryableRow {
        guard indexes.needsUsers else { return QueryableRow(row, fields: indexes.fields) }
        return QueryableRow(
            row, fields: indexes.fields, creator: try accounts.userRecordName(id: row.createdBy, reader),
            modifier: try accounts.userRecordName(id: row.modifiedBy, reader))
    }

    private static func difference(_ values: [[UInt8]], _ others: [[UInt8]]) -> [[UInt8]] {
        if others.isEmpty || values.isEmpty { return values }
        let others = Set(others)
        return values.filter { !others.contains($0) }
    }
}

extension IndexDefinition {
    /// Whether a save that sent these fields may change the record's entries, or must write them because the index is
    /// being built.
    fileprivate func mayMove(_ old: RecordRow, _ new: RecordRow, _ sent: RecordFields) -> Bool {
        !isReady
            || signature.components.contains { component in
                switch component.key {
                case .field(let name): sent[name] != nil || name == QueryKey.changeTagField
                case .system(.modifiedTimestamp), .system(.modifiedUserRecordName): true
                case .system(.parent): old.parent != new.parent
                case .system(.share): old.share != new.share
                case .system, .allSearchableFields: false
                }
            }
    }
}
