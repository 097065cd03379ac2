import NephosWire

extension CKContainer {
    /// Returns the status of the account.
    /// - Throws: `CKError` if the status is unknown.
    func currentAccountStatus() async throws -> CKAccountStatus {
        let account = account
        guard account.service.hasAccount else { return .noAccount }
        do throws(CKError) {
            _ = try await account.currentUser(accountCall, ErrorContext(containerID: account.identifier))
            // The result is known only after an operation needed keys, because a status request does not wait for keys.
            let ring = account.keyRing
            if await ring.isUnapproved { _ = try? await ring.device() }
            return await ring.isUnapproved ? .temporarilyUnavailable : .available
        } catch {
            switch error.code {
            // The account is signed in here, and the service refuses its credentials: its session is over.
            case .notAuthenticated: return .temporarilyUnavailable
            case .managedAccountRestricted: return .restricted
            case .accountTemporarilyUnavailable: return .temporarilyUnavailable
            // The account is signed in here, as an offline device of Apple's reports it.
            case .networkUnavailable, .networkFailure: return .available
            default: throw error
            }
        }
    }

    /// Returns the ID of the account's user record in this container.
    /// - Throws: `CKError`: `.notAuthenticated` if there is no account.
    func currentUserRecordID() async throws -> CKRecord.ID {
        let name = try await account.currentUser(accountCall, ErrorContext(containerID: session.identifier))
        return CKRecord.ID(unchecked: name, zoneID: .default)
    }

    /// Calls `handler` with the result of `work`, on an unspecified queue that is never the main queue.
    func callBack<First: Sendable, Second: Sendable>(
        _ handler: @escaping @Sendable (First, Second) -> Void,
        _ work: @escaping @Sendable (CKContainer) async -> (First, Second)
    ) {
        LibraryExecutor.run(
            for: account.service, in: session.handlerDirectory, { await work(self) },
            then: { handler($0.0, $0.1) })
    }
}
