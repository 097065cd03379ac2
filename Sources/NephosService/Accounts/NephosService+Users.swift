import NephosStorage
package import NephosWire

extension NephosService {
    // MARK: - Users

    /// The caller's identity (CloudKit Web Services, users/caller).
    package func currentUser(_ context: RequestContext) async throws(ServiceError) -> UserDictionary {
        try await perform(context, reads: true) { store, caller in
            let account = try caller.requireAccount()
            return try await store.read(by: caller) { reader in
                // The look checks that the account was not deleted on another server.
                _ = try reader.account(id: account.id)
                return UserDictionary(userRecordName: account.userRecordName)
            }
        }
    }

    /// Users that made themselves discoverable to the app, among the caller's contacts or by what is known of them
    /// (CloudKit Web Services, users/discover). None does: Apple took the permission away in iOS 17.
    package func discoverUsers(
        _ request: UserLookupRequest, _ context: RequestContext
    ) async throws(ServiceError) -> UsersResponse {
        try await perform(context, reads: true) { _, caller in
            _ = try caller.requireAccount()
            if caller.scope != .public {
                throw ServiceError.badDatabase(
                    "endpoint not applicable in the database type '\(caller.scope.rawValue)db'")
            }
            return UsersResponse(users: [])
        }
    }
}
