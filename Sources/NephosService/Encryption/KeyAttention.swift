import NephosCrypto
import NephosStorage
import NephosWire

/// Has the devices of a share's owner see to its key: the share's record says that it wants keys (`GroupState`), is changed in
/// the owner's feed, and subscribers are notified.
///
/// What was settled is noted again when an account without devices has some, and when it looks a key up in vain; once, until the
/// owner's devices settle that.
enum KeyAttention {
    /// Whether an account has devices with keys, and no box with the share's present key for them.
    static func lacksKey(
        _ account: AccountRow, _ share: ShareRow, _ caller: Caller, _ reader: any StorageReader
    ) throws -> Bool {
        let devices = try AccountKeys.list(of: account, caller, reader)
        guard !devices.devices.isEmpty else { return false }
        let group = StoredGroupKeys.group(of: share)
        let current = try StoredGroupKeys.currentVersion(of: group, share.zone, reader)
        return try !StoredGroupKeys.boxes(for: account.id, of: group, share.zone, reader).contains {
            $0.version == current && devices.accountKeyVersion(of: $0.recipient) != nil
        }
    }

    /// - Returns: whether there are subscribers to notify.
    static func note(
        share id: Int64, by caller: Caller, _ indexes: IndexWriter, _ notifier: Notifier, now: Int64,
        in transaction: any StorageTransaction
    ) throws -> Bool {
        guard let share = try transaction.share(id: id), share.isLive, let zone = try transaction.zone(share.zone),
            !zone.isDeleted
        else { return false }
        let group = StoredGroupKeys.group(of: share)
        guard try GroupState.read(group, share.zone, transaction).attention == 0 else { return false }
        try GroupState.note(group, share.zone, endsAccess: false, in: transaction)
        return try ShareMembers.tell(share, in: zone, by: caller, indexes, notifier, now: now, in: transaction)
    }
}
