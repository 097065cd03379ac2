import NephosStorage
import NephosWire

extension ZoneBatch {
    /// What the URL of a share of the record ends in, or will; nil where the record cannot be shared. It is kept by a share that
    /// ended as it began (CloudKit Web Services, `createShortGUID`).
    func findOrMakeShortGUID(of record: RecordRow, in transaction: StorageTransaction) throws -> String? {
        guard caller.scope == .private, ZoneRules.hasChangeFeed(zone.name), record.type != SystemRecordType.share else {
            return nil
        }
        if let share = try transaction.lastShare(zone: record.zone, root: record.name) { return share.guid }
        let guid = makeShortGUID()
        let sequence = try transaction.nextSequence()
        try transaction.put(
            ShareRow(
                id: sequence, zone: record.zone, name: "", root: record.name, guid: guid, endedAt: sequence,
                publicPermission: SharePermission.none.number, endedTime: max(1, merge.now)))
        return guid
    }
}
