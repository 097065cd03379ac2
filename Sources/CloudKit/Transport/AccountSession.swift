import NephosWire

/// A container as one account, or none, uses it: from that account's sign-in until another account signs in.
///
/// An operation, and each run of a sync engine, keeps the session it starts with. So it uses one service, seals with
/// one account's keys, and stores late answers here, where the next account does not read them.
final class AccountSession: Sendable {
    /// The container's identifier.
    let identifier: String
    /// Answers the requests, as the account, until the account changes.
    let service: any CloudService
    /// The keys of the account's encrypted values.
    let keyRing: KeyRing
    private let gate: AccountService
    private let learntUser = Locked<String?>(nil)

    init(_ identifier: String, _ service: any CloudService) {
        self.identifier = identifier
        gate = AccountService(service)
        self.service = gate
        keyRing = KeyRing(gate, container: identifier)
    }

    /// Whether another account, or none, is signed in by now.
    var hasEnded: Bool { gate.hasEnded }

    /// Refuses all requests from now on.
    func end() { gate.end() }

    /// The reason that work started as this account ends; nil while the account is signed in.
    var changeFailure: CKError? {
        hasEnded ? CKError(AccountService.accountChanged, ErrorContext(containerID: identifier)) : nil
    }

    /// The name of the account's user record, if an answer of the service contained it.
    var knownUserRecordName: String? { learntUser.withLock { $0 } }

    /// The wire names of users and shares, as far as the account is known.
    var users: WireUsers { users(knownUserRecordName) }

    func users(_ currentUserRecordName: String?) -> WireUsers {
        WireUsers(currentUserRecordName: currentUserRecordName, shareURLRoot: service.shareURLRoot)
    }

    /// Stores the name of the account's user record.
    func learn(userRecordName: String?) {
        guard service.hasAccount, let userRecordName, userRecordName != CKCurrentUserDefaultName else { return }
        learntUser.exchange(userRecordName)
    }

    /// The name of the account's user record, requested once; nil if there is no account or the request failed.
    func userRecordName(_ call: ServiceCall) async -> String? {
        guard service.hasAccount else { return nil }
        if let known = knownUserRecordName { return known }
        guard let user = try? await service.send(.currentUser, call) else { return nil }
        learn(userRecordName: user.userRecordName)
        return user.userRecordName
    }

    /// Requests the name of the account's user record.
    func currentUser(_ call: ServiceCall, _ context: ErrorContext) async throws(CKError) -> String {
        guard service.hasAccount else { throw noAccount(context) }
        do throws(ServiceFailure) {
            let user = try await service.send(.currentUser, call)
            learn(userRecordName: user.userRecordName)
            return user.userRecordName
        } catch {
            throw CKError(error, context)
        }
    }

    /// The error of an operation that needs an account, if there is none.
    func noAccount(_ context: ErrorContext) -> CKError {
        CKError(.notAuthenticated, "This needs an account, and there is none: \(service.signInAdvice).", context)
    }
}
