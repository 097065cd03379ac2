extension SQL {
    /// The index of SQLite for `liveSharedRecords`.
    package static let liveSharedRecordIndex = "INDEXED BY shared_record_live"

    /// The statements about shares; nil for another.
    var shareText: String? {
        switch self {
        case .shareByID: "SELECT \(Self.shareColumns) FROM share WHERE \(Self.ofStore()) AND id = $1"
        case .shareByGUID:
            "SELECT \(Self.shareColumns) FROM share WHERE \(Self.ofStore()) AND guid = $1 AND ended_at = 0"
        case .shareByName:
            "SELECT \(Self.shareColumns) FROM share WHERE owner = $1 AND zone = $2 AND ended_at = 0 AND name = $3"
        case .lastShareOfRoot:
            """
            SELECT \(Self.shareColumns) FROM share WHERE owner = $1 AND zone = $2 AND root = $3
            ORDER BY id DESC LIMIT 1
            """
        case .sharesOfZone:
            """
            SELECT \(Self.shareColumns) FROM share WHERE owner = $1 AND zone = $2 AND ended_at = 0
            ORDER BY id LIMIT $3
            """
        case .putShare:
            """
            INSERT INTO share (\(Self.shareColumns)) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
            ON CONFLICT (id) DO UPDATE SET
                ended_at = excluded.ended_at, ended_time = excluded.ended_time,
                public_permission = excluded.public_permission, allows_requests = excluded.allows_requests
            """
        case .purgeShares: "DELETE FROM share WHERE owner = $1 AND zone = $2"
        default: nil
        }
    }

    /// The statements about participants; nil for another.
    var participantText: String? {
        switch self {
        case .participantsOfShare:
            "SELECT \(Self.participantColumns) FROM share_participant WHERE \(Self.ofStore("store")) AND share = $1 ORDER BY id"
        case .participantsOfAccount:
            """
            SELECT \(Self.participantColumns) FROM share_participant
            WHERE \(Self.ofStore("store")) AND share = $1 AND account = $2 ORDER BY id
            """
        case .participantByGUID:
            """
            SELECT \(Self.participantColumns) FROM share_participant
            WHERE \(Self.ofStore("store")) AND one_time_guid <> '' AND one_time_guid = $1
            """
        case .putParticipant:
            """
            INSERT INTO share_participant (\(Self.participantColumns))
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
            ON CONFLICT (share, id) DO UPDATE SET
                account = excluded.account, address = excluded.address, role = excluded.role,
                permission = excluded.permission, status = excluded.status, added_at = excluded.added_at,
                one_time_guid = excluded.one_time_guid, approved = excluded.approved
            """
        case .removeParticipant:
            "DELETE FROM share_participant WHERE \(Self.ofStore("store")) AND share = $1 AND id = $2"
        case .purgeParticipants:
            """
            DELETE FROM share_participant
            WHERE \(Self.ofStore("store")) AND share IN (SELECT id FROM share WHERE owner = $1 AND zone = $2)
            """
        default: nil
        }
    }

    /// The statements about memberships; nil for another.
    var membershipText: String? {
        switch self {
        case .membershipsOfAccount:
            "SELECT \(Self.membershipColumns) FROM membership WHERE account = $1 ORDER BY share"
        case .membershipsInZone:
            """
            SELECT \(Self.membershipColumns) FROM membership WHERE account = $1 AND owner = $2 AND zone = $3
            ORDER BY share
            """
        case .membershipInShare:
            "SELECT \(Self.membershipColumns) FROM membership WHERE account = $1 AND share = $2"
        // Zones are left in ascending order of the shares, so a descending scan meets a live membership at once.
        case .liveMembershipInZone:
            """
            SELECT share FROM membership WHERE account = $1 AND owner = $2 AND zone = $3 AND left_at = 0
            ORDER BY share DESC LIMIT 1
            """
        case .countMemberships: "SELECT count(*) FROM membership WHERE account = $1 AND left_at = 0"
        case .participantZone:
            """
            SELECT \(Self.qualified(Self.accountColumns, "account")), \(Self.qualified(Self.zoneColumns, "zone")),
                CASE WHEN EXISTS (SELECT 1 FROM job WHERE owner = zone.owner AND zone = zone.id AND kind = $1)
                    THEN 1 ELSE 0 END,
                \(Self.qualified(Self.membershipColumns, "membership")),
                \(Self.qualified(Self.shareColumns, "share")),
                \(Self.qualified(Self.participantColumns, "participant"))
            FROM account CROSS JOIN zone CROSS JOIN membership CROSS JOIN share
                CROSS JOIN share_participant AS participant
            WHERE \(Self.ofStore("account.id")) AND account.user_record_name = $2 AND account.name IS NOT NULL
                AND zone.owner = account.id AND zone.name = $3 AND zone.deleted = 0
                AND membership.account = $4 AND membership.owner = zone.owner AND membership.zone = zone.id
                AND share.owner = membership.owner AND share.id = membership.share
                AND \(Self.ofStore("participant.store")) AND participant.share = share.id AND participant.account = membership.account
            ORDER BY share.id, participant.id
            """
        case .membersOfShare:
            """
            SELECT account FROM membership WHERE \(Self.ofStore("account")) AND share = $1 AND left_at = 0 ORDER BY account
            """
        case .putMembership:
            """
            INSERT INTO membership (\(Self.membershipColumns)) VALUES ($1, $2, $3, $4, $5, $6)
            ON CONFLICT (account, share) DO UPDATE SET joined_at = excluded.joined_at, left_at = excluded.left_at
            """
        case .forgetMemberships:
            """
            INSERT INTO forgotten_membership (account, sequence)
            SELECT account, $1 FROM membership
            WHERE \(Self.ofStore("account")) AND share IN (SELECT id FROM share WHERE owner = $2 AND zone = $3)
            ON CONFLICT (account) DO UPDATE SET sequence = excluded.sequence
            WHERE forgotten_membership.sequence < excluded.sequence
            """
        case .purgeMemberships:
            """
            DELETE FROM membership
            WHERE \(Self.ofStore("account")) AND share IN (SELECT id FROM share WHERE owner = $1 AND zone = $2)
            """
        default: nil
        }
    }

    /// The statements about the records of shares; nil for another.
    var sharedRecordText: String? {
        switch self {
        case .sharedRecordByName:
            """
            SELECT \(Self.sharedRecordColumns) FROM shared_record
            WHERE owner = $1 AND zone = $2 AND name = $3 AND gone_at = 0
            """
        case .sharedRecordUnder:
            """
            SELECT \(Self.sharedRecordColumns) FROM shared_record
            WHERE owner = $1 AND zone = $2 AND name = $3 AND share = $4
            """
        // For a remote database.
        case .sharedRecordsByNames:
            """
            SELECT \(Self.sharedRecordColumns) FROM shared_record
            WHERE owner = $1 AND zone = $2 AND name IN (\(Self.listed)) LIMIT $4
            """
        case .sharedRecordsAfter:
            """
            SELECT \(Self.sharedRecordColumns) FROM shared_record
            WHERE owner = $1 AND zone = $2 AND share = $3 AND sequence > $4 ORDER BY sequence LIMIT $5
            """
        // A cross join fixes the order of the tables, so that records are looked up in the order of the index by name.
        // Without the name of the index, SQLite scans the zone's shared records by name.
        case .liveSharedRecords:
            """
            SELECT \(Self.recordColumns(of: "record")) FROM shared_record AS shared \(Self.liveSharedRecordIndex) CROSS JOIN record
            WHERE shared.owner = $1 AND shared.zone = $2 AND shared.share = $3 AND shared.type = $4
                AND shared.name > $5 AND shared.gone_at = 0
                AND record.owner = shared.owner AND record.zone = shared.zone AND record.name = shared.name
            ORDER BY shared.name LIMIT $6
            """
        case .lastSharedSequence:
            """
            SELECT sequence FROM shared_record WHERE owner = $1 AND zone = $2 AND share = $3
            ORDER BY sequence DESC LIMIT 1
            """
        case .putSharedRecord:
            """
            INSERT INTO shared_record (\(Self.sharedRecordColumns)) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
            ON CONFLICT (owner, zone, name, share) DO UPDATE SET
                type = excluded.type, entered = excluded.entered, sequence = excluded.sequence,
                gone_at = excluded.gone_at, left_at = excluded.left_at
            """
        case .purgeSharedRecords:
            """
            DELETE FROM shared_record WHERE owner = $1 AND zone = $2 AND name IN (
                SELECT name FROM shared_record WHERE owner = $1 AND zone = $2 ORDER BY name LIMIT $3)
            """
        default: nil
        }
    }

    private static let shareColumns = """
        id, owner, zone, name, root, guid, ended_at, public_permission, allows_requests, ended_time, purged_until,
        reentered_at
        """
    static let participantColumns = """
        share, id, account, address, role, permission, status, added_at, one_time_guid, approved
        """
    private static let membershipColumns = "account, share, owner, zone, joined_at, left_at"
    package static func sharedRecordColumns(of table: String) -> String { qualified(sharedRecordColumns, table) }
    private static let accountColumns = "id, name, user_record_name"
    private static let sharedRecordColumns = "owner, zone, name, share, type, entered, sequence, gone_at, left_at"
}
