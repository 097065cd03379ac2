import NephosStorage
package import NephosWire

/// The schema commands of Apple's console and `cktool`. The protocol of those tools is not public, so these commands
/// have no counterpart in CloudKit Web Services. The context's database and account are ignored.
extension NephosService {
    /// Returns the schema of an environment, in the CloudKit Schema Language.
    package func exportSchema(_ context: RequestContext) async throws(ServiceError) -> String {
        try await administer(context) {
            SchemaCommands.export(try await self.schema(context.container, context.environment))
        }
    }

    /// Replaces the development schema with the schema in the text, and drops elements that the text omits. The import
    /// is refused, and changes nothing, if records hold a dropped element or production has it.
    package func importSchema(
        _ text: String, _ context: RequestContext
    ) async throws(ServiceError) -> SchemaReport {
        try await importSchema(text, context, isDryRun: false)
    }

    /// Adds what the text has more than the development schema, which loses nothing.
    package func mergeSchema(_ text: String, _ context: RequestContext) async throws(ServiceError) -> SchemaReport {
        try await importSchema(text, context, merges: true, isDryRun: false)
    }

    /// Reports the changes that an import would make, without making them.
    package func validateSchema(
        _ text: String, _ context: RequestContext
    ) async throws(ServiceError) -> SchemaReport {
        try await importSchema(text, context, isDryRun: true)
    }

    private func importSchema(
        _ text: String, _ context: RequestContext, merges: Bool = false, isDryRun: Bool
    ) async throws(ServiceError) -> SchemaReport {
        try await administer(context, onlyDevelopment: true, changes: !isDryRun) {
            let production = try await self.schema(context.container, .production)
            return try await self.stores.using(Self.id(context.container, .development)) { store in
                try await SchemaAdministration(environment: self.environment).importSchema(
                    text, into: store, production: production, merges: merges, isDryRun: isDryRun)
            }
        }
    }

    /// Replaces the development schema with the production schema and erases all development records.
    package func resetSchema(_ context: RequestContext) async throws(ServiceError) -> SchemaReport {
        try await administer(context, onlyDevelopment: true, changes: true) {
            try await self.checkContainerExists(context)
            let production = try await self.schema(context.container, .production)
            return try await self.stores.using(Self.id(context.container, .development)) { store in
                try await SchemaAdministration(environment: self.environment).reset(store, to: production)
            }
        }
    }

    /// Drops a field of the development schema and erases the field's values. Refused if production has the field.
    package func dropField(
        _ request: DropFieldRequest, _ context: RequestContext
    ) async throws(ServiceError) -> SchemaReport {
        try await administer(context, onlyDevelopment: true, changes: true) {
            let production = try await self.schema(context.container, .production)
            let id = Self.id(context.container, .development)
            return try await self.stores.usingExisting(id) { store in
                guard let store else { throw try await self.missingContainer(id, context) }
                return try await FieldDrop(
                    recordType: request.recordType, field: request.field, environment: self.environment
                ).run(on: store, production: production)
            }
        }
    }

    /// Adds the elements of the development schema to the production schema. Drops nothing and copies no records.
    /// - Parameter request: has the changes that the caller was shown: if there are others by now, none is made.
    package func deploySchema(
        _ request: DeploySchemaRequest, _ context: RequestContext
    ) async throws(ServiceError) -> SchemaReport {
        try await administer(context, onlyDevelopment: true, changes: true) {
            try await self.checkContainerExists(context)
            let development = try await self.schema(context.container, .development)
            return try await self.stores.using(Self.id(context.container, .production)) { store in
                try await SchemaAdministration(environment: self.environment).deploy(
                    development, shown: request.changes, to: store)
            }
        }
    }

    package func deploySchema(_ context: RequestContext) async throws(ServiceError) -> SchemaReport {
        try await deploySchema(DeploySchemaRequest(), context)
    }

    /// Reports the changes that a deployment would make, without making them.
    package func previewDeployment(_ context: RequestContext) async throws(ServiceError) -> SchemaReport {
        try await administer(context, onlyDevelopment: true) {
            let plan = SchemaCommands.planDeployment(
                of: try await self.schema(context.container, .development),
                to: try await self.schema(context.container, .production))
            return SchemaReport(plan.findings, changes: plan.changes)
        }
    }

    /// Reports what production, or the schema in a text, lacks of development's schema, as errors; and what requests did
    /// that production or Apple's service may refuse, as warnings.
    /// - Parameter text: a schema in the CloudKit Schema Language; nil for the schema of production.
    /// - Throws: `badContainer` if development has no such container.
    package func preflight(
        _ text: String?, _ context: RequestContext
    ) async throws(ServiceError) -> SchemaReport {
        try await administer(context, onlyDevelopment: true) {
            let id = Self.id(context.container, .development)
            let development = try await self.stores.usingExisting(id) { store in
                guard let store else { throw try await self.missingContainer(id, context) }
                return try await store.engine.read { try Schema($0) }
            }
            var findings: [SchemaFinding]
            if let text {
                findings = SchemaCommands.preflight(development, text)
            } else {
                let production = try await self.schema(context.container, .production)
                findings = Preflight.findings(development, against: production, "production")
            }
            findings += self.preflightNotes.of(context.container).map { SchemaFinding(.warning, reason: $0) }
            return SchemaReport(findings, changes: [])
        }
    }

    /// Reports the existing indexes, and the progress of index builds and removals.
    package func schemaIndexes(_ context: RequestContext) async throws(ServiceError) -> IndexesReport {
        try await administer(context) {
            try await self.stores.usingExisting(Self.id(context.container, context.environment)) { store in
                try await store?.engine.read { try IndexProgress.report($0) } ?? IndexesReport(indexes: [])
            }
        }
    }

    // MARK: - Every command

    /// Runs a command, alone for its container: a command reads one environment and changes the other.
    /// - Parameter changes: whether it changes a schema, and so excludes such commands at other servers, too.
    private func administer<Answer: Sendable>(
        _ context: RequestContext, onlyDevelopment: Bool = false, changes: Bool = false,
        _ body: () async throws -> Answer
    ) async throws(ServiceError) -> Answer {
        try context.checkContainer()
        if onlyDevelopment && context.environment == .production {
            throw .invalid("endpoint not applicable in the environment 'production'")
        }
        await schemaMutex.begin(context.container)
        do {
            let lock = changes ? try await stores.lock("schema of \(context.container)") : nil
            defer { lock?.release() }
            let answer = try await body()
            await schemaMutex.end(context.container)
            return answer
        } catch {
            await schemaMutex.end(context.container)
            throw translate(error, requestID: context.requestID)
        }
    }

    /// Refuses a misspelt container, which a reset or a deployment would make. An import makes a container.
    private func checkContainerExists(_ context: RequestContext) async throws {
        let id = Self.id(context.container, context.environment)
        if context.isContainerKnown { return }
        if try await stores.known().contains(where: { $0.container == id.container }) { return }
        throw try await missingContainer(id, context)
    }

    private static func id(_ container: String, _ environment: ContainerEnvironment) -> StoreID {
        StoreID(container: container, environment: environment.rawValue)
    }

    /// The schema of an environment; the initial schema of every container if the environment is unused.
    private func schema(_ container: String, _ environment: ContainerEnvironment) async throws -> Schema {
        try await stores.usingExisting(Self.id(container, environment)) { store in
            try await store?.engine.read { try Schema($0) } ?? .initial
        }
    }
}
