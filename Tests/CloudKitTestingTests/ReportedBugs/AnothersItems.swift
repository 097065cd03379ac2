import CloudKit

/// After a switch of accounts the app sends everything to the new account, the former one's items among it (Muesli-HQ/muesli
/// #465).
final class AnothersItems: EngineApp, @unchecked Sendable {
    // Unchecked like its superclass; it has no state of its own.

    override func accountDidChange(
        _ change: CKSyncEngine.Event.AccountChange.ChangeType, _ disk: inout Disk
    ) {
        if case .switchAccounts(_, let user) = change, !isMended {
            disk.sendAllAgain()
            disk.account = user.recordName
        } else {
            super.accountDidChange(change, &disk)
        }
    }
}
