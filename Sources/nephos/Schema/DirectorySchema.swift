import Glibc
import NephosHTTP
import NephosSQLite
import NephosService
import NephosStorage
import NephosWire

/// A schema in a data directory, without a running server. The next server that opens the directory runs the background
/// jobs of a change (building indexes, removing records).
struct DirectorySchema: SchemaPlace {
    private let directory: DataDirectory
    private let service: NephosService
    private let context: RequestContext

    init(
        _ path: String, container: String?, environment: ContainerEnvironment, mayMakeContainer: Bool
    ) throws(SchemaFailure) {
        var status = stat()
        guard stat(path, &status) == 0 else { throw SchemaFailure("there is no data directory \(path).") }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw SchemaFailure("\(path) is a file, not a directory.") }
        let containers: [String]
        // The containers of a production server are made by 'nephos containers create' alone.
        let isProduction: Bool
        do {
            directory = try StoresInFiles.open(path)
            let installation = try Cloud.installation(in: directory)
            containers =
                try installation.map(Cloud.containers)
                ?? Set(try directory.existingStores().map(\.container)).sorted()
            isProduction = installation != nil
            waiting { await installation?.close() }
        } catch let error as StorageError where error.code == .inUse {
            throw SchemaFailure(
                "\(error.message) If that is a running server, reach it with --url instead of --data, for example "
                    + "--url \(RemoteSchema.localURL).")
        } catch let error as StorageError {
            throw SchemaFailure(error.message)
        } catch {
            throw SchemaFailure("\(error)")
        }
        let has = containers.isEmpty ? "it has none" : "it has \(containers.joined(separator: ", "))"
        guard let container = container ?? (containers.count == 1 ? containers[0] : nil) else {
            throw SchemaFailure("which container of \(path)? Give --container ID; \(has).")
        }
        if !mayMakeContainer || isProduction, !containers.contains(container) {
            let meant = Suggestion.text(for: container, among: containers)
            throw SchemaFailure("\(path) has no container '\(container)'; \(has).\(meant)")
        }
        service = NephosService(
            stores: directory, configuration: ServiceConfiguration(deletionRetention: nil, worksInBackground: false))
        context = RequestContext(
            container: container, environment: environment, scope: .public, account: nil, requestID: "schema")
    }

    func exportSchema() throws(SchemaFailure) -> String { try ask { try await $0.exportSchema($1) } }

    func importSchema(_ text: String) throws(SchemaFailure) -> SchemaReport {
        try change("import") { try await $0.importSchema(text, $1) }
    }

    func mergeSchema(_ text: String) throws(SchemaFailure) -> SchemaReport {
        try change("merge") { try await $0.mergeSchema(text, $1) }
    }

    func validateSchema(_ text: String) throws(SchemaFailure) -> SchemaReport {
        try ask { try await $0.validateSchema(text, $1) }
    }

    func resetSchema() throws(SchemaFailure) -> SchemaReport { try change("reset") { try await $0.resetSchema($1) } }
    func deploySchema() throws(SchemaFailure) -> SchemaReport { try change("deploy") { try await $0.deploySchema($1) } }
    func dropField(_ request: DropFieldRequest) throws(SchemaFailure) -> SchemaReport {
        try change("drop") { try await $0.dropField(request, $1) }
    }
    func preflight(_ text: String?) throws(SchemaFailure) -> SchemaReport {
        try ask { try await $0.preflight(text, $1) }
    }
    func schemaIndexes() throws(SchemaFailure) -> IndexesReport { try ask { try await $0.schemaIndexes($1) } }

    func close() { _ = try? ask { service, _ in await service.close() } }

    /// Changes the schema, after the audit of a stopped production server has it as a running one would.
    private func change(
        _ action: String,
        _ command: @escaping @Sendable (NephosService, RequestContext) async throws -> SchemaReport
    ) throws(SchemaFailure) -> SchemaReport {
        do {
            if let installation = try Cloud.installation(in: directory) {
                defer { waiting { await installation.close() } }
                let event = "/nephos/schema/\(action)"
                let place = AuditedEvent.object(context.container, context.environment.rawValue, of: event)
                try Cloud.audit(event, place, in: installation)
            }
        } catch {
            throw SchemaFailure((error as? StorageError)?.message ?? "\(error)")
        }
        return try ask(command)
    }

    /// Blocks the main thread until the service answers. That thread does not belong to the cooperative pool.
    private func ask<Answer: Sendable>(
        _ command: @escaping @Sendable (NephosService, RequestContext) async throws -> Answer
    ) throws(SchemaFailure) -> Answer {
        let result = waiting { [service, context] () async -> Result<Answer, SchemaFailure> in
            do {
                return .success(try await command(service, context))
            } catch let error as ServiceError {
                return .failure(SchemaFailure(error.reason))
            } catch {
                return .failure(SchemaFailure("\(error)"))
            }
        }
        return try result.get()
    }
}
