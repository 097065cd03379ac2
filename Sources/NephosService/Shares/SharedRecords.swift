import NephosStorage

/// Writes the rows that record which share each record is under.
enum SharedRecords {
    /// Updates the row of a written record, if the record is under a share.
    static func changed(
        _ record: RecordRow, _ changes: SharedChanges, in transaction: StorageTransaction
    ) throws {
        guard var row = try transaction.sharedRecord(zone: record.zone, named: record.name) else { return }
        changes.note(share: row.share)
        row.sequence = record.sequence
        row.type = record.type
        try transaction.put(row)
    }

    /// Updates the row of a deleted record, if the record was under a share.
    static func remove(
        _ tombstone: RecordRow, type: String, _ changes: SharedChanges, in transaction: StorageTransaction
    ) throws {
        guard var row = try transaction.sharedRecord(zone: tombstone.zone, named: tombstone.name) else { return }
        changes.note(share: row.share)
        row.sequence = tombstone.sequence
        row.leftAt = tombstone.sequence
        row.goneAt = max(1, tombstone.modifiedAt)
        row.type = type
        try transaction.put(row)
    }

    /// Places a live record under a share, or under no share.
    /// - Parameters:
    ///   - type: the type of the record; nil to look the record up.
    ///   - now: the present time, in milliseconds since 1970.
    ///   - leftAt: the change sequence at which the record left its former share; nil if it leaves the share now.
    static func put(
        _ name: String, type: String? = nil, under share: Int64?, zone: ZoneKey, at now: Int64, leftAt: Int64? = nil,
        _ changes: SharedChanges, in transaction: StorageTransaction
    ) throws {
        let old = try transaction.sharedRecord(zone: zone, named: name)
        if old == nil && share == nil { return }
        guard let type = try type ?? liveType(name, zone, transaction) else { return }
        let sequence = try transaction.nextSequence()
        if let share { changes.note(share: share) }
        if var old {
            changes.note(share: old.share)
            if old.share == share {
                // The record stays under its share, but may have been rewritten.
                old.sequence = sequence
                old.type = type
                return try transaction.put(old)
            }
            old.sequence = sequence
            old.leftAt = leftAt ?? sequence
            old.goneAt = max(1, now)
            try transaction.put(old)
            let group = try share.flatMap { try transaction.share(id: $0)?.name } ?? ""
            try FormerKeys.settle(name, under: group, zone, in: transaction)
        }
        guard let share else { return }
        if let former = try transaction.sharedRecord(zone: zone, named: name, share: share) {
            try transaction.noteReentry(share: share, leftAt: former.sequence)
        }
        try transaction.put(
            SharedRecordRow(
                zone: zone, share: share, name: name, type: type, entered: sequence, sequence: sequence))
    }

    private static func liveType(_ name: String, _ zone: ZoneKey, _ reader: StorageReader) throws -> String? {
        try reader.record(zone: zone, named: name).flatMap { $0.isDeleted ? nil : $0.type }
    }
}
