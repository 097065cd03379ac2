import NephosStorage
import NephosWire

/// A caller's permissions in the public database, from the grants of record types (CloudKit Schema Language, security
/// roles):
///
/// - `_world` is every caller, `_icloud` is every account, `_creator` is the record's creator;
/// - READ is the permission to fetch and query, CREATE to save a new record, WRITE to change and delete a record; WRITE
///   implies READ;
/// - a type without grants has the standard ones: the world reads, accounts create, the creator writes.
///
/// Administrators assign the roles that a schema defines. Grants do not apply to the private database, which only its
/// owner can access.
struct RecordPermissions {
    /// The schema with the grants; nil if grants do not apply.
    private let schema: Schema?
    private let account: AccountRow?

    init(_ caller: Caller, _ schema: Schema) {
        self.schema = caller.scope == .public ? schema : nil
        account = caller.account
    }

    /// The permissions of an account that is not the caller, such as a subscriber.
    init(_ scope: DatabaseScope, account: AccountRow?, _ schema: Schema) {
        self.schema = scope == .public ? schema : nil
        self.account = account
    }

    /// Reads the schema only if grants apply to the caller's database.
    init(
        _ caller: Caller, _ schemas: SchemaCatalog, asOf moment: SchemaCatalog.Moment, _ reader: StorageReader
    ) throws {
        schema = caller.scope == .public ? try schemas.schema(asOf: moment, reader) : nil
        account = caller.account
    }

    // MARK: - Reading

    func mayRead(_ row: RecordRow) -> Bool {
        may([.read, .write], row.type, createdBy: row.createdBy)
    }

    /// The reason that the caller may not read a record; nil if it may.
    func refusalToRead(_ record: RecordRowView) -> ServiceError? {
        if schema == nil { return nil }
        let type = String(decoding: record.type, as: UTF8.self)
        return may([.read, .write], type, createdBy: record.createdBy) ? nil : refusal(.read, type, tells: false)
    }

    /// Checks that the account may subscribe to a query on the record type. Each notification also checks whether the
    /// account may read the record.
    func checkMaySubscribe(to recordType: String) throws(ServiceError) {
        if may([.read, .write], recordType, createdBy: nil) { return }
        guard let account, may([.read, .write], recordType, createdBy: account.id) else {
            throw refusal(.read, recordType)
        }
    }

    /// Restricts a query to the records that the caller may read: its own records, if only the creator may read a
    /// record.
    func restrict(_ query: ValidQuery) throws(ServiceError) -> ValidQuery {
        if may([.read, .write], query.recordType, createdBy: nil) { return query }
        guard let account, may([.read, .write], query.recordType, createdBy: account.id) else {
            throw refusal(.read, query.recordType)
        }
        var query = query
        let own = Filter(
            .system(.createdUserRecordName), .equals, .reference(ReferenceValue(recordName: account.userRecordName)))
        query.condition = QueryExpression.and([query.condition, .filter(own)]).normalized
        query.restriction = CreatorRestriction(account: account.id, filter: own)
        return query
    }

    // MARK: - Writing

    /// Checks the permissions for an operation. A refused creation may reveal that its name is taken.
    func check(_ operation: ValidOperation, stored: RecordRow?) throws(ServiceError) {
        guard let stored else {
            guard operation.operationType.makesRecords, let type = operation.recordType else { return }
            if !may(.create, type, createdBy: nil) { throw refusal(.create, type) }
            return
        }
        if operation.operationType == .create { return }
        if !may(.write, stored.type, createdBy: stored.createdBy) {
            throw refusal(.write, stored.type, tells: mayRead(stored))
        }
        // A change of a record's type also creates a record of the new type.
        guard let type = operation.recordType, type != stored.type, operation.operationType.makesRecords else { return }
        if !may(.create, type, createdBy: nil) { throw refusal(.create, type) }
    }

    // MARK: - Roles

    /// - Parameter createdBy: the account that created the record; nil if the creator's role does not count.
    private func may(_ permissions: Permissions, _ recordType: String, createdBy: Int64?) -> Bool {
        guard let schema else { return true }
        var roles = [SystemRole.world]
        if let account {
            roles.append(SystemRole.authenticated)
            if account.id == createdBy { roles.append(SystemRole.creator) }
            roles += schema.roles(of: account.id)
        }
        let grants = grants(of: recordType, schema)
        return roles.contains { !(grants[$0] ?? []).isDisjoint(with: permissions) }
    }

    private func grants(of recordType: String, _ schema: Schema) -> Grants {
        schema.hasRecordType(recordType) ? schema.grants(of: recordType) : .standard(for: recordType)
    }

    /// - Parameter tells: whether the caller may learn the record type.
    private func refusal(_ permission: Permissions, _ recordType: String, tells: Bool = true) -> ServiceError {
        let granted = grants(of: recordType, schema ?? Schema()).ordered.filter { grant in
            !grant.permissions.isDisjoint(with: permission == .read ? [.read, .write] : permission)
        }
        // An account that signs in may have the permission.
        if account == nil, granted.contains(where: { SystemRole.all.contains($0.role) }) {
            return .authenticationRequired
        }
        let name = permission.names.first ?? ""
        guard tells else { return .notPermitted(name) }
        let roles = granted.map { "\"\($0.role)\"" }
        let remedy =
            roles.isEmpty
            ? "the schema grants \(name) to nobody; add GRANT \(name) TO a role"
            : "the schema grants \(name) to \(roles.joined(separator: " and ")) only"
        return .notPermitted(name, recordType, remedy)
    }
}

extension RecordOperation.OperationType {
    /// Whether the operation creates a missing record.
    var makesRecords: Bool { self == .create || self == .forceUpdate || self == .forceReplace }
}
