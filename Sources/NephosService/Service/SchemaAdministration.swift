import NephosStorage
package import NephosWire

/// Executes the plans of `SchemaCommands`, each in one transaction of the store that it changes.
struct SchemaAdministration {
    let environment: ServiceEnvironment

    // MARK: - Import

    /// Replaces the development schema with the schema in the text.
    /// - Parameters:
    ///   - merges: whether the development schema keeps what the text lacks.
    ///   - isDryRun: whether to only report the changes.
    func importSchema(
        _ text: String, into store: Store, production: Schema, merges: Bool = false, isDryRun: Bool
    ) async throws -> SchemaReport {
        let makePlan = merges ? SchemaCommands.planMerge : SchemaCommands.planImport
        var plan = try await store.engine.read { makePlan(text, try Schema($0), production) }
        let positions = SchemaCommands.positions(text)
        while true {
            guard plan.isAllowed else { return SchemaReport(plan.findings) }
            let check = try await LossCheck.run(plan.losses, in: store.engine)
            var findings = check.findings(positions)
            if findings.hasErrors || isDryRun {
                return SchemaReport((plan.findings + findings).inTextOrder(), changes: plan.changes)
            }
            let outcome = try await change(store) { transaction -> ImportOutcome in
                let old = try Schema(transaction)
                let plan = makePlan(text, old, production)
                // A save may have added types or fields meanwhile, which the check did not examine.
                guard plan.isAllowed, check.losses.isSuperset(of: plan.losses) else { return .changedMeanwhile(plan) }
                guard let changed = try check.lookingAtChanges(in: transaction) else { return .changedMeanwhile(plan) }
                let lost = changed.findings(positions)
                if lost.hasErrors { return .refused(lost) }
                try apply(plan, replacing: old, in: transaction)
                return .applied(plan)
            }
            switch outcome {
            case .changedMeanwhile(let newer): plan = newer
            case .refused(let lost):
                findings = plan.findings + lost
                return SchemaReport(findings.inTextOrder(), changes: plan.changes)
            case .applied(let plan):
                await store.continueInBackground()
                return SchemaReport(plan.findings, changes: plan.changes)
            }
        }
    }

    private enum ImportOutcome: Sendable {
        case changedMeanwhile(SchemaPlan)
        case refused([SchemaFinding])
        case applied(SchemaPlan)
    }

    // MARK: - Deployment

    /// Adds the elements of the development schema to the production schema.
    /// - Parameter shown: the only changes that may be made, because a deployment cannot be undone; nil for any.
    func deploy(_ development: Schema, shown: [String]?, to store: Store) async throws -> SchemaReport {
        let plan = try await change(store) { transaction -> SchemaPlan in
            let old = try Schema(transaction)
            var plan = SchemaCommands.planDeployment(of: development, to: old)
            if let shown, shown != plan.changes { plan.findings.append(.othersThanShown) }
            if plan.isAllowed { try apply(plan, replacing: old, in: transaction) }
            return plan
        }
        await store.continueInBackground()
        return SchemaReport(plan.findings, changes: plan.changes)
    }

    // MARK: - Reset

    /// Replaces the development schema with the production schema, and erases all records and zones in development.
    /// Accounts stay, with empty user records.
    func reset(_ store: Store, to production: Schema) async throws -> SchemaReport {
        let plan = try await change(store) { transaction -> SchemaPlan in
            let old = try Schema(transaction)
            let plan = SchemaCommands.planReset(of: old, to: production)
            try apply(plan, replacing: old, in: transaction)
            try eraseZones(in: transaction)
            return plan
        }
        await store.continueInBackground()
        return SchemaReport(plan.findings, changes: plan.changes)
    }

    /// Deletes every zone. The default zones are created again, empty.
    private func eraseZones(in transaction: StorageTransaction) throws {
        let zones = try transaction.zones(after: 0, limit: .max)
        for zone in zones {
            try ZoneDeletion.delete(zone, .deleted, environment, in: transaction)
        }
        let publicZone = try ZoneRegistry.defaultZone(owner: .everyone, in: transaction)
        let now = environment.now()
        for zone in zones where zone.key.owner != .everyone && ZoneRules.isDefault(zone.name) {
            guard let account = try transaction.liveAccount(id: zone.key.owner.rawValue) else { continue }
            let privateZone = try ZoneRegistry.defaultZone(owner: account.owner, in: transaction)
            for zone in [privateZone, publicZone] {
                try Accounts.putUserRecord(of: account, zone: zone.key, now: now, in: transaction)
            }
        }
    }

    // MARK: - Every change

    private func apply(
        _ plan: SchemaPlan, replacing old: Schema, in transaction: StorageTransaction
    ) throws {
        try plan.schema.write(replacing: old, in: transaction)
        if plan.schema.beginsToSeal(after: old) {
            try transaction.insert(KeyAttentionJob(about: .container).row)
        }
        try IndexAdjustment(schema: plan.schema, old: old, changes: plan.indexChanges).run(in: transaction)
    }

    /// Changes the schema and the indexes between `beginChange` and `endChange` of their caches.
    private func change<T: Sendable>(
        _ store: Store, _ body: @escaping @Sendable (StorageTransaction) throws -> T
    ) async throws -> T {
        store.schemas.beginChange()
        store.indexes.beginChange()
        defer {
            store.schemas.endChange()
            store.indexes.endChange()
        }
        return try await store.engine.write { transaction in
            try transaction.advanceCatalog()
            return try body(transaction)
        }
    }
}

extension SchemaFinding {
    fileprivate static let othersThanShown = SchemaFinding(
        .error, reason: "a schema changed after the deployment's changes were shown: look at them again, then deploy")
}

extension SchemaReport {
    /// Creates a report of findings and changes. A refused command made no changes.
    package init(_ findings: [SchemaFinding], changes: [String] = []) {
        let findings = findings.map { finding in
            Finding(
                isError: finding.severity == .error, line: finding.position?.line, column: finding.position?.column,
                message: finding.message)
        }
        self.init(findings: findings, changes: findings.contains(where: \.isError) ? [] : changes)
    }
}
