extension SQL {
    private static let accounts = "SELECT id, name, user_record_name FROM account"

    /// The statements that read and write accounts, and rows that are found by an account alone.
    var accountText: String? {
        switch self {
        case .accountByID: "\(Self.accounts) WHERE id = $1"
        case .accountByName: "\(Self.accounts) WHERE \(Self.ofStore("id")) AND name = $1"
        case .accountByUserRecordName: "\(Self.accounts) WHERE \(Self.ofStore("id")) AND user_record_name = $1"
        case .accountsAfter:
            "\(Self.accounts) WHERE id > $1 AND \(Self.withinStore("id")) AND name IS NOT NULL ORDER BY id LIMIT $2"
        case .insertAccount: "INSERT INTO account (name, user_record_name) VALUES ($1, $2) RETURNING id"
        case .markAccountDeleted: "UPDATE account SET name = NULL WHERE id = $1 AND name IS NOT NULL"
        case .renameAccount: "UPDATE account SET name = $1 WHERE id = $2 AND name IS NOT NULL"
        case .participationsOfAccount:
            """
            SELECT \(Self.participantColumns) FROM share_participant WHERE account > 0 AND account = $1
            ORDER BY share, id LIMIT $2
            """
        case .purgeMembershipsOfAccount:
            """
            DELETE FROM membership WHERE account = $1 AND share IN (
                SELECT share FROM membership WHERE account = $1 ORDER BY share LIMIT $2)
            """
        case .unforgetMemberships: "DELETE FROM forgotten_membership WHERE account = $1"
        case .removeOutboxOfAccount: "DELETE FROM outbox WHERE account = $1"
        default: nil
        }
    }
}

extension StorageReader {
    /// The live account with that name; nil if there is none.
    package final func account(named name: String) throws -> AccountRow? {
        try row(.accountByName, bind: { try $0.bind(name) }, read: { AccountRow($0) })
    }

    /// The live or deleted account with that ID; nil if there is none.
    package final func account(id: Int64) throws -> AccountRow? {
        try row(.accountByID, bind: { try $0.bind(owner: id) }, read: { AccountRow($0) })
    }

    package final func account(userRecordName: String) throws -> AccountRow? {
        try row(.accountByUserRecordName, bind: { try $0.bind(userRecordName) }, read: { AccountRow($0) })
    }

    /// The live accounts with IDs above `id`, ordered by ID: at most `limit`.
    package final func accounts(after id: Int64, limit: Int) throws -> [AccountRow] {
        try rows(.accountsAfter, bind: { try $0.bind(owner: id).bind(limit: limit) }, read: { AccountRow($0) })
    }

    /// The rows of an account in all shares, including ended shares, ordered by share and ID.
    package final func participations(account: Int64, limit: Int) throws -> [ShareParticipantRow] {
        try rows(
            .participationsOfAccount, bind: { try $0.bind(owner: account).bind(limit: limit) },
            read: { ShareParticipantRow($0) })
    }
}

extension StorageTransaction {
    /// Adds an account and returns it with its new ID.
    /// - Throws: `StorageError` `.constraint` if another account has its name, or its user record's name.
    package func insertAccount(name: String, userRecordName: String) throws -> AccountRow {
        hasWritten = true
        let id = try row(.insertAccount, bind: { try $0.bind(name).bind(userRecordName) }, read: { $0.owner(0) })
        guard let id else { throw StorageError(.other, "The new account has no ID.") }
        return AccountRow(id: id, name: name, userRecordName: userRecordName)
    }

    /// Marks an account as deleted. Its row stays without a name, so that another account can use the name.
    /// - Throws: `StorageError` `.constraint` if no live account has that ID.
    package func markAccountDeleted(id: Int64) throws {
        guard try change(.markAccountDeleted, { try $0.bind(owner: id) }) == 1 else {
            throw StorageError(.constraint, "Account \(id) is not there, or was deleted.")
        }
    }

    /// Gives an account another name. Its ID and its user record's name stay.
    /// - Throws: `StorageError` `.constraint` if no live account has that ID, or if another account has the name.
    package func renameAccount(id: Int64, to name: String) throws {
        guard try change(.renameAccount, { try $0.bind(name).bind(owner: id) }) == 1 else {
            throw StorageError(.constraint, "Account \(id) is not there, or was deleted.")
        }
    }

    /// Removes up to `limit` memberships of an account, including former ones. With the last membership it also removes
    /// the account's purged-membership position.
    /// - Returns: the number of removed memberships.
    package func purgeMemberships(account: Int64, limit: Int) throws -> Int {
        let purged = try change(.purgeMembershipsOfAccount) { try $0.bind(owner: account).bind(limit: limit) }
        if purged < limit { try change(.unforgetMemberships) { try $0.bind(owner: account) } }
        return purged
    }

    /// Removes the pending notifications of an account for all its destinations.
    package func removeOutbox(account: Int64) throws {
        try change(.removeOutboxOfAccount) { try $0.bind(owner: account) }
    }
}

extension AccountRow {
    init(_ row: any SQLStatement) {
        let name = row.optionalText(1)
        self.init(
            id: row.owner(0), name: name ?? "", userRecordName: row.text(2), isDeleted: name == nil)
    }
}
