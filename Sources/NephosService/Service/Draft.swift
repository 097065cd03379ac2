import NephosCrypto
import NephosStorage

/// What a container is to accounts that read it before its first write: a store in memory, of which nothing is kept but what
/// they were told. The store that the first write makes begins with that, so that names and tokens stay good.
final class Draft: Sendable {
    /// What the store begins with.
    struct Promise: Sendable {
        var secret: [UInt8]
        /// In the order in which they were made.
        var accounts: [AccountRow]
        /// The change sequence that tokens may name.
        var sequence: Int64

        /// Makes what was promised in a store that has nothing yet.
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

    /// The name of an account's user record. It follows from the account's name, so that it is the same after the draft was
    /// forgotten, as by a server that was started anew.
    /// - Parameter place: what tells the stores from those in other places.
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
