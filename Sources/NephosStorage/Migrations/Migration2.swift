extension Migration {
    /// Indexes over records.
    static let second = Migration(
        number: 2,
        script: """
            CREATE TABLE index_definition (
                id {key},
                record_type {text} NOT NULL,
                components {text} NOT NULL,
                ready {integer} NOT NULL,
                defined_at {integer} NOT NULL,
                built_zone {integer} NOT NULL,
                built_sequence {integer} NOT NULL,
                UNIQUE (record_type, components)
            );

            CREATE TABLE index_entry (
                owner {integer} NOT NULL,
                zone {integer} NOT NULL,
                definition {integer} NOT NULL,
                value {bytes} NOT NULL,
                name {text} NOT NULL,
                PRIMARY KEY (owner, zone, definition, value, name)
            ) {clustered};
            """)
}
