import NephosStorage
import NephosWire

/// A role of an account, as the administration shows it.
package struct RoleSummary: Codable, Hashable, Sendable {
    package var account: String
    package var role: InstallationRole
    /// The container; nil for an administrator.
    package var container: String?
}

extension Installation {
    /// Gives an account a role, in place of the role that it has for the container.
    /// - Parameter container: the container; nil for an administrator.
    package func grant(
        _ role: InstallationRole, toAccountNamed name: String, container: String?, by actor: AuditActor
    ) async throws(ServiceError) {
        guard (role == .administrator) == (container == nil) else {
            throw .invalid(
                "an administrator is one of every container; the other roles are for a container: name it")
        }
        let name = SignInName.canonical(name)
        try await write { transaction in
            let id = try transaction.requireInstallationAccount(named: name).id
            if let container, try transaction.entry(StoredContainer.self, container) == nil {
                throw ServiceError.noContainer(container)
            }
            let place = container ?? StoredRole.everyContainer
            try transaction.put(StoredRole(role: role), StoredRole.name(id, place))
            try self.audit("role \(role.rawValue) of \(place) given", id, by: actor, in: transaction)
        }
        sessions.evictAll()
    }

    /// Takes the role from an account that it has for a container, or that of an administrator.
    package func revokeRole(
        ofAccountNamed name: String, container: String?, by actor: AuditActor
    ) async throws(ServiceError) {
        let name = SignInName.canonical(name)
        try await write { transaction in
            let id = try transaction.requireInstallationAccount(named: name).id
            let place = container ?? StoredRole.everyContainer
            guard try transaction.removeInstallationEntry(.role, StoredRole.name(id, place)) else {
                let role = container.map { "role of \($0)" } ?? "role of an administrator"
                throw ServiceError(
                    .notFound, .unknownItem,
                    "the account '\(name)' has no \(role): 'nephos admins list' lists what there is")
            }
            try self.audit("role of \(place) taken", id, by: actor, in: transaction)
        }
        sessions.evictAll()
    }

    package func roleSummaries() async throws(ServiceError) -> [RoleSummary] {
        try await read { reader in
            try reader.entries(StoredRole.self).compactMap { name, stored in
                let parts = name.split(separator: "/", maxSplits: 1).map(String.init)
                guard parts.count == 2,
                    try parts[1] == StoredRole.everyContainer || reader.hasContainer(parts[1]),
                    let account = try reader.entry(InstallationAccount.self, parts[0])
                else {
                    return nil
                }
                return RoleSummary(
                    account: account.name, role: stored.role,
                    container: parts[1] == StoredRole.everyContainer ? nil : parts[1])
            }
        }
    }
}
