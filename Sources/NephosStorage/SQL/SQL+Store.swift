extension SQL {
    /// The statements about the store itself: its sequence, secret, schema and jobs; nil for another.
    var storeText: String? {
        switch self {
        case .savepoint: "SAVEPOINT work"
        case .releaseSavepoint: "RELEASE SAVEPOINT work"
        case .rollbackToSavepoint: "ROLLBACK TO SAVEPOINT work"
        case .lastSequence: "SELECT last FROM change_sequence"
        case .setLastSequence: "UPDATE change_sequence SET last = $1"
        case .secret: "SELECT secret FROM store_secret WHERE id = 1 AND \(Self.ofStore("store"))"
        case .tokenEpoch: "SELECT epoch FROM store_secret WHERE id = 1 AND \(Self.ofStore("store"))"
        case .lostSequences: "SELECT first, last FROM lost_sequences WHERE \(Self.ofStore("store")) ORDER BY first"
        case .setSecret: "INSERT INTO store_secret (id, secret) VALUES (1, $1) ON CONFLICT (id) DO NOTHING"
        case .recordTypes: "SELECT name FROM record_type WHERE \(Self.ofStore("store")) ORDER BY name"
        case .schemaFields:
            """
            SELECT record_type, field, type FROM schema_field WHERE \(Self.ofStore("store")) ORDER BY record_type, field
            """
        case .insertRecordType: "INSERT INTO record_type (name) VALUES ($1) ON CONFLICT DO NOTHING"
        case .putSchemaField:
            """
            INSERT INTO schema_field (record_type, field, type) VALUES ($1, $2, $3)
            ON CONFLICT (record_type, field) DO UPDATE SET type = excluded.type
            """
        case .jobs: "SELECT id, kind, owner, zone, subject FROM job WHERE \(Self.ofStore()) ORDER BY id LIMIT $1"
        case .jobsAfter:
            """
            SELECT id, kind, owner, zone, subject FROM job
            WHERE (owner, id) > ($1, $2) AND \(Self.withinStore("owner")) ORDER BY owner, id LIMIT $3
            """
        case .anyJob: "SELECT 1 FROM job WHERE owner = $1 AND zone = $2 AND kind = $3 LIMIT 1"
        case .insertJob: "INSERT INTO job (kind, owner, zone, subject) VALUES ($1, $2, $3, $4)"
        case .removeJob: "DELETE FROM job WHERE \(Self.ofStore()) AND id = $1"
        case .claimJob: "SELECT 1 FROM job WHERE \(Self.ofStore()) AND id = $1"
        default: nil
        }
    }
}
