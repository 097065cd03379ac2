import NephosStorage
import NephosWire

/// Keeps the entries of records up with what is written, inside the transaction that writes them.
///
/// In development every field with a type that can be indexed may be queried ("the server indexes all fields with data
/// types it can use in the predicate of a query"; `CKRecord`, Apple's documentation). Making all those entries with every
/// save would cost several times the save itself, so an index is made when the first query needs it: the schema says what
/// may be asked, `IndexDefinitions` what was. A type that was never queried costs its saves one look into a dictionary.
struct IndexWriter {
    let definitions: IndexDefinitions
    let accounts: Accounts

    /// Makes the entries of a record those of `new`, given that they are those of `old`, or none yet in an index that is
    /// being built.
    func update(
        old: RecordRow?, new: RecordRow?, _ known: KnownFields = .none, in transaction: StorageTransaction
    ) throws {
        if let old, let new, old.type != new.type {
            // Another type has other indexes.
            try update(old: old, new: nil, in: transaction)
            return try update(old: nil, new: new, known, in: transaction)
        }
        guard let row = new ?? old, let indexes = definitions[row.type] else { return }
        let previous = old.flatMap { $0.isDeleted ? nil : $0 }
        let next = new.flatMap { $0.isDeleted ? nil : $0 }
        if let previous, let next {
            // What a save leaves as it was needs no look at the fields.
            if !indexes.looksAtEverySave, previous.fields == next.fields, previous.parent == next.parent,
                previous.share == next.share
            {
                return
            }
            if case .sent(let fields) = known,
                !indexes.definitions.contains(where: { $0.mayMove(previous, next, fields) })
            {
                return
            }
        }
        let before = try previous.map { try record($0, indexes, transaction) }
        let after = try next.map { try record($0, indexes, known, transaction) }
        for definition in indexes.definitions {
            let gone = before.map(definition.signature.entries) ?? []
            let come = after.map(definition.signature.entries) ?? []
            // While an index is being built the old entries may not be there yet, and the build does not reach a
            // record that was saved meanwhile.
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

    private func record(
        _ row: RecordRow, _ indexes: TypeIndexes, _ known: KnownFields, _ reader: StorageReader
    ) throws -> QueryableRow {
        guard case .all(let fields) = known else { return try record(row, indexes, reader) }
        guard indexes.needsUsers else { return QueryableRow(row, known: fields) }
        return QueryableRow(
            row, known: fields, creator: try accounts.userRecordName(id: row.createdBy, reader),
            modifier: try accounts.userRecordName(id: row.modifiedBy, reader))
    }

    /// A record with what the indexes of its type want to know of it.
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
    /// Whether a save that sent these fields may change the entries of the record, or has to make them.
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
