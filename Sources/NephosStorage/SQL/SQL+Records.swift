extension SQL {
    /// The columns of a record after its name, in writing order.
    package static let contentColumns = [
        "sequence", "type", "deleted", "created_at", "created_by", "modified_at", "modified_by", "parent", "share",
        "checksum", "fields",
    ]

    /// The columns of a record in reading order, as in `RecordRowView.Column`.
    package static let recordColumns = "name, id, \(contentColumns.joined(separator: ", "))"

    package static func recordColumns(of table: String) -> String { qualified(recordColumns, table) }

    /// The statements that look records up; nil for another.
    var recordText: String? {
        switch self {
        case .recordByName:
            "SELECT \(Self.recordColumns) FROM record WHERE owner = $1 AND zone = $2 AND name = $3"
        case .recordParent:
            "SELECT parent FROM record WHERE owner = $1 AND zone = $2 AND name = $3 AND deleted = 0"
        case .recordsByNames:
            "SELECT \(Self.recordColumns) FROM record WHERE owner = $1 AND zone = $2 AND name IN (\(Self.listed)) ORDER BY name"
        // For a remote database: the records that fit in $4 bytes.
        case .expectedRecords:
            """
            SELECT \(Self.recordColumns) FROM record WHERE owner = $1 AND zone = $2 AND name IN (\(Self.listed))
                AND length(fields) <= $4
            """
        // For a remote database: the same records, each with its row under its current share.
        case .expectedSharedRecords:
            """
            SELECT \(Self.recordColumns(of: "record")), \(Self.sharedRecordColumns(of: "shared")) FROM record
            LEFT JOIN shared_record AS shared ON shared.owner = record.owner AND shared.zone = record.zone
                AND shared.name = record.name AND shared.gone_at = 0
            WHERE record.owner = $1 AND record.zone = $2 AND record.name IN (\(Self.listed))
                AND length(record.fields) <= $4
            """
        case .recordByNumber:
            "SELECT \(Self.recordColumns) FROM record WHERE id = $1 AND owner = $2 AND zone = $3"
        case .recordNumber:
            "SELECT id FROM record WHERE owner = $1 AND zone = $2 AND name = $3"
        default: nil
        }
    }

    /// The statements that read records in the order of their changes, and write them; nil for another.
    var recordChangeText: String? {
        switch self {
        case .expiredTombstones:
            """
            SELECT owner, zone, name, sequence FROM record
            WHERE \(Self.ofStore()) AND deleted = 1 AND modified_at < $1
            ORDER BY modified_at LIMIT $2
            """
        case .removeTombstone:
            """
            DELETE FROM record WHERE owner = $1 AND zone = $2 AND name = $3 AND sequence = $4 AND deleted = 1
            """
        case .lastSequenceOfZone:
            "SELECT max(sequence) FROM record WHERE owner = $1 AND zone = $2"
        case .recordSizes:
            """
            SELECT sequence, length(fields) + length(name) FROM record WHERE owner = $1 AND zone = $2 AND sequence > $3
            ORDER BY sequence LIMIT $4
            """
        case .recordsAfter:
            """
            SELECT \(Self.recordColumns) FROM record WHERE owner = $1 AND zone = $2 AND sequence > $3
            ORDER BY sequence LIMIT $4
            """
        case .recordsBefore:
            """
            SELECT \(Self.recordColumns) FROM record WHERE owner = $1 AND zone = $2 AND sequence < $3
            ORDER BY sequence DESC LIMIT $4
            """
        case .putRecord:
            """
            INSERT INTO record (owner, zone, name, \(Self.contentColumns.joined(separator: ", ")))
            VALUES ($1, $2, $3, \(Self.parameters(Self.contentColumns.count, from: 4)))
            ON CONFLICT (owner, zone, name) DO UPDATE SET
                \(Self.contentColumns.map { "\($0) = excluded.\($0)" }.joined(separator: ", "))
            """
        case .updateRecord:
            """
            UPDATE record SET (\(Self.contentColumns.joined(separator: ", ")))
                = (\(Self.parameters(Self.contentColumns.count, from: 1)))
            WHERE id = $12 AND owner = $13 AND zone = $14 AND name = $15
            """
        case .purgeRecords:
            """
            DELETE FROM record WHERE owner = $1 AND zone = $2 AND name IN (
                SELECT name FROM record WHERE owner = $1 AND zone = $2 ORDER BY name LIMIT $3)
            """
        default: nil
        }
    }
}
