import NephosCrypto
import NephosStorage

/// The device lists of accounts in one transaction, each read and parsed once: a list has up to `Limits.keyListLength`
/// entries, and each item of a request may need it.
final class DeviceLists {
    private let caller: Caller
    private let reader: StorageReader
    /// The lists by the IDs of their accounts.
    private var known: [Int64: DeviceList] = [:]

    init(_ caller: Caller, _ reader: StorageReader) {
        self.caller = caller
        self.reader = reader
    }

    /// Returns an account's list, as the first call read it. Its entries were checked before they were stored.
    func list(of account: AccountRow) throws -> DeviceList {
        if let list = known[account.id] { return list }
        let list = try AccountKeys.list(of: account, caller, reader)
        known[account.id] = list
        return list
    }
}
