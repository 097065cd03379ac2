import NephosStorage
import NephosWire

/// The access of an account to the records whose asset addresses it received in another account's private database. An
/// address gives the access that the account has at the time of use.
struct SharedAsset {
    let account: AccountRow
    let zone: ZoneRow
    let reader: StorageReader

    /// Nil if the account, the zone or the zone's owner was deleted.
    init?(_ key: ZoneKey, account: Int64, _ reader: StorageReader) throws {
        guard let account = try reader.liveAccount(id: account), let zone = try reader.zone(key), !zone.isDeleted,
            try reader.liveAccount(id: key.owner.rawValue) != nil
        else { return nil }
        self.account = account
        self.zone = zone
        self.reader = reader
    }

    func mayRead(_ recordName: String) throws -> Bool {
        if try view()?.mayRead(recordName, reader) == true { return true }
        // An account sees the root of a share in the share's metadata, before it accepts the share.
        guard let share = try reader.lastShare(zone: zone.key, root: recordName), share.isLive else { return false }
        let rows = try reader.participants(share: share.id)
        if rows.contains(where: { $0.isBlocked && $0.account == account.id }) { return false }
        if let own = rows.first(where: { $0.isParticipant && $0.isOf(account) }) {
            return own.permission(in: share) != .none
        }
        if share.openPermission != .none { return true }
        // A one-time URL gives the metadata to every account that has the URL, except to former participants.
        let wasMember = try reader.memberships(account: account.id, zone: zone.key).contains { $0.share == share.id }
        return !wasMember && rows.contains { !$0.oneTimeGUID.isEmpty && !$0.hasAccepted }
    }

    /// Whether the account may save records in the zone.
    func mayWrite() throws -> Bool {
        try view()?.participations.contains {
            ShareAccess.decide(.change, on: .record, by: $0.standing) == .allowed
        } ?? false
    }

    private func view() throws -> SharedZone? {
        guard let owner = try reader.account(id: zone.key.owner.rawValue) else { return nil }
        return try SharedDatabaseView(account: account, reader: reader)
            .zone(named: zone.name, owner: owner.userRecordName)
    }
}

/// The right of an upload address's account to save files in the address's zone, at the time of use.
struct UploadRight {
    let isThere: Bool

    init(_ target: AssetTarget, _ reader: StorageReader) throws {
        guard target.zone.isShared(with: target.account) else {
            isThere = try reader.liveAccount(id: target.account) != nil
            return
        }
        isThere = try SharedAsset(target.zone, account: target.account, reader)?.mayWrite() ?? false
    }
}
