import NephosStorage
package import NephosWire

extension NephosService {
    /// Lists a container's accounts, in order of creation.
    package func listAccounts(
        _ request: ListAccountsRequest, _ context: RequestContext
    ) async throws(ServiceError) -> AccountsResponse {
        try await administer(context, ifUnused: AccountsResponse(accounts: [])) { store in
            let strings = TokenCodec(key: store.key, database: "")
            return try await store.engine.read { reader in
                let start = try Self.position(request.continuationMarker, for: .accounts, strings)
                let rows = try reader.accounts(after: start, limit: Limits.accountsPerPage)
                let last = rows.count == Limits.accountsPerPage ? rows.last : nil
                return AccountsResponse(
                    accounts: rows.map { .init(name: $0.name, userRecordName: $0.userRecordName) },
                    continuationMarker: last.map { strings.text(Array("\($0.id)".utf8), for: .accounts) })
            }
        }
    }

    /// Deletes an account: its private database with its shares, its participation in others' shares, its keys,
    /// subscriptions and push tokens. When this method returns, no account sees that data, and owners of shares see one
    /// participant less; background jobs then erase the data. A later sign-in under the same name creates another account.
    package func deleteAccount(
        _ request: DeleteAccountRequest, _ context: RequestContext
    ) async throws(ServiceError) -> DeleteAccountResponse {
        try await deleteAccount(request, context, erasesPublicRecords: false)
    }

    /// - Parameter erasesPublicRecords: whether the records that the account created in the public database go, too.
    func deleteAccount(
        _ request: DeleteAccountRequest, _ context: RequestContext, erasesPublicRecords: Bool
    ) async throws(ServiceError) -> DeleteAccountResponse {
        try await administer(context) { store in
            let (account, response) = try await store.engine.read { reader in
                let account = try Self.account(named: request.account, reader)
                return (account, try Self.summary(of: account, reader))
            }
            store.accounts.beginDeletion(of: account)
            do {
                // Required by `SchemaCatalog`: the deletion removes the account's roles.
                store.schemas.beginChange()
                defer { store.schemas.endChange() }
                let deletion = AccountDeletion(account: account, erasesPublicRecords: erasesPublicRecords)
                try await store.engine.write { try deletion.run(in: $0) }
            } catch {
                store.accounts.cancelDeletion(of: account)
                throw error
            }
            await store.background.leaveShares(of: account)
            store.background.wake()
            // If background work is disabled, the data is erased before the response.
            if !configuration.worksInBackground { await store.background.settle() }
            return response
        }
    }

    private static func summary(
        of account: AccountRow, _ reader: StorageReader
    ) throws -> DeleteAccountResponse {
        let zones = try reader.zones(owner: account.owner).filter { !ZoneRules.isDefault($0.name) }
        let subscriptions = try account.subscriptionOwners.reduce(0) {
            try $0 + reader.subscriptions(owner: $1, account: account.id).count
        }
        return DeleteAccountResponse(
            account: account.name, userRecordName: account.userRecordName, zones: zones.count,
            shares: try zones.reduce(0) { try $0 + reader.shares(zone: $1.key, limit: Limits.sharesCounted).count },
            joinedShares: try reader.memberships(account: account.id).count { $0.left == 0 },
            subscriptions: subscriptions, pushTokens: try reader.pushTokens(account: account.id).count,
            assetBytes: try reader.assetBytes(owner: account.owner))
    }
}
