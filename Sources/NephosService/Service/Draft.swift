import NephosCrypto
import NephosStorage

/// A container's in-memory store for accounts that read it before its first write. It keeps only the
/// promises of its answers; the store that the first write makes starts with them, so that names and tokens stay valid.
final class Draft: Sendable {
    /// The initial content of the store.
    struct Promise: Sendable {
        var secret: [UInt8]
        /// In the order of creation.
        var accounts: [AccountRow]
        /// The change sequence that tokens may name.
        var sequence: Int64

        /// Writes the promised content to an empty store.
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

    /// Returns the name of an account's user record. It is derived from the account's name, so that it stays the same
    /// after the draft is evicted, or on another or restarted server.
    /// - Parameter place: distinguishes these stores from those in other locations.
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
