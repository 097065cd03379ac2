/// The request of `roles/list`, one of Nephos' own routes: the accounts' roles, which the schema defines.
package struct ListRolesRequest: Hashable, Sendable {
    /// The account's name; nil for all accounts.
    package var account: String?

    package init(account: String? = nil) { self.account = account }
}

/// The request of `roles/assign` and `roles/revoke`, two of Nephos' own routes.
package struct RoleRequest: Hashable, Sendable {
    package var account: String
    package var role: String

    package init(account: String, role: String) {
        self.account = account
        self.role = role
    }
}

/// The accounts' roles. After `roles/assign` and `roles/revoke`, the account's current roles.
package struct RolesResponse: Hashable, Sendable {
    package var members: [RoleRequest]

    package init(members: [RoleRequest]) { self.members = members }
}

extension ListRolesRequest: CodedMessage {
    package static let codec = Codec<Self>(Self.init, .optional("account", \.account, .string))
}

extension RoleRequest: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init, .required("account", \.account, .string), .required("role", \.role, .string))
}

extension RolesResponse: CodedMessage {
    package static let codec = Codec<Self>(
        Self.init, .required("members", \.members, .array("an array of accounts and roles", of: RoleRequest.codec)))
}
