import NephosStorage
import NephosWire

/// The transaction that deletes an account. After its commit the account cannot sign in, no account sees the deleted
/// account's private database, and no notifications are sent for it. `AccountErasure` then erases the data.
///
/// Records that the account saved in the public database stay, unless the deletion is to erase them too: they are the
/// app's, and other records refer to them. Their creator remains the account's user record name, which is never reused.
/// The user record and the account's name are deleted.
struct AccountDeletion {
    let account: AccountRow
    var erasesPublicRecords = false

    func run(in transaction: StorageTransaction) throws {
        // On every server, `runAlone` orders the deletion before or after each of the account's other transactions:
        // each of them has committed, or finds the account deleted.
        try transaction.runAlone()
        try transaction.advanceCatalog()
        guard try transaction.liveAccount(id: account.id) != nil else {
            throw ServiceError(.notFound, .unknownItem, "the account was deleted already")
        }
        for owner in account.subscriptionOwners {
            for subscription in try transaction.subscriptions(owner: owner, account: account.id) {
                _ = try transaction.removeSubscription(owner: owner, account: account.id, id: subscription.id)
            }
        }
        for token in try transaction.pushTokens(account: account.id) { try transaction.removePushToken(token.token) }
        try transaction.removeOutbox(account: account.id)
        for (role, members) in try Schema(transaction).members where members.contains(account.id) {
            try transaction.put(SchemaRows.row(ofMember: account.id, role: role, isMember: false))
        }
        try transaction.markAccountDeleted(id: account.id)
        try transaction.insert(
            JobRow(
                kind: BackgroundJob.eraseAccount.rawValue, zone: ZoneKey(owner: account.owner, id: 0),
                subject: erasesPublicRecords ? PublicErasure(after: 0).subject : ""))
    }
}

extension AccountRow {
    /// The owners of the account's subscriptions in the private, the public and the shared database.
    var subscriptionOwners: [OwnerID] { [owner, .everyone, OwnerID(rawValue: -id)] }
}
