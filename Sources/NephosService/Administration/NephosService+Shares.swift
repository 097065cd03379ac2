import NephosStorage
package import NephosWire

extension NephosService {
    /// The shares of one account's records; the shares of all accounts' records if the request names no account.
    package func listShares(
        _ request: ListSharesRequest, _ context: RequestContext
    ) async throws(ServiceError) -> AccountSharesResponse {
        let unused = request.account == nil ? AccountSharesResponse(shares: []) : nil
        return try await administer(context, ifUnused: unused) { store in
            try await store.engine.read { reader in
                let zones: [ZoneRow]
                if let name = request.account {
                    zones = try reader.zones(owner: try Self.account(named: name, reader).owner)
                } else {
                    zones = try Self.zones(reader)
                }
                return AccountSharesResponse(
                    shares: try zones.flatMap { zone -> [AccountShare] in
                        guard try reader.liveAccount(id: zone.key.owner.rawValue) != nil else { return [] }
                        return try reader.shares(zone: zone.key, limit: Limits.sharesPerNotification).map {
                            try Self.description($0, zone, reader)
                        }
                    })
            }
        }
    }

    /// All accounts' zones that may contain shares.
    private static func zones(_ reader: StorageReader) throws -> [ZoneRow] {
        var zones: [ZoneRow] = []
        var last: Int64 = 0
        while true {
            let page = try reader.zones(after: last, limit: Limits.zonesPerPage)
            zones += page.filter { ZoneRules.hasChangeFeed($0.name) }
            guard page.count == Limits.zonesPerPage, let id = page.last?.key.id else { return zones }
            last = id
        }
    }

    private static func description(
        _ share: ShareRow, _ zone: ZoneRow, _ reader: StorageReader
    ) throws -> AccountShare {
        AccountShare(
            account: try reader.account(id: zone.key.owner.rawValue)?.name ?? "", zoneName: zone.name,
            recordName: share.name, rootRecordName: share.isZoneWide ? nil : share.root, shortGUID: share.guid,
            publicPermission: share.openPermission.rawValue,
            participants: try reader.participants(share: share.id).map { row in
                AccountShare.Participant(
                    name: row.account == 0 ? row.address : try reader.account(id: row.account)?.name ?? "",
                    role: row.isRequester
                        ? "REQUESTER" : row.isBlocked ? "BLOCKED" : ParticipantRole(number: row.role).rawValue,
                    permission: row.permission(in: share).rawValue,
                    status: AcceptanceStatus(number: row.status).rawValue)
            })
    }

    /// Explains an account's permissions on a record in the private database of the record's owner.
    package func explainAccess(
        _ request: ExplainAccessRequest, _ context: RequestContext
    ) async throws(ServiceError) -> ExplainAccessResponse {
        try await administer(context) { store in
            try await store.engine.read { reader in
                let account = try Self.account(named: request.account, reader)
                let owner = try Self.account(named: request.owner, reader)
                guard let zone = try reader.zone(owner: owner.owner, named: request.zoneName) else {
                    throw ServiceError.zoneNotFound(request.zoneName)
                }
                guard let record = try reader.record(zone: zone.key, named: request.recordName), !record.isDeleted
                else { throw ServiceError.recordNotFound }
                return ExplainAccessResponse(
                    lines: try AccessExplanation(
                        account: account, owner: owner, zone: zone, record: record, reader: reader
                    ).lines())
            }
        }
    }
}

/// Explains in sentences the decisions of `ShareAccess` about an account and a record.
struct AccessExplanation {
    let account: AccountRow
    let owner: AccountRow
    let zone: ZoneRow
    let record: RecordRow
    let reader: StorageReader

    func lines() throws -> [String] {
        let standing = try standing()
        let subject: ShareAccess.Subject =
            record.type == SystemRecordType.share ? .share : record.share != nil ? .root : .record
        let actions: [(ShareAccess.Action, String)] = [
            (.read, "read it"), (.change, "change it"), (.delete, "delete it"),
            (.move, "move it out of what is shared"), (.create, "create records below it"),
        ]
        return try [reason(standing)]
            + actions.map { action, verb in
                switch ShareAccess.decide(action, on: subject, by: standing) {
                case .allowed: "\(account.name) may \(verb)."
                case .invisible: "\(account.name) may not \(verb): it answers as if it did not exist."
                case .refused(let reason): "\(account.name) may not \(verb): \(reason)."
                }
            }
    }

    private func standing() throws -> ShareAccess.Standing {
        if account.id == owner.id { return .owner }
        let view = SharedDatabaseView(account: account, reader: reader)
        guard let shared = try view.zone(named: zone.name, owner: owner.userRecordName) else { return .outsider }
        return try shared.standing(on: record.name, reader)
    }

    /// Explains the account's standing on the record.
    private func reason(_ standing: ShareAccess.Standing) throws -> String {
        switch standing {
        case .owner: return "\(account.name) owns the record '\(record.name)'."
        case .participant(let role, let permission):
            return
                "\(account.name) takes part in the share that '\(record.name)' is under, as \(role.rawValue) with the"
                + " permission \(permission.rawValue)."
        case .outsider: break
        }
        guard let share = try share() else { return "'\(record.name)' is under no share." }
        guard let row = try reader.participants(share: share.id).first(where: { $0.isOf(account) && $0.isParticipant })
        else { return "'\(record.name)' is under the share '\(share.name)', in which \(account.name) takes no part." }
        if !row.hasAccepted {
            return "\(account.name) is invited to the share '\(share.name)' and has not accepted it."
        }
        return "\(account.name) takes part in the share '\(share.name)' with the permission NONE."
    }

    private func share() throws -> ShareRow? {
        if let whole = try reader.share(zone: zone.key, named: SystemRecordName.zoneWideShare) { return whole }
        let share = try StoredHierarchy(zone: zone.key, reader: reader).share(over: record.name)
        return try share.flatMap { try reader.share(id: $0) }
    }
}
