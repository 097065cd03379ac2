import NephosStorage
import NephosWire

/// Manages whether an account may still get a share's key through the share's URL. While an account may, the key is
/// stored wrapped under the URL's secret. Afterwards only the secret stays, wrapped for participants that have the key,
/// so that the URL does not change.
enum OpenInvitations {
    /// Whether the share is public, or an invited account does not have its key yet. Invitations by one-time URL do not
    /// count, because these URLs have their own secrets.
    static func exist(in share: ShareRow, _ reader: StorageReader) throws -> Bool {
        let group = StoredGroupKeys.group(of: share)
        // An unsigned participant waits for a person, and gets no key by the URL.
        let unsigned = try StoredParticipants.unsigned(of: group, share.zone, reader)
        if share.openPermission != .none, !unsigned.contains(StoredParticipants.everyone) { return true }
        let version = KeyRow.id(try StoredGroupKeys.currentVersion(of: group, share.zone, reader))
        let served = Set(
            try reader.keys(zone: share.zone, kind: .groupBox, subject: group).map(\.id).filter {
                $0.starts(with: version)
            }
        )
        return try reader.participants(share: share.id).contains { row in
            guard row.mayHaveKey(of: share, unsigned), row.oneTimeGUID.isEmpty || row.hasAccepted
            else { return false }
            guard let account = try row.invitedAccount(reader) else { return true }
            return !served.contains(version + KeyRow.id(account.id))
        }
    }

    /// Removes the key from the share's link once no account may get the key there any more.
    static func close(_ share: ShareRow, in transaction: StorageTransaction) throws {
        let group = StoredGroupKeys.group(of: share)
        guard share.isLive, var link = try StoredGroupKeys.link(of: group, share.zone, transaction), !link.key.isEmpty,
            try !exist(in: share, transaction)
        else { return }
        link.key = []
        try transaction.put(StoredGroupKeys.row(link, of: group, share.zone))
    }
}
