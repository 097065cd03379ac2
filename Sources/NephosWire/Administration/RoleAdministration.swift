/// `roles/list` of Nephos' own routes: the accounts' roles, which the schema defines.
package struct ListRolesRequest: Hashable, Sendable {
    /// The account's name; nil for every account.
    package var account: String?

    package init(account: String? = nil) { self.account = account }
}

/// `roles/assign` and `roles/revoke` of Nephos' own routes.
package struct RoleRequest: Hashable, Sendable {
    package var account: String
    package var role: String

    package init(account: String, role: String) {
        self.account = account
        self.role = role
    }
}

/// The accounts' roles; after `roles/assign` and `roles/revoke` the account's current ones.
package struct RolesResponse: Hashable, Sendable {
    package var members: [RoleRequest]

    package init(members: [RoleRequest]) { self.members = members }
}

extension ListRolesRequest: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init()
        for (key, value) in try json.members() where "account" ~= key { account = try value.nonNull?.string() }
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("account", account)
        writer.endObject()
    }
}

extension RoleRequest: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init(
            account: try json.required("account", "a string") { (json) throws(WireError) in try json.string() },
            role: try json.required("role", "a string") { (json) throws(WireError) in try json.string() })
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("account", account)
        writer.member("role", role)
        writer.endObject()
    }
}

extension RolesResponse: WireMessage {
    package init(json: JSONValue) throws(WireError) {
        self.init(
            members: try json.required("members", "an array") { (json) throws(WireError) in
                try json.elements("an array of accounts and roles", RoleRequest.init(json:))
            })
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("members")
        writer.beginArray()
        for member in members { member.write(to: &writer) }
        writer.endArray()
        writer.endObject()
    }
}
