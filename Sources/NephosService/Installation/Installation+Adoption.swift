import NephosCrypto
import NephosStorage

extension Installation {
    /// What an installation has of an adoption.
    struct AdoptionState: Sendable {
        /// The decisions of an adoption that has not finished.
        var decided: [String: AdoptedName] = [:]
        /// The sign-in names of the other accounts.
        var taken: Set<String> = []
        /// Whether the installation has containers.
        var isProduction = false
    }

    func adoptionState() async throws -> AdoptionState {
        try await engine.read { reader in
            let decided = try reader.entries(AdoptedName.self)
            let own = Set(decided.map(\.value.signInName))
            let names = try reader.entries(NamedAccount.self).map(\.name)
            return AdoptionState(
                decided: Dictionary(decided.map { ($0.name, $0.value) }) { $1 }, taken: Set(names).subtracting(own),
                isProduction: try !reader.installationEntries(.container, after: "", limit: 1).isEmpty)
        }
    }

    /// Makes the accounts and the containers of a plan, and stores what each name becomes. Idempotent.
    /// - Parameters:
    ///   - hashes: the hashes of recovery keys by sign-in name.
    ///   - developers: the sign-in names of the developers of all containers.
    /// - Returns: what each name becomes.
    func beginAdoption(
        _ plan: AdoptionPlan, hashes: [String: String], developers: [String], containers: Set<String>,
        by actor: AuditActor
    ) async throws -> [String: AdoptedName] {
        let now = environment.now()
        let people = plan.people.map { person in
            var person = person
            person.id = person.id ?? AccountID.make(environment)
            return person
        }
        return try await engine.write(of: [.everyone]) { transaction in
            for container in containers where try transaction.entry(StoredContainer.self, container) == nil {
                try transaction.requireNoDeletion(ofContainer: container)
                try transaction.put(StoredContainer(createdAt: now), container)
                try self.audit("container adopted", container, by: actor, in: transaction)
            }
            for person in people { try self.put(person, hashes[person.signInName], by: actor, in: transaction) }
            for (name, signInName) in plan.invited {
                try transaction.put(AdoptedName(signInName: signInName), name)
            }
            for name in developers {
                let id = try transaction.requireInstallationAccount(named: name).id
                for container in containers {
                    try transaction.put(StoredRole(role: .developer), StoredRole.name(id, container))
                    try self.audit("role developer of \(container) given", id, by: actor, in: transaction)
                }
            }
            return Dictionary(try transaction.entries(AdoptedName.self).map { ($0.name, $0.value) }) { $1 }
        }
    }

    /// Makes the account of a person whose ID is decided, and stores what its names become.
    private func put(
        _ person: AdoptionPlan.Person, _ hash: String?, by actor: AuditActor, in transaction: StorageTransaction
    ) throws {
        guard let id = person.id else { return }
        if try transaction.entry(InstallationAccount.self, id) == nil {
            try transaction.put(
                InstallationAccount(
                    name: person.signInName, password: nil, createdAt: environment.now(), addresses: []),
                id)
            // Made since the plan.
            guard try transaction.entry(NamedAccount.self, person.signInName) == nil else {
                throw ServiceError.accountExists(person.signInName)
            }
            try transaction.put(NamedAccount(id: id), person.signInName)
            try audit("account adopted", id, by: actor, in: transaction)
            // Shares with the person's name go on.
            _ = try verify(person.signInName, of: id, by: actor, in: transaction)
        }
        for name in person.names {
            try transaction.put(
                AdoptedName(
                    signInName: person.signInName, account: id, recoveryKeyHash: person.recoveryKeyHash ?? hash), name)
        }
    }

    /// Ends an adoption: from now on the data is a production server's.
    func finishAdoption(by actor: AuditActor) async throws {
        try await engine.write(of: [.everyone]) { transaction in
            let names = try transaction.entries(AdoptedName.self).map(\.name)
            for name in names { try transaction.removeInstallationEntry(.adoptedName, name) }
            if !names.isEmpty { try self.audit("adoption finished", "", by: actor, in: transaction) }
        }
    }
}
