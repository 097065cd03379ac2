import NephosStorage
import NephosWire

/// Writes a record and all data derived from it, by the diff of the old and the new record.
enum RecordWriter {
    static func save(
        _ save: PlannedSave, _ indexes: IndexWriter, _ changes: RecordChanges?,
        in transaction: StorageTransaction
    ) throws -> RecordRow {
        var row = save.row
        row.sequence = try transaction.nextSequence()
        row.number = try transaction.put(row)
        for key in save.keys { try transaction.put(key) }
        for key in save.droppedKeys {
            try transaction.removeKey(zone: key.zone, kind: key.kind, subject: key.subject, id: key.id)
        }
        try writeEdges(of: row, old: save.oldEdges, new: save.newEdges, in: transaction)
        for upload in save.uploads {
            try transaction.move(upload, to: row.zone.owner, content: upload.hash, neededUntil: upload.neededUntil)
        }
        try AssetReferences.update(
            row.zone, row.name, old: save.stored?.fields, new: row.fields, now: row.modifiedAt, in: transaction)
        try indexes.update(old: save.stored, new: row, save.known, in: transaction)
        changes?.note(old: save.stored, new: row)
        return row
    }

    static func delete(
        _ row: RecordRow, _ merge: FieldMerge, _ indexes: IndexWriter,
        _ changes: RecordChanges?, in transaction: StorageTransaction
    ) throws -> RecordRow {
        var tombstone = merge.deleted(row)
        tombstone.sequence = try transaction.nextSequence()
        try transaction.put(tombstone)
        try writeEdges(of: row, old: ReferenceGraph.edges(of: row), new: [], in: transaction)
        try AssetReferences.update(
            row.zone, row.name, old: row.fields, new: nil, now: tombstone.modifiedAt, in: transaction)
        try indexes.update(old: row, new: nil, in: transaction)
        changes?.note(old: row, new: nil)
        return tombstone
    }

    /// Deletes live records of one zone.
    /// - Returns: the tombstones of the records.
    static func delete(
        _ rows: [RecordRow], _ merge: FieldMerge, _ indexes: IndexWriter, _ changes: RecordChanges?,
        in transaction: StorageTransaction
    ) throws -> [RecordRow] {
        guard let zone = rows.first?.zone else { return [] }
        let tombstones = try rows.map { row in
            var tombstone = merge.deleted(row)
            tombstone.sequence = try transaction.nextSequence()
            return tombstone
        }
        try transaction.put(tombstones)
        try transaction.removeReferences(zone: zone, from: rows.map(\.name))
        for row in rows {
            try AssetReferences.update(zone, row.name, old: row.fields, new: nil, now: merge.now, in: transaction)
            try indexes.update(old: row, new: nil, in: transaction)
            changes?.note(old: row, new: nil)
        }
        return tombstones
    }

    private static func writeEdges(
        of row: RecordRow, old: Set<ReferenceEdge>, new: Set<ReferenceEdge>, in transaction: StorageTransaction
    ) throws {
        if old == new { return }
        func rows(_ edges: Set<ReferenceEdge>) -> [ReferenceRow] {
            edges.map { ReferenceRow(zone: row.zone, target: $0.target, kind: $0.kind, source: row.name) }
        }
        try transaction.remove(rows(old.subtracting(new)))
        try transaction.insert(rows(new.subtracting(old)))
    }
}
