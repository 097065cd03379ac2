import NephosStorage
import NephosWire

extension NephosService {
    /// Deletes an account of an installation: its data in every store, then the account. If the process ends meanwhile,
    /// the account is there still: `resumeDeletions` goes on, and the deletion can be repeated.
    /// - Parameters:
    ///   - name: the account's name, or its ID, which also deletes data whose account is gone.
    ///   - erasesPublicRecords: whether the records that the account created in public databases go, too.
    package func deleteAccount(
        named name: String, of installation: Installation, erasesPublicRecords: Bool = false, by actor: AuditActor
    ) async throws(ServiceError) -> AccountSummary {
        if AccountID.isValid(name) {
            guard let known = try await installation.name(ofAccount: name) else {
                return try await deleteStray(name, of: installation, erasesPublicRecords, by: actor)
            }
            return try await deleteAccount(
                named: known, of: installation, erasesPublicRecords: erasesPublicRecords, by: actor)
        }
        let id = try await installation.accountID(named: name)
        try await installation.beginDeletion(
            ofAccountNamed: name, erasesPublicRecords: erasesPublicRecords, by: actor)
        logDeletion(of: id, erasesPublicRecords)
        for store in try await storesAfterRecheck(installation) {
            try await delete(id, from: store, erasesPublicRecords)
        }
        try await refuseMissingStores()
        return try await installation.removeAccount(named: name, by: actor)
    }

    /// Logs a deletion before it removes anything: a restored backup has the account again, and nothing else says so. A deletion
    /// that is resumed is logged again.
    private func logDeletion(of id: String, _ erasesPublicRecords: Bool) {
        environment.log("account deleted: \(id)\(erasesPublicRecords ? ", with its public records" : "")")
    }

    /// Resumes interrupted deletions at the start and at intervals, until the task is cancelled.
    package func resumeDeletions(of installation: Installation) async {
        var atStart = true
        repeat {
            do {
                for (account, deletion) in try await installation.interruptedDeletions(atStart: atStart) {
                    await resume(deletion, of: account, installation)
                }
            } catch {
                environment.log("resuming deletions of accounts: \(error)")
            }
            atStart = false
        } while (try? await environment.sleep(milliseconds: Limits.interruptedDeletion)) != nil
    }

    /// Resumes one deletion. A failure is logged, and keeps no other deletion waiting.
    private func resume(_ deletion: BegunDeletion, of account: String, _ installation: Installation) async {
        do {
            _ = try await deleteAccount(
                named: account, of: installation, erasesPublicRecords: deletion.erasesPublicRecords,
                by: AuditActor(name: deletion.actor, address: deletion.address))
        } catch {
            // Another server may have ended it.
            if error.clientCode != .unknownItem { environment.log("resuming the deletion of \(account): \(error)") }
        }
    }

    /// Deletes the data of an account that containers have and the installation has not, as after the restore of a
    /// container alone.
    private func deleteStray(
        _ id: String, of installation: Installation, _ erasesPublicRecords: Bool, by actor: AuditActor
    ) async throws(ServiceError) -> AccountSummary {
        try await installation.checkIsNoServerKeyUser(id)
        var isFound = false
        for store in try await storesAfterRecheck(installation) {
            guard try await delete(id, from: store, erasesPublicRecords) else { continue }
            if !isFound { logDeletion(of: id, erasesPublicRecords) }
            isFound = true
        }
        try await refuseMissingStores()
        try await installation.removeServerKeyUser(id)
        // Says that there is no such account.
        guard isFound else { return try await installation.removeAccount(named: id, by: actor) }
        try await installation.audit("account removed", id, by: actor)
        return AccountSummary(stray: id)
    }

    /// Deletes the account of a browser, as its person confirms by its name.
    /// - Throws: `invalidArguments` for another name; `notAuthenticated` if the sign-in is older than 15 minutes.
    package func deleteAccount(
        of browser: BrowserSession, confirmedBy name: String, erasesPublicRecords: Bool,
        of installation: Installation, address: [UInt8]
    ) async throws(ServiceError) {
        guard SignInName.canonical(name) == browser.name else {
            throw .invalid("the name that was typed is not the account's")
        }
        try Administrator.checkIsRecent(browser.authenticatedAt, at: environment.now())
        _ = try await deleteAccount(
            named: browser.name, of: installation, erasesPublicRecords: erasesPublicRecords,
            by: AuditActor(name: browser.account, address: SignInCounters.network(address) ?? ""))
    }

    /// Returns all stores, once no request may make the account again in one of them.
    private func storesAfterRecheck(_ installation: Installation) async throws(ServiceError) -> [StoreID] {
        do {
            try await installation.waitForRecheck()
            return Array(try await stores.known())
        } catch {
            throw translate(error, requestID: "account deletion")
        }
    }

    /// Leaves a deletion begun while a store is missing: once restored, the store has the account again.
    private func refuseMissingStores() async throws(ServiceError) {
        let missing: Set<StoreID>
        do { missing = try await stores.missing() } catch { throw translate(error, requestID: "account deletion") }
        guard let store = missing.min(by: { ($0.container, $0.environment) < ($1.container, $1.environment) }) else {
            return
        }
        throw ServiceError(
            .tryAgainLater, .serviceUnavailable,
            "the store of \(store.container), \(store.environment) is missing: the deletion goes on once it is restored"
        )
    }

    /// Deletes the account from a store.
    /// - Returns: whether the account used the store.
    @discardableResult
    private func delete(
        _ account: String, from store: StoreID, _ erasesPublicRecords: Bool
    ) async throws(ServiceError) -> Bool {
        guard let environment = ContainerEnvironment(rawValue: store.environment) else { return false }
        let context = RequestContext(
            container: store.container, environment: environment, scope: .public, account: nil,
            requestID: "account deletion")
        do {
            _ = try await deleteAccount(
                DeleteAccountRequest(account: account), context, erasesPublicRecords: erasesPublicRecords)
            return true
        } catch {
            // The container may have been deleted meanwhile.
            guard error.clientCode == .unknownItem || error.clientCode == .badContainer else { throw error }
            return false
        }
    }
}
