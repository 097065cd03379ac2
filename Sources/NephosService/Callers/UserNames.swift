import NephosStorage
import NephosWire

/// The user names in a response's records. Each name is looked up once.
final class UserNames {
    private let accounts: Accounts
    private let reader: StorageReader
    /// The caller's account, which is the user of most records; nil without an account.
    private let own: AccountRow?
    /// The names that were returned before the last one.
    private var known: [Int64: JSONBytes] = [:]
    /// The last name that was returned. Neighbours in a feed mostly have the same user.
    private var last: (id: Int64, name: JSONBytes)?

    init(_ accounts: Accounts, _ reader: StorageReader, own: AccountRow? = nil) {
        self.own = own
        self.accounts = accounts
        self.reader = reader
    }

    /// The name of the account's user record in UTF-8; empty for no account. The buffer is valid while this object
    /// lives.
    func bytes(of account: Int64) throws -> UnsafeRawBufferPointer {
        if let last, last.id == account { return last.name.buffer }
        if let last { known[last.id] = last.name }
        let name = try known[account] ?? JSONBytes(userRecordName(account) ?? "")
        last = (account, name)
        return name.buffer
    }

    private func userRecordName(_ account: Int64) throws -> String? {
        if let own, own.id == account { return own.userRecordName }
        return try accounts.userRecordName(id: account, reader)
    }

    /// The name of the account's user record; empty for no account.
    func string(of account: Int64) throws -> String { String(decoding: try bytes(of: account), as: UTF8.self) }
}
