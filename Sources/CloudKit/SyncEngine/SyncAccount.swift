import NephosWire

/// What a sync engine found out of the account that it works as; of any other it says nothing.
struct SyncAccount {
    private weak var session: AccountSession?
    private var isPresent = false

    init() {}

    init(_ session: AccountSession, isPresent: Bool) {
        self.session = session
        self.isPresent = isPresent
    }

    /// Whether there is an account; nil where that was not asked as this one.
    func isPresent(as session: AccountSession) -> Bool? { self.session === session ? isPresent : nil }
}

extension SyncEngineCore {
    /// Finds out whose data this is, once until the account changes, and tells the delegate if that is news.
    /// - Throws: `notAuthenticated` where there is no account, `operationCancelled` where another one is signed in by now.
    func requireAccount(_ session: AccountSession) async throws(CKError) {
        let context = ErrorContext(containerID: session.identifier)
        if let failure = session.changeFailure { throw failure }
        switch account.withLock({ $0.isPresent(as: session) }) {
        case true?: return
        case false?: throw session.noAccount(context)
        case nil: break
        }
        let current: CKRecord.ID?
        do throws(CKError) {
            let name = try await session.currentUser(ServiceCall(scope: .public), context)
            current = CKRecord.ID(unchecked: name, zoneID: .default)
        } catch {
            guard error.code == .notAuthenticated else { throw error }
            current = nil
        }
        // An answer that comes late says whose data this was.
        if let failure = session.changeFailure { throw failure }
        account.exchange(SyncAccount(session, isPresent: current != nil))
        await noteUser(current)
        if current == nil { throw session.noAccount(context) }
    }

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
        await hand(
            .accountChange(.init(changeType: change)),
            before: { content in
                // What was added before the first account came is that account's.
                if previous == nil {
                    content.userRecordName = current?.recordName
                } else {
                    content.reset(user: current?.recordName)
                }
            })
        await handOutState()
    }
}
