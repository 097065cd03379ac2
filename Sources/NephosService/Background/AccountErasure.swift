import NephosStorage
import NephosWire

/// Erases a deleted account's data in a background job, one step per transaction: what is left of its participation in
/// others' shares, its zones, its keys, its request outcomes, the records that it created in the public database if they
/// are to go too, and its user record there. The deletion of each zone inserts a job that purges the zone's contents.
struct AccountErasure {
    let account: AccountRow
    /// The erasure of public records; nil if they stay, or are gone.
    var publicRecords: PublicErasure?
    let environment: ServiceEnvironment
    let indexes: IndexWriter
    let notifier: Notifier

    struct Step {
        var isDone = false
        /// Whether the step stored change events, so that subscribers must be notified.
        var leftEvents = false
        /// The erasure of public records that is left after the step; nil for none.
        var publicRecords: PublicErasure?
    }

    /// - Parameter limit: the maximum number of records that the step writes.
    func step(limit: Int, in transaction: StorageTransaction) throws -> Step {
        var step = try privateStep(Self.count(limit), limit: limit, in: transaction)
        step.publicRecords = publicRecords
        guard step.isDone else { return step }
        if let publicRecords {
            let (next, leftEvents) = try publicRecords.step(of: self, limit: limit, in: transaction)
            return Step(leftEvents: leftEvents, publicRecords: next)
        }
        return Step(isDone: true, leftEvents: try deleteUserRecord(in: transaction))
    }

    /// The maximum number of shares or zones of a step: changing one writes several rows.
    static func count(_ limit: Int) -> Int { max(1, limit / 8) }

    /// Ends some of the account's participations in others' shares.
    /// - Parameter count: the maximum number of shares.
    /// - Returns: whether change events were stored, so that subscribers must be notified; nil if no participation was
    ///   left.
    func leaveShares(_ count: Int, in transaction: StorageTransaction) throws -> Bool? {
        let rows = try transaction.participations(account: account.id, limit: count)
        if rows.isEmpty { return nil }
        var leftEvents = false
        for row in rows where try leave(row, in: transaction) { leftEvents = true }
        return leftEvents
    }

    /// - Parameter count: the maximum number of zones, or of shares, that the step changes.
    private func privateStep(_ count: Int, limit: Int, in transaction: StorageTransaction) throws -> Step {
        if let leftEvents = try leaveShares(count, in: transaction) { return Step(leftEvents: leftEvents) }
        let zones = try transaction.zones(owner: account.owner)
        for zone in zones.prefix(count) { try ZoneDeletion.delete(zone, .deleted, environment, in: transaction) }
        if zones.count > count { return Step() }
        let keys = ZoneKey(owner: account.owner, id: 0)
        if try transaction.purgeKeys(zone: keys, limit: limit) > 0 { return Step() }
        let outcomes = try transaction.purgeRequestKeys(
            account: account.id, before: .max, signedBefore: .max, limit: limit)
        if outcomes >= limit { return Step() }
        if try transaction.purgeMemberships(account: account.id, limit: limit) > 0 { return Step() }
        return Step(isDone: true)
    }

    /// Removes the account's row from a share's participants. The remaining participants get the share with a new
    /// change tag.
    /// - Returns: whether change events were stored, so that subscribers must be notified.
    private func leave(_ row: ShareParticipantRow, in transaction: StorageTransaction) throws -> Bool {
        guard let share = try transaction.share(id: row.share), share.isLive,
            let zone = try transaction.zone(share.zone), !zone.isDeleted
        else {
            try transaction.removeParticipant(share: row.share, id: row.id)
            return false
        }
        let group = StoredGroupKeys.group(of: share)
        for box in try transaction.keys(zone: share.zone, kind: .groupBox, subject: group)
        where box.id.suffix(8).elementsEqual(KeyRow.id(account.id)) {
            try transaction.removeKey(zone: share.zone, kind: .groupBox, subject: group, id: box.id)
        }
        let departure = ShareDeparture(
            account: account.id, origin: nil, environment: environment, indexes: indexes, notifier: notifier)
        let leftEvents = try departure.leave([(share, row)], of: zone, in: transaction)
        // If the share's record is damaged, `leave` removed nothing.
        try transaction.removeParticipant(share: row.share, id: row.id)
        return leftEvents
    }

    /// Deletes the public user record. The deletion cascades to the records that refer to it with `deleteSelf`.
    private func deleteUserRecord(in transaction: StorageTransaction) throws -> Bool {
        guard let zone = try transaction.zone(owner: .everyone, named: ZoneIDDictionary.defaultZoneName),
            let record = try transaction.record(zone: zone.key, named: account.userRecordName), !record.isDeleted
        else { return false }
        return try delete([record], of: zone, in: transaction)
    }

    /// Deletes public records. The deletions cascade to the records that refer to them with `deleteSelf`.
    /// - Returns: whether change events were stored, so that subscribers must be notified.
    func delete(_ records: [RecordRow], of zone: ZoneRow, in transaction: StorageTransaction) throws -> Bool {
        let changes = notifier.changes(in: zone.key)
        let merge = FieldMerge(zone: zone.key, now: environment.now(), account: account.id)
        for record in records {
            let owned = try transaction.references(
                zone: zone.key, to: record.name, kinds: [.deleteSelf], after: nil, limit: 1)
            let tombstone = try RecordWriter.delete(record, merge, indexes, changes, in: transaction)
            if !owned.isEmpty { try transaction.insert(BackgroundJob.cascade(from: tombstone)) }
        }
        return try notifier.notify(of: changes, in: zone, by: nil, transaction)
    }
}
