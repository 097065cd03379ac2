public import CloudKit
import Foundation
import NephosService
import NephosWire

/// The schemas of a cloud's containers, in the CloudKit Schema Language. These methods are not part of Apple's API: for
/// Apple's service, the console and `cktool` manage schemas.
extension LocalCloud {
    /// Returns the schema of a container in one of its environments.
    /// - Throws: `LocalCloudError`.
    public func exportSchema(
        of container: String = LocalCloud.defaultContainerIdentifier,
        environment: CloudKitEnvironment.Name = .development
    ) async throws -> String {
        try await ask(container, environment) { service, context throws(ServiceError) in
            try await service.exportSchema(context)
        }
    }

    /// Replaces the whole schema of a container in development, and drops all types and fields that `text` omits.
    /// - Throws: `LocalCloudError` with the problem and its position, if the text is no schema, breaks a rule, or drops
    ///   a type or field that records use or production has. If it throws, the schema is unchanged.
    public func importSchema(
        _ text: String, into container: String = LocalCloud.defaultContainerIdentifier
    ) async throws {
        try await change(container) { service, context throws(ServiceError) in
            try await service.importSchema(text, context)
        }
    }

    /// Merges the schema of a container in development into the schema in production. Copies no records.
    /// - Throws: `LocalCloudError`.
    public func deploySchema(of container: String = LocalCloud.defaultContainerIdentifier) async throws {
        try await change(container) { service, context throws(ServiceError) in
            try await service.deploySchema(context)
        }
    }

    /// Replaces the schema of a container in development by the schema in production, and erases all records of the
    /// container in development.
    /// - Throws: `LocalCloudError`.
    public func resetSchema(of container: String = LocalCloud.defaultContainerIdentifier) async throws {
        try await change(container) { service, context throws(ServiceError) in
            try await service.resetSchema(context)
        }
    }

    /// Assigns a role of the schema to an account that has used the container. The account gets the role's permissions
    /// in the public database.
    /// - Throws: `LocalCloudError`, if the account does not exist, or the schema does not define the role.
    public func assignRole(
        _ role: String, toAccount account: String = LocalCloud.defaultAccount,
        inContainer container: String = LocalCloud.defaultContainerIdentifier,
        environment: CloudKitEnvironment.Name = .development
    ) async throws {
        _ = try await ask(container, environment) { service, context throws(ServiceError) in
            try await service.assignRole(RoleRequest(account: account, role: role), context)
        }
    }

    /// Revokes a role that `assignRole` assigned.
    /// - Throws: `LocalCloudError`, if the account does not exist, or the schema does not define the role.
    public func revokeRole(
        _ role: String, fromAccount account: String = LocalCloud.defaultAccount,
        inContainer container: String = LocalCloud.defaultContainerIdentifier,
        environment: CloudKitEnvironment.Name = .development
    ) async throws {
        _ = try await ask(container, environment) { service, context throws(ServiceError) in
            try await service.revokeRole(RoleRequest(account: account, role: role), context)
        }
    }

    private func change(
        _ container: String, _ command: (NephosService, RequestContext) async throws(ServiceError) -> SchemaReport
    ) async throws {
        let report = try await ask(container, .development, command)
        if report.isAllowed { return }
        throw LocalCloudError(report.findings.filter(\.isError).map(\.placedMessage).joined(separator: "\n"))
    }

    private func ask<Answer>(
        _ container: String, _ environment: CloudKitEnvironment.Name,
        _ command: (NephosService, RequestContext) async throws(ServiceError) -> Answer
    ) async throws -> Answer {
        let context = RequestContext(
            container: container, environment: environment == .production ? .production : .development, scope: .public,
            account: nil, requestID: UUID().uuidString)
        do throws(ServiceError) {
            let service = service
            try await givenSchema?.define(in: container, of: service)
            return try await command(service, context)
        } catch {
            throw LocalCloudError(error.reason)
        }
    }
}
