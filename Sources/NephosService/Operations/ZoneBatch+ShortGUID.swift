import NephosStorage
import NephosWire

extension ZoneBatch {
    /// The last part of the URL of the record's present or future share; nil if the record cannot be shared. For a
    /// future share, the URL is reserved by storing a share that ends at its creation (CloudKit Web Services,
    /// `createShortGUID`).
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
