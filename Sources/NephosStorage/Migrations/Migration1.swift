extension Migration {
    /// The tables of the first release.
    ///
    /// Every key of an owner's rows starts with the owner, so that the tables can be distributed by it.
    static let first = Migration(
        number: 1,
        script: """
            CREATE TABLE change_sequence (
                id {integer} NOT NULL PRIMARY KEY CHECK (id = 1),
                last {integer} NOT NULL
            );
            INSERT INTO change_sequence (id, last) VALUES (1, 0);

            CREATE TABLE account (
                id {key},
                name {text} NOT NULL UNIQUE,
                user_record_name {text} NOT NULL UNIQUE
            );

            CREATE TABLE zone (
                id {key},
                owner {integer} NOT NULL,
                name {text} NOT NULL,
                sequence {integer} NOT NULL,
                deleted {integer} NOT NULL
            );
            CREATE UNIQUE INDEX zone_live ON zone (owner, name) WHERE deleted = 0;
            CREATE INDEX zone_deleted ON zone (owner, sequence) WHERE deleted = 1;

            CREATE TABLE record (
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
                PRIMARY KEY (owner, zone, name),
                UNIQUE (owner, zone, sequence)
            );

            CREATE TABLE reference (
                owner {integer} NOT NULL,
                zone {integer} NOT NULL,
                target {text} NOT NULL,
                kind {integer} NOT NULL,
                source {text} NOT NULL,
                PRIMARY KEY (owner, zone, target, kind, source)
            ) {clustered};
            CREATE INDEX reference_source ON reference (owner, zone, source);

            CREATE TABLE record_type (
                name {text} NOT NULL PRIMARY KEY
            ) {clustered};

            CREATE TABLE schema_field (
                record_type {text} NOT NULL,
                field {text} NOT NULL,
                type {text} NOT NULL,
                PRIMARY KEY (record_type, field)
            ) {clustered};

            CREATE TABLE job (
                id {key},
                kind {text} NOT NULL,
                owner {integer} NOT NULL,
                zone {integer} NOT NULL,
                subject {text} NOT NULL
            );
            """)
}
