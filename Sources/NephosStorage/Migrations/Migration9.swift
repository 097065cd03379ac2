extension Migration {
    /// What a query reads of a record besides its name is one column, as `RecordContent` tells. The numbers of records stay,
    /// and with them the entries of indexes.
    static let ninth = Migration(
        number: 9,
        script: """
            CREATE TABLE packed_record (
                id {rowKey},
                owner {integer} NOT NULL,
                zone {integer} NOT NULL,
                name {text} NOT NULL,
                sequence {integer} NOT NULL,
                deleted_at {integer} NOT NULL,
                content {bytes} NOT NULL,
                UNIQUE (owner, zone, name),
                UNIQUE (owner, zone, sequence)
            );
            INSERT INTO packed_record (id, owner, zone, name, sequence, deleted_at, content)
            SELECT
                id, owner, zone, name, sequence,
                CASE WHEN deleted = 0 THEN 0 WHEN modified_at > 0 THEN modified_at ELSE 1 END,
                CAST(
                    CAST(
                        deleted || ' ' || created_at || ' ' || created_by || ' ' || modified_at || ' ' || modified_by
                        || ' ' || length(CAST(type AS {bytes}))
                        || ' ' || coalesce(length(CAST(parent AS {bytes})) + 1, 0)
                        || ' ' || coalesce(length(CAST(share AS {bytes})) + 1, 0)
                        || ' ' || type || coalesce(parent, '') || coalesce(share, '') AS {bytes})
                    || fields AS {bytes})
            FROM record ORDER BY id;
            DROP TABLE record;
            ALTER TABLE packed_record RENAME TO record;
            CREATE INDEX record_deleted_at ON record (deleted_at) WHERE deleted_at > 0;
            """)
}
