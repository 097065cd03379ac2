import NephosWire

/// The information that a sync engine has about its current account.
struct SyncAccount {
    private weak var session: AccountSession?
    private var isPresent = false

    init() {}

    init(_ session: AccountSession, isPresent: Bool) {
        self.session = session
        self.isPresent = isPresent
    }

    /// Whether an account is signed in; nil if the engine has not asked in this session.
    func isPresent(as session: AccountSession) -> Bool? { self.session === session ? isPresent : nil }
}

extension SyncEngineCore {
    /// Identifies the account once until it changes, and notifies the delegate of a change.
    ///
    /// Credentials that the service refuses are no sign-out: the session may have expired, and the user signs in again.
    /// - Throws: `notAuthenticated` if there is no account, or if the service refuses its credentials;
    ///   `operationCancelled` if another account has signed in meanwhile.
    func requireAccount(_ session: AccountSession) async throws(CKError) {
        let context = ErrorContext(containerID: session.identifier)
        if let failure = session.changeFailure { throw failure }
        switch account.withLock({ $0.isPresent(as: session) }) {
        case true?: return
        case false?: throw session.noAccount(context)
        case nil: break
        }
        var current: CKRecord.ID?
        if session.service.hasAccount {
            let name = try await session.currentUser(ServiceCall(scope: .public), context)
            current = CKRecord.ID(unchecked: name, zoneID: .default)
        }
        // The answer may arrive after an account switch, and then names the former account.
        if let failure = session.changeFailure { throw failure }
        account.exchange(SyncAccount(session, isPresent: current != nil))
        await noteUser(current)
        if current == nil { throw session.noAccount(context) }
    }

    /// Forgets the account, because the service refused its credentials: the next run identifies it again.
    func forgetAccount(_ session: AccountSession) {
        account.withLock { if $0.isPresent(as: session) == true { $0 = SyncAccount() } }
    }

    /// Whether the account is unknown, so that nothing can be fetched or sent.
    var isAccountUnknown: Bool { account.withLock { $0.isPresent(as: database.account) } == nil }

    private func noteUser(_ current: CKRecord.ID?) async {
        let previous = state.read { $0.userRecordName }.map { CKRecord.ID(unchecked: $0, zoneID: .default) }
        let change: CKSyncEngine.Event.AccountChange.ChangeType
        switch (previous, current) {
        case (nil, nil): return
        case (nil, let current?): change = .signIn(currentUser: current)
        case (let previous?, nil): change = .signOut(previousUser: previous)
        case (let previous?, let current?):
            if previous.recordName == current.recordName { return }
            change = .switchAccounts(previousUser: previous, currentUser: current)
        }
        // What the engine knows is the former account's.
        if previous != nil { progress.withLock { $0.reset() } }
        await hand(
            .accountChange(.init(changeType: change)),
            before: { content in
                // Changes that were added before the first account signed in belong to that account.
                if previous == nil {
                    content.userRecordName = current?.recordName
                } else {
                    content.reset(user: current?.recordName)
                }
            })
        noteWhetherWorkIsLeft()
        await handOutState()
    }
}
