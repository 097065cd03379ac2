import NephosStorage
import NephosWire

/// The deletion of an account, in its transaction. From the commit on it does not sign in, and no account sees anything of its
/// private database, and nothing is notified; `AccountErasure` then erases what is there.
///
/// What it saved in the public database stays: that is the app's, and others refer to it. Its creator goes on to be the
/// account's user record name, which no account gets again; the user record itself goes, and the account's name with it.
struct AccountDeletion {
    let account: AccountRow

    func run(in transaction: StorageTransaction) throws {
        // What other transactions of its wrote is committed, or they find that it is deleted, on whichever server they run.
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
                kind: BackgroundJob.eraseAccount.rawValue, zone: ZoneKey(owner: account.owner, id: 0), subject: ""))
    }
}

extension AccountRow {
    /// The owners under which its subscriptions to the three databases are.
    var subscriptionOwners: [OwnerID] { [owner, .everyone, OwnerID(rawValue: -id)] }
}
