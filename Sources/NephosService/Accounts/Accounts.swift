import NephosStorage
import NephosThreads
import NephosWire

/// The accounts of one store. An account's row changes only by the account's deletion, so the rows are cached. A
/// deletion in this process marks the account in this cache before the deletion commits. A deletion in another process
/// advances the version of the store's catalogue, and `checkLives` compares that version.
///
/// `@unchecked`: `lock` guards `known`. Every request takes `lock`, on any thread. The standard library's `Mutex`
/// inherits priority: under contention it is handed from thread to thread, each woken first, while the others spin.
final class Accounts: @unchecked Sendable {
    private struct Known {
        /// The cached accounts by canonical name.
        var byName: [ExactString: AccountRow] = [:]
        var userRecordNames: [Int64: String] = [:]
        /// The IDs of the accounts that were deleted, or are being deleted, while the store is open.
        var deleted: Set<Int64> = []
        /// The owners in whose zones an account wrote through its shared database.
        var sharingOwners: [SharedWrite: OwnerID] = [:]
        /// The catalogue version at which each account was last found live, by account ID.
        var seenAt: [Int64: Int64] = [:]
    }

    /// An account that writes in its shared database, and the user record name of the owner in whose zone.
    private struct SharedWrite: Hashable {
        var account: Int64
        var owner: String
    }

    private let lock = Lock()
    private var known = Known()

    private func withKnown<T>(_ body: (inout Known) -> T) -> T {
        lock.withLock { body(&known) }
    }

    func cached(named name: String) -> AccountRow? {
        let name = ExactString(AccountName.canonical(name))
        return withKnown { $0.byName[name] }
    }

    func remember(_ account: AccountRow) {
        let name = ExactString(AccountName.canonical(account.name))
        withKnown { known in
            guard !known.deleted.contains(account.id) else { return }
            known.byName[name] = account
            known.userRecordNames[account.id] = account.userRecordName
        }
    }

    // MARK: Owners of shared zones

    /// The owner in whose zone the account wrote before; nil if it did not, or has been evicted. A hint that names the
    /// line of a write: it grants nothing.
    func sharingOwner(named owner: String, for account: Int64) -> OwnerID? {
        withKnown { $0.sharingOwners[SharedWrite(account: account, owner: owner)] }
    }

    func remember(sharingOwner id: OwnerID, named owner: String, for account: Int64) {
        withKnown { known in
            if known.sharingOwners.count >= Limits.knownSharingOwners { known.sharingOwners.removeAll() }
            known.sharingOwners[SharedWrite(account: account, owner: owner)] = id
        }
    }

    // MARK: Deletion

    /// Evicts an account that is about to be deleted: `checkLives` fails for it from now on.
    func beginDeletion(of account: AccountRow) {
        withKnown { known in
            known.deleted.insert(account.id)
            known.byName[ExactString(AccountName.canonical(account.name))] = nil
        }
    }

    /// Reverts `beginDeletion` after the deletion failed.
    func cancelDeletion(of account: AccountRow) {
        withKnown { _ = $0.deleted.remove(account.id) }
    }

    /// Checks in the caller's snapshot or transaction that the account was not deleted since the request began. A
    /// deletion runs alone (`runAlone`), so it also erases the writes of transactions that passed this check earlier.
    /// - Throws: `notAuthenticated` if the account was deleted.
    func checkLives(_ account: AccountRow?, _ reader: StorageReader) throws {
        guard let account else { return }
        let (isDeleted, version) = withKnown { ($0.deleted.contains(account.id), $0.seenAt[account.id]) }
        if !isDeleted {
            if let version, try reader.isCurrent(version, of: .catalog) { return }
            let current = try reader.version(of: .catalog)
            if try reader.liveAccount(id: account.id) != nil {
                return withKnown { $0.seenAt[account.id] = max(current, $0.seenAt[account.id] ?? 0) }
            }
            beginDeletion(of: account)
        }
        throw ServiceError(.authenticationRequired, .notAuthenticated, "the account was deleted")
    }

    /// The user record name of the account with this ID, for a record's metadata; nil if the ID is 0 (no account) or
    /// unknown.
    func userRecordName(id: Int64, _ reader: StorageReader) throws -> String? {
        if id == 0 { return nil }
        if let name = withKnown({ $0.userRecordNames[id] }) { return name }
        guard let account = try reader.account(id: id) else { return nil }
        // Not cached: the row may belong to an uncommitted transaction.
        return account.userRecordName
    }

    static func find(_ name: String, _ reader: StorageReader) throws -> AccountRow? {
        for form in AccountName.stored(name) {
            if let account = try reader.account(named: form) { return account }
        }
        return nil
    }
}

extension StorageReader {
    /// The account with this ID; nil if the account does not exist or was deleted.
    func liveAccount(id: Int64) throws -> AccountRow? {
        try account(id: id).flatMap { $0.isDeleted ? nil : $0 }
    }

    func liveAccount(userRecordName: String) throws -> AccountRow? {
        try account(userRecordName: userRecordName).flatMap { $0.isDeleted ? nil : $0 }
    }
}
