import NephosStorage
import NephosWire

/// The names of the users that an answer's records name, each looked up once.
final class UserNames {
    private let accounts: Accounts
    private let reader: StorageReader
    /// The caller, of whom most records are.
    private let own: AccountRow?
    private var known: [Int64: JSONBytes] = [:]
    /// Neighbours in a feed are mostly of one user.
    private var last: (id: Int64, name: JSONBytes)?

    init(_ accounts: Accounts, _ reader: StorageReader, own: AccountRow? = nil) {
        self.own = own
        self.accounts = accounts
        self.reader = reader
    }

    /// The name of the account's user record in UTF-8, which stays where it is as long as this lives; empty for no account.
    func bytes(of account: Int64) throws -> UnsafeRawBufferPointer {
        if let last, last.id == account { return last.name.buffer }
        let name = try known[account] ?? JSONBytes(userRecordName(account) ?? "")
        known[account] = name
        last = (account, name)
        return name.buffer
    }

    private func userRecordName(_ account: Int64) throws -> String? {
        if let own, own.id == account { return own.userRecordName }
        return try accounts.userRecordName(id: account, reader)
    }

    /// The same as a string.
    func string(of account: Int64) throws -> String { String(decoding: try bytes(of: account), as: UTF8.self) }
}
