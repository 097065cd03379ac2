import NephosStorage
import NephosWire

/// The keys of a record that has left a share. Keys wrapped for the share are removed, because an account that joins it
/// later can open every version of its key. They stay until the record's keys are wrapped for its new share or for the
/// zone, else even the owner could not open them; until then the record is noted for its owner's library.
enum FormerKeys {
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

    /// Marks zone keys that are also wrapped for a share as spent. The share's participants have them, so values
    /// written after the record leaves the share need another key.
    static func spend(_ rows: [KeyRow], in transaction: StorageTransaction) throws {
        for var row in rows where row.isWrapped(for: "") {
            var key = try WrappedRecordKey(decoding: row.body)
            if key.isSpent || key.isInherited { continue }
            key.isSpent = true
            row.body = key.encoded()
            try transaction.put(row)
        }
    }

    /// Settles noted records, whose keys may have been wrapped or replaced since.
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
    /// The record key's ID, without the group.
    var recordKeyID: ArraySlice<UInt8> { id.prefix(WrappedRecordKey.idSize) }

    /// Whether it is a record's key for the group.
    func isWrapped(for group: String) -> Bool { id.dropFirst(WrappedRecordKey.idSize).elementsEqual(group.utf8) }
}
