import NephosWire

/// A container as one account uses it, or as none does: from its sign-in until another account signs in.
///
/// An operation, and a cycle of a sync engine, keeps the one that it begins with. So it asks one service, seals with one
/// account's keys, and what it learns late is noted here, where the next account does not look.
final class AccountSession: Sendable {
    /// The container's.
    let identifier: String
    /// What answers the requests, as the account, until the account changes.
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

    /// Lets no request through from now on.
    func end() { gate.end() }

    /// Why work that began as this account ends; nil while it is signed in.
    var changeFailure: CKError? {
        hasEnded ? CKError(AccountService.accountChanged, ErrorContext(containerID: identifier)) : nil
    }

    /// The name of the account's user record, if an answer of the service told it already.
    var knownUserRecordName: String? { learntUser.withLock { $0 } }

    /// How answers name users and shares, as far as the account is known.
    var users: WireUsers { users(knownUserRecordName) }

    func users(_ currentUserRecordName: String?) -> WireUsers {
        WireUsers(currentUserRecordName: currentUserRecordName, shareURLRoot: service.shareURLRoot)
    }

    /// Keeps the name of the account's user record.
    func learn(userRecordName: String?) {
        guard service.hasAccount, let userRecordName, userRecordName != CKCurrentUserDefaultName else { return }
        learntUser.exchange(userRecordName)
    }

    /// The name of the account's user record, asked for once; nil where there is no account or the answer did not come.
    func userRecordName(_ call: ServiceCall) async -> String? {
        guard service.hasAccount else { return nil }
        if let known = knownUserRecordName { return known }
        guard let user = try? await service.currentUser(call) else { return nil }
        learn(userRecordName: user.userRecordName)
        return user.userRecordName
    }

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

    /// What everything that needs an account fails with where there is none.
    func noAccount(_ context: ErrorContext) -> CKError {
        CKError(.notAuthenticated, "This needs an account, and there is none: \(service.signInAdvice).", context)
    }
}
