import NephosStorage
import NephosWire

/// The participation of an account in a share that the account accepted.
struct Participation {
    var share: ShareRow
    var role: ParticipantRole
    var permission: SharePermission
    /// The change sequence of the acceptance.
    var joined: Int64

    var standing: ShareAccess.Standing { .participant(role, permission) }
}

/// Another owner's zone, as an account sees it in the account's shared database.
struct SharedZone {
    let zone: ZoneRow
    let owner: AccountRow
    /// The account's participations in shares of the zone; at least one.
    let participations: [Participation]
    /// Whether a background job is moving a subtree. Meanwhile the records' parents determine their shares.
    let hasMoves: Bool
    /// The account's participation in the zone-wide share; nil if there is none.
    let zoneWide: Participation?
    /// The indices of the participations by share: a request may look one up for each of its records.
    private let indices: [Int64: Int]

    init(zone: ZoneRow, owner: AccountRow, participations: [Participation], hasMoves: Bool) {
        self.zone = zone
        self.owner = owner
        self.participations = participations
        self.hasMoves = hasMoves
        zoneWide = participations.first { $0.share.isZoneWide }
        indices = Dictionary(
            participations.enumerated().map { ($1.share.id, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// The account's participation in the share of a record; nil if it does not participate in that share.
    func participation(of recordName: String, _ reader: StorageReader) throws -> Participation? {
        if let zoneWide { return zoneWide }
        let share =
            hasMoves
            ? try StoredHierarchy(zone: zone.key, reader: reader).share(over: recordName)
            : try reader.sharedRecord(zone: zone.key, named: recordName)?.share
        return share.flatMap { participation(in: $0) }
    }

    func participation(in share: Int64) -> Participation? { indices[share].map { participations[$0] } }

    func standing(on recordName: String, _ reader: StorageReader) throws -> ShareAccess.Standing {
        try participation(of: recordName, reader)?.standing ?? .outsider
    }

    func mayRead(_ recordName: String, _ reader: StorageReader) throws -> Bool {
        try ShareAccess.decide(.read, on: .record, by: standing(on: recordName, reader)) == .allowed
    }
}

/// The content of an account's shared database: the zones of other owners with content that is shared with the account.
struct SharedDatabaseView {
    let account: AccountRow
    let reader: StorageReader

    /// The zone with this name and owner; nil unless the zone is live and a live share in it gives the account access.
    func zone(named name: String, owner ownerName: String) throws -> SharedZone? {
        guard ownerName != account.userRecordName,
            let found = try reader.participantZone(
                named: name, owner: ownerName, account: account.id, job: BackgroundJob.moveShared.rawValue)
        else { return nil }
        let participations = found.parts.compactMap {
            Self.participation($0.membership, in: $0.share, $0.participants)
        }
        if participations.isEmpty { return nil }
        return SharedZone(
            zone: found.zone, owner: found.owner, participations: participations, hasMoves: found.hasJob)
    }

    /// All zones of the shared database, in the order of their creation.
    func zones() throws -> [SharedZone] {
        let memberships = Dictionary(grouping: try reader.memberships(account: account.id).filter { $0.left == 0 }) {
            $0.zone
        }
        return try memberships.keys.sorted { $0.id < $1.id }.compactMap { key in
            guard let zone = try reader.zone(key), !zone.isDeleted,
                let owner = try reader.liveAccount(id: key.owner.rawValue)
            else { return nil }
            return try sharedZone(zone, owner, memberships[key] ?? [])
        }
    }

    /// The zone with the account's participations, even if the zone or its owner was deleted; nil without
    /// participations.
    func sharedZone(
        _ zone: ZoneRow, _ owner: AccountRow, _ memberships: [MembershipRow]
    ) throws -> SharedZone? {
        let participations = try memberships.compactMap { try participation($0) }
        if participations.isEmpty { return nil }
        return SharedZone(
            zone: zone, owner: owner, participations: participations,
            hasMoves: try ShareMove.isUnderWay(in: zone.key, reader))
    }

    private func participation(_ membership: MembershipRow) throws -> Participation? {
        guard membership.left == 0, let share = try reader.share(id: membership.share), share.isLive else { return nil }
        let rows = try reader.participants(share: share.id, account: account.id)
        return Self.participation(membership, in: share, rows)
    }

    private static func participation(
        _ membership: MembershipRow, in share: ShareRow, _ rows: [ShareParticipantRow]
    ) -> Participation? {
        guard membership.left == 0, share.isLive, let row = rows.participant, row.isParticipant, row.hasAccepted else {
            return nil
        }
        let permission = row.permission(in: share)
        guard permission != .none, permission != .unknown else { return nil }
        return Participation(
            share: share, role: ParticipantRole(number: row.role), permission: permission, joined: membership.joined)
    }
}

/// The zone that a request addresses: a zone of the caller's own or of the public database, or a zone of another
/// account that is shared with the caller.
struct FoundZone {
    var row: ZoneRow
    /// The caller's view of a shared zone; nil if the zone is in the caller's own database or the public one.
    var shared: SharedZone?

    var key: ZoneKey { row.key }
    var name: String { row.name }

    /// The zone ID that the caller uses, with the name of the zone's owner.
    func zoneID(for caller: Caller) -> ZoneIDDictionary {
        guard let shared else { return caller.zoneID(name) }
        return ZoneIDDictionary(zoneName: name, ownerRecordName: shared.owner.userRecordName)
    }

    /// Whether shares let the caller see the record.
    func mayRead(_ recordName: @autoclosure () -> String, _ reader: StorageReader) throws -> Bool {
        guard let shared else { return true }
        return try shared.mayRead(recordName(), reader)
    }
}
