extension Migration {
    /// A number for each record, and it in the entries of indexes: a query goes from an entry to its record by a number,
    /// which costs half as much as by the record's owner, zone and name. All indexes are built again.
    static let seventh = Migration(
        number: 7,
        script: """
            CREATE TABLE numbered_record (
                id {rowKey},
                owner {integer} NOT NULL,
                zone {integer} NOT NULL,
                name {text} NOT NULL,
                type {text} NOT NULL,
                sequence {integer} NOT NULL,
                deleted {integer} NOT NULL,
                created_at {integer} NOT NULL,
                created_by {integer} NOT NULL,
                modified_at {integer} NOT NULL,
                modified_by {integer} NOT NULL,
                parent {text},
                share {text},
                fields {bytes} NOT NULL,
                UNIQUE (owner, zone, name),
                UNIQUE (owner, zone, sequence)
            );
            INSERT INTO numbered_record (
                owner, zone, name, type, sequence, deleted, created_at, created_by, modified_at, modified_by, parent,
                share, fields)
            SELECT
                owner, zone, name, type, sequence, deleted, created_at, created_by, modified_at, modified_by, parent,
                share, fields
            FROM record;
            DROP TABLE record;
            ALTER TABLE numbered_record RENAME TO record;
            CREATE INDEX record_deleted_at ON record (modified_at) WHERE deleted = 1;

            DROP TABLE index_entry;
            CREATE TABLE index_entry (
                owner {integer} NOT NULL,
                zone {integer} NOT NULL,
                definition {integer} NOT NULL,
                value {bytes} NOT NULL,
                name {text} NOT NULL,
                record {integer} NOT NULL,
                PRIMARY KEY (owner, zone, definition, value, name)
            ) {clustered};
            UPDATE index_definition SET ready = 0, built_zone = 0, built_sequence = 0,
                defined_at = (SELECT last FROM change_sequence WHERE id = 1);
            """)
}
