extension Migration {
    /// What keeps change feeds cheap: where a zone last changed, what a feed no longer tells, and the deletions by their
    /// age.
    static let fifth = Migration(
        number: 5,
        script: """
            ALTER TABLE zone ADD COLUMN changed {integer} NOT NULL DEFAULT 0;
            ALTER TABLE zone ADD COLUMN purged_until {integer} NOT NULL DEFAULT 0;
            ALTER TABLE zone ADD COLUMN deleted_at {integer} NOT NULL DEFAULT 0;
            ALTER TABLE zone ADD COLUMN deletion_reason {integer} NOT NULL DEFAULT 0;
            UPDATE zone SET changed = coalesce(
                (SELECT max(sequence) FROM record WHERE record.owner = zone.owner AND record.zone = zone.id), sequence)
            WHERE deleted = 0;

            CREATE INDEX zone_changed ON zone (owner, changed) WHERE deleted = 0;
            CREATE INDEX zone_name ON zone (owner, name);
            CREATE INDEX zone_deleted_at ON zone (deleted_at) WHERE deleted = 1;
            CREATE INDEX record_deleted_at ON record (modified_at) WHERE deleted = 1;

            CREATE TABLE forgotten_zone (
                owner {integer} NOT NULL PRIMARY KEY,
                sequence {integer} NOT NULL
            );
            """)
}
