import NephosCrypto
import NephosStorage

/// The in-memory store of a container for accounts that read the container before its first write. A draft keeps only
/// what its responses promised: the store that the first write makes starts with these promises, so that names and
/// tokens stay valid.
final class Draft: Sendable {
    /// The initial content of the store, as the responses of a draft promised it.
    struct Promise: Sendable {
        var secret: [UInt8]
        /// The accounts, in the order of creation.
        var accounts: [AccountRow]
        /// The highest change sequence that tokens may name.
        var sequence: Int64

        /// Writes the promised accounts to an empty store, and advances its change sequence.
        func keep(_ environment: ServiceEnvironment, in transaction: StorageTransaction) throws {
            for account in accounts {
                _ = try Accounts.findOrMake(
                    account.name, userRecordName: account.userRecordName, environment, in: transaction)
            }
            while try transaction.nextSequence() < sequence {}
        }
    }

    let store: Store

    init(_ store: Store) { self.store = store }

    /// Returns the name of an account's user record. The name is derived from the account's name, so that it stays the
    /// same after the draft is evicted, and on another or a restarted server.
    /// - Parameter place: the location of the stores, which distinguishes them from stores in other locations.
    static func userRecordName(of account: String, in id: StoreID, _ place: String) -> String {
        let hash = StreamingHash(.blake2b)
        for part in [place, id.container, id.environment, AccountName.canonical(account)] {
            hash.update(Array(part.utf8) + [0])
        }
        return "_" + AssetContent.name(Array(hash.finish().prefix(16)))
    }

    func promise() async throws -> Promise? {
        try await store.engine.read { reader in
            guard let secret = try reader.secret() else { return nil }
            return Promise(
                secret: secret, accounts: try reader.accounts(after: 0, limit: .max),
                sequence: try reader.completeUpTo(owner: .everyone))
        }
    }
}
