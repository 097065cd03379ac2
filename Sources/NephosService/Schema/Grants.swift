/// A role's permissions on the records of a type in the public database.
package struct Permissions: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Fetch and query.
    package static let read = Permissions(rawValue: 1 << 0)
    package static let create = Permissions(rawValue: 1 << 1)
    /// Change and delete.
    package static let write = Permissions(rawValue: 1 << 2)

    static let named: [(permission: Permissions, name: String)] = [
        (.read, "READ"), (.create, "CREATE"), (.write, "WRITE"),
    ]

    /// The permissions' names in the schema language.
    var names: [String] { Self.named.filter { contains($0.permission) }.map(\.name) }
}

/// The roles that every container has.
enum SystemRole {
    /// The record's creator.
    static let creator = "_creator"
    /// Every account.
    static let authenticated = "_icloud"
    /// Everybody.
    static let world = "_world"

    static let all: Set<String> = [creator, authenticated, world]
}

/// Permissions by role.
typealias Grants = [String: Permissions]

extension Grants {
    /// The grants of a type that declares none: the world reads, signed-in accounts create, creators write.
    static func standard(for recordType: String) -> Grants {
        var grants: Grants = [SystemRole.creator: .write, SystemRole.world: .read]
        if recordType != SystemRecordType.user { grants[SystemRole.authenticated] = .create }
        return grants
    }

    /// System roles first, then by name.
    var ordered: [(role: String, permissions: Permissions)] {
        map { (role: $0.key, permissions: $0.value) }.sorted { left, right in
            let leftIsSystem = left.role.hasPrefix("_")
            let rightIsSystem = right.role.hasPrefix("_")
            return leftIsSystem == rightIsSystem ? left.role < right.role : leftIsSystem
        }
    }
}
