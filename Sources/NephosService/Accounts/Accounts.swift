import NephosStorage
import NephosWire
import Synchronization

/// The accounts of one store. They never change once made, so what was read is kept.
final class Accounts: Sendable {
    private struct Known {
        /// By canonical names.
        var byName: [ExactString: AccountRow] = [:]
        var userRecordNames: [Int64: String] = [:]
    }

    private let known = Mutex(Known())

    func cached(named name: String) -> AccountRow? {
        known.withLock { $0.byName[ExactString(AccountName.canonical(name))] }
    }

    func remember(_ account: AccountRow) {
        known.withLock {
            $0.byName[ExactString(AccountName.canonical(account.name))] = account
            $0.userRecordNames[account.id] = account.userRecordName
        }
    }

    /// The name of the user record of an account, for a record's metadata; nil for nobody.
    func userRecordName(id: Int64, _ reader: any StorageReader) throws -> String? {
        if id == 0 { return nil }
        if let name = known.withLock({ $0.userRecordNames[id] }) { return name }
        guard let account = try reader.account(id: id) else { return nil }
        // Only the number is kept: the row may belong to a transaction that is not committed yet.
        return account.userRecordName
    }

    static func find(_ name: String, _ reader: any StorageReader) throws -> AccountRow? {
        for form in AccountName.stored(name) {
            if let account = try reader.account(named: form) { return account }
        }
        return nil
    }
}
