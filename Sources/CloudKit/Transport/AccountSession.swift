import NephosWire

/// A container as one account uses it, or as it is used without an account, until another account signs in.
///
/// An operation, and each run of a sync engine, keeps the session with which it starts. So it uses one service, seals
/// with the keys of one account, and stores late answers in this session, where the next account does not read them.
final class AccountSession: Sendable {
    let identifier: String
    /// The service that answers requests as the account, until the account changes.
    let service: any CloudService
    /// The keys for the encrypted values of the account.
    let keyRing: KeyRing
    private let gate: AccountService
    private let learntUser = Locked<String?>(nil)

    init(_ identifier: String, _ service: any CloudService) {
        self.identifier = identifier
        gate = AccountService(service)
        self.service = gate
        keyRing = KeyRing(gate, container: identifier)
    }

    /// Whether the account has changed, so that this session has ended.
    var hasEnded: Bool { gate.hasEnded }

    /// Ends the session: all further requests are refused.
    func end() { gate.end() }

    /// The error of work that started as this account and was ended by an account change; nil while the account is
    /// signed in.
    var changeFailure: CKError? {
        hasEnded ? CKError(AccountService.accountChanged, ErrorContext(containerID: identifier)) : nil
    }

    /// The name of the account's user record, if an answer of the service has contained it; nil otherwise.
    var knownUserRecordName: String? { learntUser.withLock { $0 } }

    /// Converts the names of users and shares between the service's form and CloudKit's, as far as the account is
    /// known.
    var users: WireUsers { users(knownUserRecordName) }

    func users(_ currentUserRecordName: String?) -> WireUsers {
        WireUsers(currentUserRecordName: currentUserRecordName, shareURLRoot: service.shareURLRoot)
    }

    /// Stores the name of the account's user record; nil changes nothing.
    func learn(userRecordName: String?) {
        guard service.hasAccount, let userRecordName, userRecordName != CKCurrentUserDefaultName else { return }
        learntUser.exchange(userRecordName)
    }

    /// Returns the name of the account's user record, which is requested once; nil if there is no account or the
    /// request failed.
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

    /// Returns the error of an operation that needs an account, if there is none.
    func noAccount(_ context: ErrorContext) -> CKError {
        CKError(.notAuthenticated, "This needs an account, and there is none: \(service.signInAdvice).", context)
    }
}
