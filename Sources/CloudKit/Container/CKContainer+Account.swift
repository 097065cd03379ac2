import NephosWire

extension CKContainer {
    /// Whether there is an account.
    /// - Throws: `CKError` where it cannot be told.
    func currentAccountStatus() async throws -> CKAccountStatus {
        guard session.service.hasAccount else { return .noAccount }
        do {
            _ = try await currentUserRecordID()
            // Known only once something needed keys: no other caller waits for them.
            let ring = session.keyRing
            if await ring.isUnapproved { _ = try? await ring.device() }
            return await ring.isUnapproved ? .temporarilyUnavailable : .available
        } catch let error as CKError {
            switch error.code {
            case .notAuthenticated: return .noAccount
            case .managedAccountRestricted: return .restricted
            case .accountTemporarilyUnavailable: return .temporarilyUnavailable
            default: throw error
            }
        }
    }

    /// The ID of the account's user record in this container.
    /// - Throws: `CKError`, `.notAuthenticated` where there is no account.
    func currentUserRecordID() async throws -> CKRecord.ID {
        let name = try await session.currentUser(
            ServiceCall(scope: .public), ErrorContext(containerID: session.identifier))
        return CKRecord.ID(unchecked: name, zoneID: .default)
    }

    /// Calls `handler` with what `work` returns, on no queue in particular but never on the main one.
    func callBack<First: Sendable, Second: Sendable>(
        _ handler: @escaping @Sendable (First, Second) -> Void,
        _ work: @escaping @Sendable (CKContainer) async -> (First, Second)
    ) {
        LibraryExecutor.run({ await work(self) }, then: { handler($0.0, $0.1) })
    }
}

extension ContainerSession {
    /// The name of the account's user record, from the service.
    func currentUser(_ call: ServiceCall, _ context: ErrorContext) async throws(CKError) -> String {
        guard service.hasAccount else { throw noAccount(context) }
        do throws(ServiceFailure) {
            let user = try await service.currentUser(call)
            learn(userRecordName: user.userRecordName)
            return user.userRecordName
        } catch {
            throw CKError(error, context)
        }
    }
}

extension ContainerSession {
    /// What everything that needs an account fails with where there is none.
    func noAccount(_ context: ErrorContext) -> CKError {
        CKError(.notAuthenticated, "This needs an account, and there is none: \(service.signInAdvice).", context)
    }
}
