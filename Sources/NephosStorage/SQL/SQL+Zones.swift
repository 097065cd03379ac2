extension SQL {
    /// The columns of a zone after its owner, in reading order.
    package static let zoneColumns = """
        id, name, sequence, client_change_token, changed, purged_until, deleted, deletion_reason
        """

    /// The statements about live zones; nil for another.
    var zoneText: String? {
        switch self {
        case .zoneByName:
            "SELECT \(Self.zoneColumns) FROM zone WHERE owner = $1 AND name = $2 AND deleted = 0"
        case .zoneDeletion: "SELECT deleted FROM zone WHERE owner = $1 AND id = $2"
        case .zones:
            """
            SELECT \(Self.zoneColumns.replacing("client_change_token", with: "NULL")) FROM zone
            WHERE owner = $1 AND deleted = 0 ORDER BY name
            """
        case .zoneCount:
            "SELECT count(*) FROM (SELECT 1 FROM zone WHERE owner = $1 AND deleted = 0 LIMIT $2) AS found"
        case .zoneSizes:
            """
            SELECT id, length(name) + coalesce(length(client_change_token), 0), deleted, name FROM zone
            WHERE owner = $1 AND (name, id) > ($2, $3) ORDER BY name, id LIMIT $4
            """
        case .insertZone:
            "INSERT INTO zone (owner, name, sequence, changed, deleted) VALUES ($1, $2, $3, $4, 0) RETURNING id"
        case .setClientChangeToken:
            "UPDATE zone SET client_change_token = $1 WHERE owner = $2 AND id = $3"
        case .zonesByChange:
            """
            SELECT \(Self.zoneColumns) FROM zone WHERE owner = $1 AND deleted = 0 AND changed > $2
            ORDER BY changed LIMIT $3
            """
        case .lastChangeOfZones:
            """
            SELECT changed FROM zone WHERE owner = $1 AND deleted = 0 ORDER BY changed DESC LIMIT 1
            """
        case .noteChange: "UPDATE zone SET changed = $1 WHERE owner = $2 AND id = $3"
        case .notePurge:
            "UPDATE zone SET purged_until = $1 WHERE owner = $2 AND id = $3 AND purged_until < $4"
        case .zonesAfter:
            """
            SELECT id, owner, name, sequence FROM zone WHERE \(Self.ofStore()) AND id > $1 AND deleted = 0
            ORDER BY id LIMIT $2
            """
        case .zoneByID: "SELECT \(Self.zoneColumns) FROM zone WHERE owner = $1 AND id = $2"
        default: nil
        }
    }

    /// The statements about deleted zones; nil for another.
    var zoneDeletionText: String? {
        switch self {
        case .markZoneDeleted:
            """
            UPDATE zone SET deleted = 1, sequence = $1, deleted_at = $2, deletion_reason = $3, client_change_token = NULL
            WHERE owner = $4 AND id = $5 AND deleted = 0
            """
        case .deletedZones:
            """
            SELECT \(Self.zoneColumns) FROM zone WHERE owner = $1 AND deleted = 1 AND sequence > $2
                AND NOT EXISTS (
                    SELECT 1 FROM zone AS later
                    WHERE later.owner = zone.owner AND later.name = zone.name AND later.id > zone.id)
            ORDER BY sequence LIMIT $3
            """
        case .lastDeletionOfZones:
            """
            SELECT sequence FROM zone WHERE owner = $1 AND deleted = 1 ORDER BY sequence DESC LIMIT 1
            """
        case .lastDeletedZone:
            """
            SELECT \(Self.zoneColumns) FROM zone WHERE owner = $1 AND name = $2 AND deleted = 1
            ORDER BY id DESC LIMIT 1
            """
        case .expiredZones:
            """
            SELECT id, owner, sequence FROM zone WHERE \(Self.ofStore()) AND deleted = 1 AND deleted_at > 0 AND deleted_at < $1
                AND NOT EXISTS (SELECT 1 FROM record WHERE record.owner = zone.owner AND record.zone = zone.id)
            ORDER BY deleted_at LIMIT $2
            """
        case .forgetZone: "DELETE FROM zone WHERE owner = $1 AND id = $2 AND deleted = 1"
        case .forgottenZones: "SELECT sequence FROM forgotten_zone WHERE owner = $1"
        case .noteForgottenZone:
            """
            INSERT INTO forgotten_zone (owner, sequence) VALUES ($1, $2)
            ON CONFLICT (owner) DO UPDATE SET sequence = excluded.sequence
            WHERE forgotten_zone.sequence < excluded.sequence
            """
        default: nil
        }
    }
}
