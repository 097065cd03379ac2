import NephosService
import NephosWire

/// A message of the administration that reads records.
protocol PrivateDataReading {
    /// The account whose private database is read; nil for the public database.
    var readAccount: String? { get }
}

extension ListRecordsRequest: PrivateDataReading {
    var readAccount: String? { place.account }
}

extension ShowRecordRequest: PrivateDataReading {
    var readAccount: String? { place.account }
}

extension ExplainQueryRequest: PrivateDataReading {
    var readAccount: String? { database == "public" ? nil : account }
}

extension FindRecordsRequest: PrivateDataReading {
    /// No one account: those of the whole container. A message without a search reads nothing.
    var readAccount: String? { database == nil && (recordName ?? value) != nil ? "" : nil }
}

extension ExplainAccessRequest: PrivateDataReading {
    var readAccount: String? { owner }
}

extension RoutedRequest {
    /// Checks that the caller may read private records, if the message reads some, and adds that to the audit.
    func checkReads(
        _ message: some Sendable, of place: AdministrationPath, route: String
    ) async throws(ServiceError) {
        guard let installation = access.installation, let administrator,
            let account = (message as? any PrivateDataReading)?.readAccount
        else { return }
        do throws(ServiceError) {
            try administrator.check(.readPrivateRecords(container: place.container), at: service.environment.now())
        } catch {
            let address = SignInCounters.network(request.client) ?? ""
            installation.noteRefusal(
                route, place.container, by: administrator.actor(address: address), address: address)
            throw error
        }
        try await auditReads(of: account, in: place, route: route)
    }

    private func auditReads(
        of account: String, in place: AdministrationPath, route: String
    ) async throws(ServiceError) {
        guard let installation = access.installation, let administrator else { return }
        // A name that is no account's may be an address.
        let object = AuditedEvent.object(place.container, place.environment.rawValue)
        let address = SignInCounters.network(request.client) ?? ""
        try await installation.audit(
            route, AccountID.isOne(account) ? "\(object) \(account)" : object,
            by: administrator.actor(address: address))
    }

    /// Returns an answer without the GUIDs of shares, which let any account join a public share, unless the caller may read
    /// private records. That is audited. Invited addresses are for administrators alone.
    func withVisibleShares<Answer: Sendable>(
        _ answer: Answer, in place: AdministrationPath, route: String
    ) async throws(ServiceError) -> Answer {
        guard access.installation != nil, var list = answer as? AccountSharesResponse, let administrator else {
            return answer
        }
        if administrator.hasRole(for: .readPrivateRecords(container: place.container)) {
            try await auditReads(of: "", in: place, route: route)
        } else {
            for index in list.shares.indices { list.shares[index].shortGUID = "" }
        }
        if !administrator.hasRole(for: .viewInstallation) {
            for index in list.shares.indices { list.shares[index].removeAddresses() }
        }
        return list as? Answer ?? answer
    }

    /// Returns an answer with the names with which its accounts sign in, for administrators of the installation.
    func withSignInNames<Answer: Sendable>(_ answer: Answer) async throws(ServiceError) -> Answer {
        guard let installation = access.installation, var accounts = answer as? AccountsResponse,
            let administrator, (try? administrator.check(.viewInstallation, at: service.environment.now())) != nil
        else { return answer }
        let names = try await installation.naming(accounts.accounts.map(\.name).joined(separator: "\n"))
            .split(separator: "\n", omittingEmptySubsequences: false)
        for (index, name) in zip(accounts.accounts.indices, names) where accounts.accounts[index].name != name {
            accounts.accounts[index].signInName = String(name)
        }
        return accounts as? Answer ?? answer
    }
}

extension AccountShare {
    fileprivate mutating func removeAddresses() {
        for index in participants.indices where !AccountID.isOne(participants[index].name) {
            participants[index].name = ""
        }
    }
}
