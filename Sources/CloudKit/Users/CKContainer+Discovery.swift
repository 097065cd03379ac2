// Since iOS 17 CloudKit discovers no users. These methods return no user, but still require an account.

@available(*, deprecated, message: "CloudKit no longer discovers users")
extension CKContainer {
    /// Finds no user. Fails if there is no account.
    @preconcurrency
    public func discoverUserIdentities(
        forEmailAddresses emails: [String],
        completionHandler: @escaping @Sendable (Result<[String: CKUserIdentity], any Error>) -> Void
    ) {
        discover([:], completionHandler)
    }

    /// Finds no user. Throws if there is no account.
    public func userIdentities(forEmailAddresses emails: [String]) async throws -> [String: CKUserIdentity] {
        try await discovered([:])
    }

    /// Finds no user. Fails if there is no account.
    @preconcurrency
    public func discoverUserIdentities(
        forPhoneNumbers phoneNumbers: [String],
        completionHandler: @escaping @Sendable (Result<[String: CKUserIdentity], any Error>) -> Void
    ) {
        discover([:], completionHandler)
    }

    /// Finds no user. Throws if there is no account.
    public func userIdentities(forPhoneNumbers phoneNumbers: [String]) async throws -> [String: CKUserIdentity] {
        try await discovered([:])
    }

    /// Finds no user. Fails if there is no account.
    @preconcurrency
    public func discoverUserIdentities(
        forUserRecordIDs userRecordIDs: [CKRecord.ID],
        completionHandler: @escaping @Sendable (Result<[CKRecord.ID: CKUserIdentity], any Error>) -> Void
    ) {
        discover([:], completionHandler)
    }

    /// Finds no user. Throws if there is no account.
    public func userIdentities(
        forUserRecordIDs userRecordIDs: [CKRecord.ID]
    ) async throws -> [CKRecord.ID: CKUserIdentity] {
        try await discovered([:])
    }
}

extension CKContainer {
    /// Returns `nothing`. Throws if there is no account.
    func discovered<Found: Sendable>(_ nothing: Found) async throws(CKError) -> Found {
        _ = try await account.currentUser(accountCall, ErrorContext(containerID: session.identifier))
        return nothing
    }

    func discover<Found: Sendable>(
        _ nothing: Found?, _ handler: @escaping @Sendable (Found?, (any Error)?) -> Void
    ) {
        callBack(handler) { container in
            do {
                return (try await container.discovered(nothing), nil)
            } catch {
                return (nil, error)
            }
        }
    }

    fileprivate func discover<Found: Sendable>(
        _ nothing: Found, _ handler: @escaping @Sendable (Result<Found, any Error>) -> Void
    ) {
        LibraryExecutor.run(
            for: account.service, in: session.handlerDirectory,
            { () async -> Result<Found, any Error> in
                do {
                    return .success(try await self.discovered(nothing))
                } catch {
                    return .failure(error)
                }
            }, then: handler)
    }
}
