import NephosStorage
import NephosWire

/// Decides whether a notification that waited in the outbox may still be sent. A role or a grant of the public database
/// may be revoked while a notification waits with the values of a record's fields.
struct WaitingNotifications {
    let schemas: SchemaCatalog
    /// The moment before the snapshot of the reader.
    let moment: SchemaCatalog.Moment

    /// Whether the account may still read the record of a waiting notification. Only notifications of the public
    /// database that name a record depend on grants.
    func maySend(_ row: OutboxRow, _ reader: StorageReader) throws -> Bool {
        guard let payload = try? NotificationPayload(decoding: row.payload), payload.databaseScope == .public,
            case .query(let recordName?, _, _) = payload.kind
        else { return true }
        guard let zone = try reader.zone(owner: .everyone, named: ZoneIDDictionary.defaultZoneName),
            let record = try reader.record(zone: zone.key, named: recordName)
        else { return false }
        let account = try reader.liveAccount(id: row.account)
        let schema = try schemas.schema(asOf: moment, reader)
        return RecordPermissions(.public, account: account, schema).mayRead(record)
    }
}
