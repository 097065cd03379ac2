import NephosStorage
import NephosWire

extension NephosService {
    /// Deletes an account of an installation: its data in every store, then the account. If the process ends meanwhile,
    /// the account is there still, and the deletion can be repeated.
    /// - Parameter erasesPublicRecords: whether the records that the account created in public databases go, too.
    package func deleteAccount(
        named name: String, of installation: Installation, erasesPublicRecords: Bool = false, by actor: AuditActor
    ) async throws(ServiceError) -> AccountSummary {
        let id = try await installation.accountID(named: name)
        _ = try await installation.endSessions(ofAccountNamed: name, id: nil, withProgramTokens: true, by: actor)
        for store in try await storesAfterRecheck(installation) {
            try await delete(id, from: store, erasesPublicRecords)
        }
        let removed = try await installation.removeAccount(named: name, by: actor)
        // A restored backup has the account again, and nothing else says so.
        environment.log("account deleted: \(id)\(erasesPublicRecords ? ", with its public records" : "")")
        return removed
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

    /// Deletes the account from a store; does nothing if the account never used the store.
    private func delete(
        _ account: String, from store: StoreID, _ erasesPublicRecords: Bool
    ) async throws(ServiceError) {
        guard let environment = ContainerEnvironment(rawValue: store.environment) else { return }
        let context = RequestContext(
            container: store.container, environment: environment, scope: .public, account: nil,
            requestID: "account deletion")
        do {
            _ = try await deleteAccount(
                DeleteAccountRequest(account: account), context, erasesPublicRecords: erasesPublicRecords)
        } catch {
            guard error.clientCode == .unknownItem else { throw error }
        }
    }
}
