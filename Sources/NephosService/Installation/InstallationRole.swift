import NephosStorage
import NephosWire

/// A role of an account in the administration of the installation.
package enum InstallationRole: String, Codable, Hashable, Sendable, CaseIterable {
    /// Sees a container's schema, accounts, shares and public records.
    case viewer
    /// Reads accounts' private records too, which is audited, and changes a container's schema, also by saving in
    /// `development`, and its accounts' data.
    case developer
    /// Changes everything, of every container.
    case administrator
}

/// A role as the installation's store has it, by the account's ID and the container, which is `*` for an administrator.
struct StoredRole: StoredEntry {
    static let kind = InstallationEntry.Kind.role
    var role: InstallationRole

    static func name(_ account: String, _ container: String) -> String { "\(account)/\(container)" }
    static let everyContainer = "*"
}

/// What a request of the administration asks for.
package enum AdministrationRight: Hashable, Sendable {
    case view(container: String)
    case change(container: String)
    /// Reads the records of accounts' private databases.
    case readPrivateRecords(container: String)
    /// Changes what belongs to the installation: accounts, containers, tokens, roles.
    case administer
    /// Sees what concerns all containers: status, metrics.
    case viewInstallation
    /// Sees what its own roles allow.
    case viewOwnRights
}

/// The caller of the administration.
package enum Administrator: Hashable, Sendable {
    /// Root, or the user of the server, on this machine.
    case localUser(UInt32)
    /// An account, with its roles by container.
    /// - Parameter authenticatedAt: the time at which the person last showed who they are.
    case account(id: String, roles: [String: InstallationRole], authenticatedAt: Int64)

    /// The ID of the account; nil for a user of this machine.
    package var accountID: String? { if case .account(let id, _, _) = self { id } else { nil } }

    /// The containers of which the caller has a role of its own.
    package var containers: [String] {
        guard case .account(_, let roles, _) = self else { return [] }
        return roles.keys.filter { $0 != StoredRole.everyContainer }.sorted()
    }

    /// The time in milliseconds after a sign-in for which changes are allowed without another one.
    static let recent: Int64 = 15 * 60 * 1000

    /// - Throws: `permissionFailure`, in the same words for containers that do not exist; `notAuthenticated` if the
    ///   sign-in is too old for a change.
    package func check(_ right: AdministrationRight, at now: Int64) throws(ServiceError) {
        guard case .account(_, _, let authenticatedAt) = self else { return }
        guard hasRole(for: right) else {
            throw ServiceError(.accessDenied, .permissionFailure, "the account has no role that allows this")
        }
        switch right {
        case .view, .viewInstallation, .viewOwnRights, .readPrivateRecords: return
        case .change, .administer:
            try Self.checkIsRecent(authenticatedAt, at: now)
        }
    }

    /// Whether the caller's role allows what a right is about, however long ago the sign-in was.
    package func hasRole(for right: AdministrationRight) -> Bool {
        guard case .account(_, let roles, _) = self else { return true }
        let isAdministrator = roles[StoredRole.everyContainer] == .administrator
        return switch right {
        case .view(let container): isAdministrator || roles[container] != nil
        case .change(let container), .readPrivateRecords(let container):
            isAdministrator || roles[container] == .developer
        case .administer, .viewInstallation: isAdministrator
        case .viewOwnRights: !roles.isEmpty
        }
    }

    /// - Throws: `notAuthenticated` if a person showed too long ago who they are, or if that is unknown.
    static func checkIsRecent(_ authenticatedAt: Int64, at now: Int64) throws(ServiceError) {
        guard authenticatedAt != StoredSession.unknownTime else {
            throw ServiceError(
                .authenticationRequired, .notAuthenticated,
                "changes need a sign-in of the last \(recent / 60_000) minutes, and the provider did not say that it asked "
                    + "who you are: sign in by a password or a passkey")
        }
        // A sign-in by a clock that was ahead is not recent for longer.
        guard (-Limits.clockDifference...recent).contains(now - authenticatedAt) else {
            throw ServiceError(
                .authenticationRequired, .notAuthenticated,
                "changes need a sign-in of the last \(recent / 60_000) minutes: sign in again")
        }
    }

    /// The origin of changes, for the audit.
    package func actor(address: String) -> AuditActor {
        switch self {
        case .localUser(let user): AuditActor(name: "user \(user)")
        case .account(let id, _, _): AuditActor(name: id, address: address)
        }
    }
}
