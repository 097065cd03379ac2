import NephosStorage
import NephosWire

/// The reset of encrypted data (`CKErrorUserDidResetEncryptedDataKey`, Apple's documentation). No device has the keys
/// any more, so the zones that need them are deleted. Requests to such a zone fail with `zoneNotFound` and that reason
/// until the zone is recreated. The default zone stays, because every database has it; its encrypted values can no
/// longer be decrypted.
struct ResetKeys {
    let caller: Caller
    let environment: ServiceEnvironment
    let indexes: IndexWriter
    let notifier: Notifier

    /// - Returns: whether change events were stored, so that subscribers must be notified.
    func apply(in transaction: StorageTransaction) throws -> Bool {
        let account = try caller.requireAccount()
        guard caller.scope == .private else {
            throw ServiceError.badDatabase("keys are reset in the private database")
        }
        try purge(AccountKeys.zone(of: account), in: transaction)
        var leftEvents = false
        for zone in try transaction.zones(owner: account.owner)
        where try !transaction.keys(zone: zone.key, kind: .groupKey).isEmpty {
            if ZoneRules.isDefault(zone.name) {
                try purge(zone.key, in: transaction)
            } else {
                if try notifier.notify(ofDeleted: zone, by: nil, transaction) { leftEvents = true }
                try ZoneDeletion.delete(zone, .encryptedDataReset, environment, in: transaction)
            }
        }
        for membership in try transaction.memberships(account: account.id) where membership.left == 0 {
            if try forget(membership, of: account, in: transaction) { leftEvents = true }
        }
        return leftEvents
    }

    private func purge(_ zone: ZoneKey, in transaction: StorageTransaction) throws {
        while try transaction.purgeKeys(zone: zone, limit: Limits.recordsToWrap) > 0 {}
    }

    /// Removes the account's boxes for a share of another account, because they are for the former account key. Notes
    /// the share, so that its owner wraps the key again.
    private func forget(
        _ membership: MembershipRow, of account: AccountRow, in transaction: StorageTransaction
    ) throws -> Bool {
        guard let share = try transaction.share(id: membership.share), share.isLive,
            let zone = try transaction.zone(membership.zone), !zone.isDeleted,
            try StoredGroupKeys.hasKey(share, transaction)
        else { return false }
        try StoredGroupKeys.removeBoxes(of: account.id, StoredGroupKeys.group(of: share), share.zone, in: transaction)
        // The account's former devices have the key.
        try GroupState.note(share, endsAccess: true, in: transaction)
        return try ShareMembers.tell(
            share, in: zone, by: account.id, caller.origin, indexes, notifier, now: environment.now(), in: transaction)
    }
}
