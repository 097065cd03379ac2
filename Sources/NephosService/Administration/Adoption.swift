import NephosCrypto
package import NephosStorage
import NephosThreads

/// Turns the data of `nephos dev` into that of a production server: the accounts that stores know by their names become
/// accounts of an installation. User record names stay, and so does all that refers to them: tokens, shares, encryption.
///
/// The order makes it repeatable at any point: the decisions are stored first, then each store changes in one transaction,
/// then the decisions are removed. Servers refuse the data meanwhile.
package struct Adoption: Sendable {
    private let provider: any StoreProvider
    private let environment: ServiceEnvironment

    /// - Parameter provider: the stores, of which none is open.
    package init(_ provider: any StoreProvider, _ environment: ServiceEnvironment = .system) {
        self.provider = provider
        self.environment = environment
    }

    /// Returns the text of a new recovery key.
    package static func makeRecoveryKey() -> String { CarriedSecret.recoveryKey().text }

    // MARK: The plan

    /// Reads all stores, and decides what becomes of their names. Changes nothing.
    /// - Parameter names: the sign-in names that the operator gives to names of `nephos dev`.
    /// - Throws: `StorageError`, also if there are no stores.
    package func plan(names: [String: String]) async throws -> AdoptionPlan {
        var stores: [AdoptionPlan.Names] = []
        var damages: [String] = []
        let existing = try await containerStores()
        guard !existing.isEmpty else { throw StorageError(.other, "there is no data of nephos dev") }
        for id in existing {
            let read = try await withStore(id) { engine in try await engine.read { try Self.names(in: id, $0) } }
            damages += read.damages
            stores.append(read.names)
        }
        let hasInstallation = try await exists(.installation)
        if !hasInstallation, stores.contains(where: { $0.accounts.isEmpty && !$0.ids.isEmpty }) {
            throw LostInstallation.error
        }
        let state =
            hasInstallation
            ? try await withInstallation { try await $0.adoptionState() } : Installation.AdoptionState()
        var plan = AdoptionPlan(
            stores, given: names, decided: state.decided, taken: state.taken, isProduction: state.isProduction)
        for damage in damages { plan.note(damage) }
        return plan
    }

    private static func names(
        in id: StoreID, _ reader: StorageReader
    ) throws -> (names: AdoptionPlan.Names, damages: [String]) {
        var names = AdoptionPlan.Names(store: id)
        var damages: [String] = []
        names.ids = Set(try accounts(reader) { AccountID.isValid($0.name) }.map(\.name))
        for account in try unadopted(reader) {
            let name = AccountName.canonical(account.name)
            guard names.accounts.insert(name).inserted else {
                damages.append(
                    "\(id.container), \(id.environment) has two accounts '\(name)', of which one can sign in: an earlier "
                        + "version made the other; delete it by 'nephos accounts delete'")
                continue
            }
            do {
                if try EscrowReplacement(of: account, in: id, reader) != nil { names.withKeptKeys.insert(name) }
            } catch let error as StorageError where error.code == .damaged {
                damages.append(error.message)
            }
            for row in try invitations(by: account, reader) { names.addresses.insert(row.address) }
        }
        return (names, damages)
    }

    /// The live accounts that the store knows by names of `nephos dev`.
    private static func unadopted(_ reader: StorageReader) throws -> [AccountRow] {
        try accounts(reader) { !AccountID.isValid($0.name) }
    }

    private static func accounts(
        _ reader: StorageReader, where isWanted: (AccountRow) -> Bool
    ) throws -> [AccountRow] {
        var (found, last): ([AccountRow], Int64) = ([], 0)
        while true {
            let page = try reader.accounts(after: last, limit: Limits.accountsPerPage)
            found += page.filter(isWanted)
            guard page.count == Limits.accountsPerPage, let id = page.last?.id else { return found }
            last = id
        }
    }

    /// The participants of an account's shares that were invited by an address.
    private static func invitations(by account: AccountRow, _ reader: StorageReader) throws -> [ShareParticipantRow] {
        try reader.zones(owner: account.owner)
            .flatMap { try reader.shares(zone: $0.key, limit: .max) }
            .flatMap { try reader.participants(share: $0.id) }
            .filter { !$0.address.isEmpty }
    }

    // MARK: The changes

    /// Carries out a plan. If the process ends meanwhile, another plan and run continue.
    /// - Parameters:
    ///   - recoveryKeys: the texts of recovery keys by sign-in name, stored where a crash does not lose them: of each person
    ///     with kept keys.
    ///   - developers: the names, or sign-in names, of the accounts that become developers of all containers.
    /// - Throws: `ServiceError` `invalidArguments`; `StorageError`.
    package func run(
        _ plan: AdoptionPlan, recoveryKeys: [String: String], developers: [String] = [], by actor: AuditActor
    ) async throws {
        if let problem = plan.problems.first { throw ServiceError.invalid(problem) }
        let secrets = try Self.secrets(recoveryKeys, of: plan)
        let developers = try plan.signInNames(of: developers)
        let containers = Set(try await containerStores().map(\.container))
        if !secrets.isEmpty { try await BlockingPool.disk.run { [provider] in try provider.checkErasesDeletedRows() } }
        let decided = try await withInstallation { installation in
            try await installation.beginAdoption(
                plan, hashes: secrets.mapValues { SecretToken.hash(of: $0.text) }, developers: developers,
                containers: containers, by: actor)
        }
        let addresses = AdoptedAddresses(decided)
        for id in plan.stores {
            try await withStore(id) { engine in
                try await engine.write { try Self.adopt(id, decided, addresses, secrets, in: $0) }
            }
        }
        try await checkIsComplete()
        if decided.values.contains(where: { $0.recoveryKeyHash != nil }) {
            try await BlockingPool.disk.run { [provider] in try provider.eraseDeletedRows() }
        }
        try await withInstallation { try await $0.finishAdoption(by: actor) }
    }

    /// A server that ran meanwhile may have made accounts, also in stores that the plan does not have.
    private func checkIsComplete() async throws {
        for id in try await containerStores() {
            let left = try await withStore(id) { engine in try await engine.read { try Self.unadopted($0).first?.name }
            }
            if let left { throw Self.madeMeanwhile("The account '\(left)' was made") }
        }
    }

    private static func madeMeanwhile(_ change: String) -> StorageError {
        StorageError(.inUse, "\(change) meanwhile: stop all servers, and try again.")
    }

    private static func secrets(
        _ keys: [String: String], of plan: AdoptionPlan
    ) throws(ServiceError) -> [String: CarriedSecret] {
        var secrets: [String: CarriedSecret] = [:]
        for person in plan.people where person.hasKeptKeys {
            guard let secret = keys[person.signInName].flatMap(CarriedSecret.init(text:)), secret.isRecoveryKey else {
                throw .invalid("there is no recovery key for '\(person.signInName)', whose keys are kept")
            }
            if let hash = person.recoveryKeyHash, hash != SecretToken.hash(of: secret.text) {
                throw .invalid(
                    "the recovery key of '\(person.signInName)' is not that with which the adoption began: give the same "
                        + "directory")
            }
            secrets[person.signInName] = secret
        }
        return secrets
    }

    /// Changes a store, in one transaction. What refers to an account by its number or its user record name stays.
    private static func adopt(
        _ id: StoreID, _ decided: [String: AdoptedName], _ addresses: AdoptedAddresses,
        _ secrets: [String: CarriedSecret], in transaction: StorageTransaction
    ) throws {
        try transaction.runAlone()
        try transaction.advanceCatalog()
        let accounts = try unadopted(transaction)
        for account in accounts {
            guard let adopted = decided[AccountName.canonical(account.name)], let name = adopted.account else {
                throw madeMeanwhile("The account '\(account.name)' was made")
            }
            if let replacement = try EscrowReplacement(of: account, in: id, transaction) {
                guard let secret = secrets[adopted.signInName] else {
                    throw madeMeanwhile("The keys of '\(account.name)' were kept")
                }
                try replacement.run(secret, in: transaction)
            }
            for change in addresses.changes(try invitations(by: account, transaction)) {
                switch change {
                case .put(let row): try transaction.put(row)
                case .remove(let row): try transaction.removeParticipant(share: row.share, id: row.id)
                }
            }
            try transaction.renameAccount(id: account.id, to: name)
        }
    }

    // MARK: Stores

    private func containerStores() async throws -> [StoreID] {
        try await BlockingPool.disk.run { [provider] in
            try provider.existingStores().filter { !$0.isInstallation }
                .sorted { ($0.container, $0.environment) < ($1.container, $1.environment) }
        }
    }

    private func exists(_ id: StoreID) async throws -> Bool {
        try await BlockingPool.disk.run { [provider] in try provider.exists(id) }
    }

    private func withStore<Value: Sendable>(
        _ id: StoreID, _ body: (any StorageEngine) async throws -> Value
    ) async throws -> Value {
        let engine = try await BlockingPool.disk.run { [provider] in try provider.open(id) }
        return try await closing({ await engine.close() }) { try await body(engine) }
    }

    private func withInstallation<Value: Sendable>(
        _ body: (Installation) async throws -> Value
    ) async throws -> Value {
        let installation = try await Installation.open(provider, environment, duringAdoption: true)
        return try await closing({ await installation.close() }) { try await body(installation) }
    }

    private func closing<Value: Sendable>(
        _ close: () async -> Void, _ body: () async throws -> Value
    ) async throws -> Value {
        let result: Result<Value, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        await close()
        return try result.get()
    }
}
