import NephosStorage
import NephosWire

/// The changes that a batch makes to the shares of its zone.
struct SharePlan {
    /// The changes that saves make to their shares, by the names of the share records.
    var changes: [String: ParticipantEdits.Change] = [:]
    /// The live shares whose record or root the batch deletes. The deletion ends the share.
    var ended: [ShareRow] = []
    /// The shares that the caller leaves, each with the caller's row and the share's record.
    var left: [(share: ShareRow, row: ShareParticipantRow, record: RecordRow)] = []
    /// The saves of root records whose reference to a share changes although the batch does not save them.
    var roots: [PlannedSave] = []
    /// The records of the shares that end because their roots are deleted.
    var deletions: [RecordRow] = []
    /// The new share of each record that the batch saves, and of the descendants of these records; nil for no share.
    var under: [String: Int64?] = [:]
    /// The names of the records whose descendants a background job places.
    var moves: [String] = []
    /// The ID of the zone-wide share; nil if there is none.
    var zoneWide: Int64?
    /// The key groups for which the owner's library must wrap keys of encrypted values later.
    var keyAttention: Set<String> = []
    /// Whether the container has encrypted fields, so that participants that gain access unsigned are marked.
    var marksUnsigned = false
    /// Whether the batch may affect a share. If not, the plan writes nothing.
    var isNeeded = false

    static let none = SharePlan()
}

extension SharePlan {
    /// Applies the plan, after the batch's own saves and deletions were written.
    /// - Parameter savedTypes: the record types of the records that the batch saved, by name.
    func apply(_ batch: ZoneBatch, savedTypes: [String: String], in transaction: StorageTransaction) throws {
        guard isNeeded else { return }
        for save in roots { _ = try RecordWriter.save(save, batch.indexes, batch.changes, in: transaction) }
        for row in deletions {
            guard let record = try transaction.record(zone: row.zone, named: row.name), !record.isDeleted else {
                continue
            }
            let tombstone = try RecordWriter.delete(
                record, batch.merge, batch.indexes, batch.changes, in: transaction)
            try SharedRecords.remove(tombstone, type: record.type, batch.sharedChanges, in: transaction)
        }
        for change in changes.values.sorted(by: { $0.share.id < $1.share.id }) {
            try apply(change, at: try transaction.nextSequence(), batch, in: transaction)
        }
        for share in ended {
            try ShareMembers.end(
                share, at: try transaction.nextSequence(), now: batch.merge.now, batch.sharedChanges, in: transaction)
        }
        for (name, share) in under.sorted(by: { $0.key < $1.key }) {
            try SharedRecords.put(
                name, type: savedTypes[name], under: share, zone: batch.zone.key, at: batch.merge.now,
                batch.sharedChanges, in: transaction)
        }
        for name in moves {
            let move = ShareMove(below: name, in: batch.zone.key, at: try transaction.nextSequence())
            try transaction.insert(move.job)
        }
        for leave in left {
            let sequence = try ShareMembers.touch(leave.record, batch, in: transaction)
            try FormerParticipants.note([leave.row], of: leave.share, in: transaction)
            try ShareMembers.remove(leave.row, from: leave.share, at: sequence, batch.sharedChanges, in: transaction)
            try GroupState.note(leave.share, endsAccess: true, in: transaction)
            try OpenInvitations.close(leave.share, in: transaction)
        }
        try noteKeyAttention(batch, in: transaction)
        if let zoneWide { batch.sharedChanges.note(share: zoneWide) }
    }

    /// Notes the groups that need keys, and rewrites their share records, so that the zone's next changes prompt the
    /// owner's library to wrap the keys.
    private func noteKeyAttention(_ batch: ZoneBatch, in transaction: StorageTransaction) throws {
        for group in keyAttention.sorted() {
            let isZone = group.isEmpty || group == SystemRecordName.zoneWideShare
            try GroupState.note(isZone ? "" : group, batch.zone.key, endsAccess: false, in: transaction)
            let name = isZone ? SystemRecordName.zoneWideShare : group
            guard changes[name] == nil, let record = try transaction.record(zone: batch.zone.key, named: name),
                !record.isDeleted
            else { continue }
            try ShareMembers.touch(record, batch, in: transaction)
        }
    }

    private func apply(
        _ change: ParticipantEdits.Change, at sequence: Int64, _ batch: ZoneBatch, in transaction: StorageTransaction
    ) throws {
        let changes = batch.sharedChanges
        let former = try transaction.share(id: change.share.id)
        let isOpen = change.share.openPermission != .none
        let isClosed = !isOpen && former.map { $0.openPermission != .none } ?? false
        let isOpened = isOpen && former?.openPermission == SharePermission.none
        try transaction.put(change.share)
        if former == nil || isClosed || isOpened || !change.removed.isEmpty || !change.written.isEmpty
            || change.signed != nil
        {
            let endsAccess =
                isClosed || change.removed.contains(where: \.isParticipant)
                || change.written.contains { $0.isParticipant && $0.permission(in: change.share) == .none }
            try GroupState.note(change.share, endsAccess: endsAccess, in: transaction)
        }
        changes.note(share: change.share.id)
        try FormerParticipants.note(change.removed, of: change.share, in: transaction)
        for row in change.removed {
            try ShareMembers.remove(row, from: change.share, at: sequence, changes, in: transaction)
        }
        for id in change.renamed { try transaction.removeParticipant(share: change.share.id, id: id) }
        for row in change.written {
            try transaction.put(row)
            try ShareMembers.updateAccess(of: row, to: change.share, at: sequence, changes, in: transaction)
        }
        if marksUnsigned { try batch.putSigned(change, in: transaction) }
        try OpenInvitations.close(change.share, in: transaction)
    }
}

extension ShareMembers {
    /// Rewrites the record of a share, so that the record gets a new change tag and appears in the feeds.
    /// - Returns: the change sequence of the rewritten record.
    @discardableResult
    static func touch(
        _ record: RecordRow, _ batch: ZoneBatch, in transaction: StorageTransaction
    ) throws -> Int64 {
        try touch(record, batch.merge, batch.indexes, batch.changes, batch.sharedChanges, in: transaction)
    }
}
