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

    /// Finds the account, or makes it with its private default zone and its two user records, which begin empty: one in
    /// the public and one in its private database (`CKContainer`, Apple's documentation).
    static func findOrMake(
        _ name: String, _ environment: ServiceEnvironment, in transaction: any StorageTransaction
    ) throws -> AccountRow {
        if let account = try find(name, transaction) { return account }
        let account = try transaction.insertAccount(
            name: AccountName.canonical(name), userRecordName: environment.makeUserRecordName())
        let privateZone = try ZoneRegistry.defaultZone(owner: account.owner, in: transaction)
        let publicZone = try ZoneRegistry.defaultZone(owner: .everyone, in: transaction)
        for zone in [privateZone, publicZone] {
            try putUserRecord(of: account, zone: zone.key, now: environment.now(), in: transaction)
        }
        return account
    }

    /// An account's user record as it is at first: empty.
    static func putUserRecord(
        of account: AccountRow, zone: ZoneKey, now: Int64, in transaction: any StorageTransaction
    ) throws {
        try transaction.put(
            RecordRow(
                zone: zone, name: account.userRecordName, type: SystemRecordType.user,
                sequence: try transaction.nextSequence(), createdAt: now, createdBy: account.id, modifiedAt: now,
                modifiedBy: account.id, fields: Array("{}".utf8)))
    }
}
