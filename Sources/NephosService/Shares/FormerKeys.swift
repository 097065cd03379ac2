import NephosStorage
import NephosWire

/// Removes the keys of records that have left a share. Keys wrapped for the share are removed, because an account that
/// joins the share later can open every version of the share's key. They stay until the record's keys are wrapped for
/// the new share or for the zone, because otherwise even the owner could not open them. Until then the record is noted
/// for the owner's library.
enum FormerKeys {
    /// Removes the keys of a record that are wrapped for former shares, as far as they are no longer needed.
    /// - Parameters:
    ///   - group: the share that the record is under; empty for none.
    ///   - wasNoted: whether the record was noted before.
    static func settle(
        _ name: String, under group: String, _ zone: ZoneKey, wasNoted: Bool = false,
        in transaction: StorageTransaction
    ) throws {
        let rows = try transaction.keys(zone: zone, kind: .recordKey, subject: name)
        let staying = rows.filter { $0.isWrapped(for: group) || $0.isWrapped(for: "") }
        let kept = Set(staying.map(\.recordKeyID))
        var isNoted = false
        for row in rows where !row.isWrapped(for: group) && !row.isWrapped(for: "") {
            if kept.contains(row.recordKeyID) {
                try transaction.removeKey(zone: zone, kind: .recordKey, subject: name, id: row.id)
            } else {
                isNoted = true
            }
        }
        if isNoted {
            try transaction.put(KeyRow(zone: zone, kind: .leftRecord, subject: name, id: [], body: [1]))
        } else if wasNoted {
            try transaction.removeKey(zone: zone, kind: .leftRecord, subject: name, id: [])
        }
    }

    /// Marks record keys that are wrapped for the zone as spent, because they are also wrapped for a share. The share's
    /// participants have these keys, so values written after the record leaves the share need other keys.
    static func spend(_ rows: [KeyRow], in transaction: StorageTransaction) throws {
        for var row in rows where row.isWrapped(for: "") {
            var key = try WrappedRecordKey(decoding: row.body)
            if key.isSpent || key.isInherited { continue }
            key.isSpent = true
            row.body = key.encoded()
            try transaction.put(row)
        }
    }

    /// Settles the noted records whose keys were wrapped or replaced since.
    static func settleNoted(_ zone: ZoneKey, in transaction: StorageTransaction) throws {
        for row in try transaction.keys(zone: zone, kind: .leftRecord).prefix(Limits.recordsToWrap) {
            let share = try transaction.sharedRecord(zone: zone, named: row.subject).flatMap {
                try transaction.share(id: $0.share)
            }
            try settle(
                row.subject, under: share.flatMap { $0.isLive ? $0.name : nil } ?? "", zone, wasNoted: true,
                in: transaction)
        }
    }

    static func isAnyNoted(_ zone: ZoneKey, _ reader: StorageReader) throws -> Bool {
        try !reader.keys(zone: zone, kind: .leftRecord).isEmpty
    }
}

extension KeyRow {
    /// The ID of the record key, without the group.
    var recordKeyID: ArraySlice<UInt8> { id.prefix(WrappedRecordKey.idSize) }

    /// Whether the row is a record key that is wrapped for the group.
    func isWrapped(for group: String) -> Bool { id.dropFirst(WrappedRecordKey.idSize).elementsEqual(group.utf8) }
}
