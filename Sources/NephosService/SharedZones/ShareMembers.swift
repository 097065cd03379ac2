import NephosStorage
import NephosWire

/// Changes the access of the accounts that participate in shares.
enum ShareMembers {
    /// Removes a participant from a share. The participant's account loses access at once.
    static func remove(
        _ row: ShareParticipantRow, from share: ShareRow, at sequence: Int64, _ changes: SharedChanges,
        in transaction: StorageTransaction
    ) throws {
        try transaction.removeParticipant(share: share.id, id: row.id)
        try StoredParticipants.unmark(row.id, of: StoredGroupKeys.group(of: share), share.zone, in: transaction)
        guard row.account != 0, row.isParticipant, row.hasAccepted else { return }
        try end(account: row.account, share, at: sequence, changes, in: transaction)
    }

    /// Gives or ends access after a change of a participant's permission. The permission `.none` gives no access.
    static func updateAccess(
        of row: ShareParticipantRow, to share: ShareRow, at sequence: Int64, _ changes: SharedChanges,
        in transaction: StorageTransaction
    ) throws {
        guard row.account != 0, row.isParticipant, row.hasAccepted else { return }
        if row.permission(in: share) == .none {
            return try end(account: row.account, share, at: sequence, changes, in: transaction)
        }
        if try transaction.membership(account: row.account, share: share.id)?.left == 0 { return }
        try transaction.put(
            MembershipRow(account: row.account, share: share.id, zone: share.zone, joined: sequence))
    }

    /// Ends a share, so that all its participants lose access.
    /// - Parameter now: the present time, in milliseconds since 1970.
    static func end(
        _ share: ShareRow, at sequence: Int64, now: Int64, _ changes: SharedChanges,
        in transaction: StorageTransaction
    ) throws {
        var ended = share
        ended.endedAt = sequence
        ended.endedTime = max(1, now)
        try transaction.put(ended)
        try GroupState.note(share, endsAccess: true, in: transaction)
        try FormerParticipants.note(try transaction.participants(share: share.id), of: share, in: transaction)
        for account in try transaction.members(share: share.id) {
            try end(account: account, share, at: sequence, changes, in: transaction)
        }
    }

    private static func end(
        account: Int64, _ share: ShareRow, at sequence: Int64, _ changes: SharedChanges,
        in transaction: StorageTransaction
    ) throws {
        // A participant without permission has no access that could end.
        guard var membership = try transaction.membership(account: account, share: share.id), membership.left == 0
        else { return }
        changes.note(account: account)
        membership.left = sequence
        try transaction.put(membership)
        let isLast = try !transaction.isMember(account: account, zone: share.zone)
        if isLast { try UnsavedUpload.end(account: account, share.zone, in: transaction) }
    }

    /// Rewrites the record of a share outside of a batch of its zone, so that the record appears in the feeds.
    /// - Returns: whether change events were stored, so that subscribers must be notified.
    static func tell(
        _ share: ShareRow, in zone: ZoneRow, by account: Int64, _ origin: ChangeOrigin?, _ indexes: IndexWriter,
        _ notifier: Notifier, now: Int64, in transaction: StorageTransaction
    ) throws -> Bool {
        guard let record = try transaction.record(zone: share.zone, named: share.name), !record.isDeleted else {
            return false
        }
        let changes = notifier.changes(in: share.zone)
        let sharedChanges = SharedChanges(notifier.watched)
        let merge = FieldMerge(zone: share.zone, now: now, account: account)
        _ = try touch(record, merge, indexes, changes, sharedChanges, in: transaction)
        try transaction.noteChange(zone: share.zone)
        _ = try sharedChanges.leaveJobs(zone: share.zone, by: origin, in: transaction)
        return try notifier.notify(of: changes, in: zone, by: origin, transaction)
    }

    static func touch(
        _ record: RecordRow, _ merge: FieldMerge, _ indexes: IndexWriter, _ changes: RecordChanges?,
        _ sharedChanges: SharedChanges, in transaction: StorageTransaction
    ) throws -> Int64 {
        let edges = ReferenceGraph.edges(of: record)
        let save = PlannedSave(
            row: merge.touched(record), stored: record, fields: RecordFields(), oldEdges: edges, newEdges: edges,
            isWhole: false)
        let row = try RecordWriter.save(save, indexes, changes, in: transaction)
        try SharedRecords.changed(row, sharedChanges, in: transaction)
        return row.sequence
    }
}
