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
    func update(old: RecordRow?, new: RecordRow?, in transaction: any StorageTransaction) throws {
        guard let row = new ?? old, let indexes = definitions[row.type] else { return }
        // What a save leaves as it was needs no look at the fields.
        if let old, let new, !old.isDeleted, !new.isDeleted, !indexes.looksAtEverySave, old.fields == new.fields,
            old.parent == new.parent, old.share == new.share
        {
            return
        }
        let old = try old.flatMap { $0.isDeleted ? nil : try record($0, indexes, transaction) }
        let new = try new.flatMap { $0.isDeleted ? nil : try record($0, indexes, transaction) }
        for definition in indexes.definitions {
            let before = old.map(definition.signature.entries) ?? []
            let after = new.map(definition.signature.entries) ?? []
            // While an index is being built the old entries may not be there yet, and the building does not come to a
            // record that was saved meanwhile.
            let missing = definition.isReady ? Self.difference(after, before) : after
            func entry(_ value: [UInt8]) -> IndexEntryRow {
                IndexEntryRow(zone: row.zone, definition: definition.id, value: value, name: row.name)
            }
            for value in Self.difference(before, after) { try transaction.remove(entry(value)) }
            for value in missing { try transaction.insert(entry(value)) }
        }
    }

    /// A record with what the indexes of its type want to know of it.
    func record(
        _ row: RecordRow, _ indexes: TypeIndexes, _ reader: any StorageReader
    ) throws -> StoredRecord {
        guard indexes.needsUsers else { return StoredRecord(row, fields: indexes.fields) }
        return StoredRecord(
            row, fields: indexes.fields, creator: try accounts.userRecordName(id: row.createdBy, reader),
            modifier: try accounts.userRecordName(id: row.modifiedBy, reader))
    }

    private static func difference(_ values: [[UInt8]], _ others: [[UInt8]]) -> [[UInt8]] {
        if others.isEmpty || values.isEmpty { return values }
        let others = Set(others)
        return values.filter { !others.contains($0) }
    }
}
