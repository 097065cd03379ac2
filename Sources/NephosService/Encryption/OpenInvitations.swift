import NephosStorage
import NephosWire

/// Whether an account may yet come to a share's key by its URL. While one may, the key is wrapped under the secret of the URL;
/// afterwards only the secret stays, wrapped for participants that have the key: so the URL stays the same.
enum OpenInvitations {
    /// A public share is open; so is an invitation until the account has the key. One-time URLs have secrets of their own.
    static func exist(in share: ShareRow, _ reader: StorageReader) throws -> Bool {
        if share.openPermission != .none { return true }
        let group = StoredGroupKeys.group(of: share)
        let version = KeyRow.id(try StoredGroupKeys.currentVersion(of: group, share.zone, reader))
        let served = Set(
            try reader.keys(zone: share.zone, kind: .groupBox, subject: group).map(\.id).filter {
                $0.starts(with: version)
            }
        )
        return try reader.participants(share: share.id).contains { row in
            guard row.isParticipant, row.permission(in: share) != .none, row.oneTimeGUID.isEmpty || row.hasAccepted
            else { return false }
            guard let account = try row.invitedAccount(reader) else { return true }
            return !served.contains(version + KeyRow.id(account.id))
        }
    }

    /// Removes the key from the share's link where no account may come by it any more.
    static func close(_ share: ShareRow, in transaction: StorageTransaction) throws {
        let group = StoredGroupKeys.group(of: share)
        guard share.isLive, var link = try StoredGroupKeys.link(of: group, share.zone, transaction), !link.key.isEmpty,
            try !exist(in: share, transaction)
        else { return }
        link.key = []
        try transaction.put(StoredGroupKeys.row(link, of: group, share.zone))
    }
}
