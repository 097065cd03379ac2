/// The permissions of a role on the records of a type in the public database.
package struct Permissions: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The permission to fetch and query records.
    package static let read = Permissions(rawValue: 1 << 0)
    package static let create = Permissions(rawValue: 1 << 1)
    /// The permission to change and delete records.
    package static let write = Permissions(rawValue: 1 << 2)

    static let named: [(permission: Permissions, name: String)] = [
        (.read, "READ"), (.create, "CREATE"), (.write, "WRITE"),
    ]

    /// The names of the permissions in the schema language.
    var names: [String] { Self.named.filter { contains($0.permission) }.map(\.name) }
}

/// The roles that every container has.
enum SystemRole {
    /// The role of the record's creator.
    static let creator = "_creator"
    /// The role of every account.
    static let authenticated = "_icloud"
    /// The role of every caller, with or without an account.
    static let world = "_world"

    static let all: Set<String> = [creator, authenticated, world]
}

/// The permissions of each role.
typealias Grants = [String: Permissions]

extension Grants {
    /// The grants of a record type that declares none: every caller reads, accounts create, creators write.
    static func standard(for recordType: String) -> Grants {
        var grants: Grants = [SystemRole.creator: .write, SystemRole.world: .read]
        if recordType != SystemRecordType.user { grants[SystemRole.authenticated] = .create }
        return grants
    }

    /// The grants ordered by role name, with the system roles first.
    var ordered: [(role: String, permissions: Permissions)] {
        map { (role: $0.key, permissions: $0.value) }.sorted { left, right in
            let leftIsSystem = left.role.hasPrefix("_")
            let rightIsSystem = right.role.hasPrefix("_")
            return leftIsSystem == rightIsSystem ? left.role < right.role : leftIsSystem
        }
    }
}
