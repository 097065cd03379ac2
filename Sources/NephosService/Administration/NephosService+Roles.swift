import NephosStorage
package import NephosWire

/// The roles of accounts, which a schema defines with `CREATE ROLE`. In Apple's service the console assigns them.
extension NephosService {
    package func listRoles(
        _ request: ListRolesRequest, _ context: RequestContext
    ) async throws(ServiceError) -> RolesResponse {
        try await administer(context) { store in
            try await store.engine.read { reader in
                let only = try request.account.map { try Self.account(named: $0, reader) }
                return try Self.members(of: try Schema(reader), only: only, reader)
            }
        }
    }

    /// Assigns a role to an account, which grants it the role's permissions. Idempotent.
    package func assignRole(
        _ request: RoleRequest, _ context: RequestContext
    ) async throws(ServiceError) -> RolesResponse {
        try await changeRole(request, context, isMember: true)
    }

    package func revokeRole(
        _ request: RoleRequest, _ context: RequestContext
    ) async throws(ServiceError) -> RolesResponse {
        try await changeRole(request, context, isMember: false)
    }

    private func changeRole(
        _ request: RoleRequest, _ context: RequestContext, isMember: Bool
    ) async throws(ServiceError) -> RolesResponse {
        try await administer(context) { store in
            // Required by `SchemaCatalog`: outdated roles must not authorise a save.
            store.schemas.beginChange()
            defer { store.schemas.endChange() }
            return try await store.engine.write { transaction in
                try transaction.advanceCatalog()
                let account = try Self.account(named: request.account, transaction)
                guard try Schema(transaction).roles.contains(request.role) else {
                    throw ServiceError(
                        .notFound, .unknownItem,
                        "the schema has no role '\(Identifier.excerpt(request.role))': import one that has CREATE ROLE")
                }
                try transaction.put(SchemaRows.row(ofMember: account.id, role: request.role, isMember: isMember))
                return try Self.members(of: try Schema(transaction), only: account, transaction)
            }
        }
    }

    private static func members(
        of schema: Schema, only account: AccountRow?, _ reader: StorageReader
    ) throws -> RolesResponse {
        var members: [RoleRequest] = []
        for role in schema.members.keys.sorted() {
            for id in (schema.members[role] ?? []).sorted() where account == nil || account?.id == id {
                guard let name = try account?.name ?? reader.account(id: id)?.name else { continue }
                members.append(RoleRequest(account: name, role: role))
            }
        }
        return RolesResponse(members: members)
    }
}
