import NephosStorage

extension Accounts {
    /// Finds an account. If it does not exist, creates it with its private default zone and two empty user records: one
    /// in the public database and one in the account's private database (`CKContainer`, Apple's documentation).
    /// - Parameter userRecordName: the name of the account's user record; nil generates one.
    static func findOrMake(
        _ name: String, userRecordName: String? = nil, _ environment: ServiceEnvironment,
        in transaction: StorageTransaction
    ) throws -> AccountRow {
        if let account = try find(name, transaction) { return account }
        let account = try transaction.insertAccount(
            name: AccountName.canonical(name), userRecordName: userRecordName ?? environment.makeUserRecordName())
        let privateZone = try ZoneRegistry.defaultZone(owner: account.owner, in: transaction)
        let publicZone = try ZoneRegistry.defaultZone(owner: .everyone, in: transaction)
        for zone in [privateZone, publicZone] {
            try putUserRecord(of: account, zone: zone.key, now: environment.now(), in: transaction)
        }
        return account
    }

    /// Stores an empty user record for an account.
    static func putUserRecord(
        of account: AccountRow, zone: ZoneKey, now: Int64, in transaction: StorageTransaction
    ) throws {
        try transaction.put(
            RecordRow(
                zone: zone, name: account.userRecordName, type: SystemRecordType.user,
                sequence: try transaction.nextSequence(), createdAt: now, createdBy: account.id, modifiedAt: now,
                modifiedBy: account.id, fields: Array("{}".utf8)))
    }
}
