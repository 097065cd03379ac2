extension SyncEngineCore {
    /// Finds out whose data this is, once until the account changes, and tells the delegate if that is news.
    /// - Throws: `notAuthenticated` where there is no account.
    func requireAccount() async throws(CKError) {
        switch account.withLock({ $0 }) {
        case .present: return
        case .absent: throw database.session.noAccount(ErrorContext(containerID: database.session.identifier))
        case .unknown: break
        }
        let current: CKRecord.ID?
        do {
            current = try await database.container.userRecordID()
        } catch {
            let error = CKError(any: error)
            guard error.code == .notAuthenticated else { throw error }
            current = nil
        }
        account.exchange(current == nil ? .absent : .present)
        await noteUser(current)
        if current == nil { throw database.session.noAccount(ErrorContext(containerID: database.session.identifier)) }
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
