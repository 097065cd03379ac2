import NephosStorage
package import NephosWire

extension NephosService {
    // MARK: - Users

    /// Returns the caller's identity (CloudKit Web Services, users/caller).
    package func currentUser(_ context: RequestContext) async throws(ServiceError) -> UserDictionary {
        try await perform(context, reads: true) { store, caller in
            let account = try caller.requireAccount()
            return try await store.read(by: caller) { reader in
                // This read checks that no other server deleted the account.
                _ = try reader.account(id: account.id)
                return UserDictionary(userRecordName: account.userRecordName)
            }
        }
    }

    /// Returns a token with which the caller signs in to CloudKit Web Services (`CKFetchWebAuthTokenOperation`, Apple's
    /// documentation). Where accounts are names, `dev:` and the name is one.
    package func webAuthToken(
        _ request: WebAuthTokenRequest, _ context: RequestContext
    ) async throws(ServiceError) -> WebAuthTokenResponse {
        let account = try await perform(context, reads: true) { _, caller in try caller.requireAccount() }
        guard let makeWebAuthToken = configuration.makeWebAuthToken else {
            return WebAuthTokenResponse(webAuthToken: "dev:\(account.name)")
        }
        return WebAuthTokenResponse(webAuthToken: try await makeWebAuthToken(request.apiToken, context))
    }

    /// Finds discoverable users among the caller's contacts, or by email address, phone number or record name (CloudKit
    /// Web Services, users/discover). The result is always empty: Apple removed the permission in iOS 17.
    /// - Throws: `notAuthenticated` for a server-to-server key, which has no contacts.
    package func discoverUsers(
        _ request: UserLookupRequest, _ context: RequestContext
    ) async throws(ServiceError) -> UsersResponse {
        try await perform(context, reads: true) { _, caller in
            _ = try caller.requireAccount()
            if context.program == .serverKey {
                throw ServiceError(
                    .authenticationFailed, .notAuthenticated, "a server-to-server key looks up no users: a session does"
                )
            }
            if caller.scope != .public {
                throw ServiceError.badDatabase(
                    "endpoint not applicable in the database type '\(caller.scope.rawValue)db'")
            }
            return UsersResponse(users: [])
        }
    }
}
