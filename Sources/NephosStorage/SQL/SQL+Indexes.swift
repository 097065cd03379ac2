extension SQL {
    private static let indexRange = """
        FROM index_entry WHERE owner = $1 AND zone = $2 AND definition = $3 AND value >= $4 AND value < $5
        """

    /// The statements about indexes; nil for another.
    var indexText: String? {
        switch self {
        case .indexDefinitions:
            """
            SELECT id, record_type, components, ready, defined_at, built_zone, built_sequence FROM index_definition
            WHERE \(Self.ofStore("store")) ORDER BY id
            """
        case .insertIndexDefinition:
            """
            INSERT INTO index_definition (record_type, components, ready, defined_at, built_zone, built_sequence)
            VALUES ($1, $2, 0, $3, 0, 0) RETURNING id
            """
        case .updateIndexDefinition:
            """
            UPDATE index_definition SET ready = $1, built_zone = $2, built_sequence = $3
            WHERE \(Self.ofStore("store")) AND id = $4
            """
        case .removeIndexDefinition: "DELETE FROM index_definition WHERE \(Self.ofStore("store")) AND id = $1"
        default: nil
        }
    }

    /// The statements that read ranges of an index; nil for another.
    var indexRangeText: String? {
        switch self {
        case .indexEntries:
            "SELECT value, name, record \(Self.indexRange) ORDER BY value, name LIMIT $6"
        case .indexEntriesAfter:
            """
            SELECT value, name, record FROM index_entry
            WHERE owner = $1 AND zone = $2 AND definition = $3 AND (value, name) > ($4, $5) AND value < $6
            ORDER BY value, name LIMIT $7
            """
        // A cross join fixes the order of the tables, so that records are looked up in the order of the index entries.
        // A zone's ID is unique across owners, so the record's owner need not be compared.
        case .indexedRecords:
            """
            SELECT \(Self.recordColumns(of: "record")), value FROM index_entry AS entry CROSS JOIN record
            WHERE entry.owner = $1 AND entry.zone = $2 AND definition = $3 AND value >= $4 AND value < $5
                AND record.id = entry.record AND record.zone = $2
            ORDER BY value, entry.name LIMIT $6
            """
        case .indexedRecordsAfter:
            """
            SELECT \(Self.recordColumns(of: "record")), value FROM index_entry AS entry CROSS JOIN record
            WHERE entry.owner = $1 AND entry.zone = $2 AND definition = $3 AND (value, entry.name) > ($4, $5)
                AND value < $6 AND record.id = entry.record AND record.zone = $2
            ORDER BY value, entry.name LIMIT $7
            """
        case .countIndexEntries:
            "SELECT count(*) FROM (SELECT 1 \(Self.indexRange) LIMIT $6) AS found"
        default: nil
        }
    }

    /// The statements about single entries, and those that remove entries; nil for another.
    var indexEntryText: String? {
        switch self {
        case .hasIndexEntry:
            """
            SELECT 1 FROM index_entry WHERE owner = $1 AND zone = $2 AND definition = $3 AND value = $4 AND name = $5
            """
        // The result has the positions of the missing entries, from 1, in two lists: hexadecimal values and names.
        case .missingIndexEntries:
            """
            SELECT wanted.key + 1 FROM (SELECT $1 AS owner, $2 AS zone, $3 AS definition) AS place
            CROSS JOIN json_each($4) AS wanted CROSS JOIN json_each($5) AS names
            WHERE names.key = wanted.key AND NOT EXISTS (
                SELECT 1 FROM index_entry AS entry WHERE entry.owner = place.owner AND entry.zone = place.zone
                    AND entry.definition = place.definition AND hex(entry.value) = wanted.value
                    AND entry.name = names.value)
            """
        case .insertIndexEntry:
            """
            INSERT INTO index_entry (owner, zone, definition, value, name, record) VALUES ($1, $2, $3, $4, $5, $6)
            ON CONFLICT DO NOTHING
            """
        case .removeIndexEntry:
            """
            DELETE FROM index_entry WHERE owner = $1 AND zone = $2 AND definition = $3 AND value = $4 AND name = $5
            """
        case .removeIndexEntries:
            """
            DELETE FROM index_entry WHERE owner = $1 AND zone = $2 AND definition = $3 AND (value, name) IN (
                SELECT value, name \(Self.indexRange) ORDER BY value, name LIMIT $6)
            """
        case .firstIndexOfZone:
            "SELECT definition FROM index_entry WHERE owner = $1 AND zone = $2 ORDER BY definition LIMIT 1"
        case .purgeIndexEntries:
            """
            DELETE FROM index_entry WHERE owner = $1 AND zone = $2 AND definition = $3 AND (value, name) IN (
                SELECT value, name FROM index_entry WHERE owner = $1 AND zone = $2 AND definition = $3
                ORDER BY value, name LIMIT $4)
            """
        default: nil
        }
    }
}
