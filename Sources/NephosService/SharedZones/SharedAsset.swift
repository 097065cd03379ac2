import NephosStorage
import NephosWire

/// Whether an account still has the access for which it got an asset's address in another account's private database:
/// an address gives the account's access at the time of use.
struct SharedAsset {
    let account: AccountRow
    let zone: ZoneRow
    let reader: StorageReader

    /// Nil if the account or the zone is gone.
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
        // A share's metadata includes its root, before the share is accepted.
        guard let share = try reader.lastShare(zone: zone.key, root: recordName), share.isLive else { return false }
        let rows = try reader.participants(share: share.id)
        if rows.contains(where: { $0.isBlocked && $0.account == account.id }) { return false }
        if let own = rows.first(where: { $0.isParticipant && $0.isOf(account) }) {
            return own.permission(in: share) != .none
        }
        if share.openPermission != .none { return true }
        // A one-time URL gives its metadata to every account that has the URL, except to former participants.
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

/// Whether the account of an upload address may still save files in its zone.
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
