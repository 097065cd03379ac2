public import CloudKit
import Foundation
import NephosService
import NephosWire

/// The schemas of a cloud's containers, in the CloudKit Schema Language. Not part of Apple's API: there, the console
/// and
/// `cktool` do this.
extension LocalCloud {
    /// The schema of a container in one of its environments.
    /// - Throws: `LocalCloudError`.
    public func exportSchema(
        of container: String = LocalCloud.defaultContainerIdentifier,
        environment: CloudKitEnvironment.Name = .development
    ) async throws -> String {
        try await ask(container, environment) { service, context throws(ServiceError) in
            try await service.exportSchema(context)
        }
    }

    /// Makes a text the whole schema of a container in development. What it leaves out is dropped.
    /// - Throws: `LocalCloudError` that says what is wrong and where, if the text is no schema, breaks a rule, or drops
    ///   what records hold or what production has. Then nothing is changed.
    public func importSchema(
        _ text: String, into container: String = LocalCloud.defaultContainerIdentifier
    ) async throws {
        try await change(container) { service, context throws(ServiceError) in
            try await service.importSchema(text, context)
        }
    }

    /// Adds the schema of a container in development to that in production. Records are not copied.
    /// - Throws: `LocalCloudError`.
    public func deploySchema(of container: String = LocalCloud.defaultContainerIdentifier) async throws {
        try await change(container) { service, context throws(ServiceError) in
            try await service.deploySchema(context)
        }
    }

    /// Gives a container in development its schema in production, and erases all its records in development.
    /// - Throws: `LocalCloudError`.
    public func resetSchema(of container: String = LocalCloud.defaultContainerIdentifier) async throws {
        try await change(container) { service, context throws(ServiceError) in
            try await service.resetSchema(context)
        }
    }

    /// Lets an account, which has used the container, do in the public database what the schema grants to one of its
    /// roles.
    /// - Throws: `LocalCloudError`, if there is no such account, or the schema makes no such role.
    public func assignRole(
        _ role: String, toAccount account: String = LocalCloud.defaultAccount,
        inContainer container: String = LocalCloud.defaultContainerIdentifier,
        environment: CloudKitEnvironment.Name = .development
    ) async throws {
        _ = try await ask(container, environment) { service, context throws(ServiceError) in
            try await service.assignRole(RoleRequest(account: account, role: role), context)
        }
    }

    /// Undoes `assignRole`.
    /// - Throws: `LocalCloudError`, if there is no such account, or the schema makes no such role.
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
        let errors = report.findings.filter(\.isError).map { finding in
            guard let line = finding.line, let column = finding.column else { return finding.message }
            return "line \(line), column \(column): \(finding.message)"
        }
        throw LocalCloudError(errors.joined(separator: "\n"))
    }

    private func ask<Answer>(
        _ container: String, _ environment: CloudKitEnvironment.Name,
        _ command: (NephosService, RequestContext) async throws(ServiceError) -> Answer
    ) async throws -> Answer {
        let context = RequestContext(
            container: container, environment: environment == .production ? .production : .development, scope: .public,
            account: nil, requestID: UUID().uuidString)
        do throws(ServiceError) {
            return try await command(service, context)
        } catch {
            throw LocalCloudError(error.reason)
        }
    }
}
