extension Migration {
    /// The columns and indexes by which records that left a share expire, as tombstones do, so each stores the time of
    /// its departure. Only `shared_record` stores the share of a record: so moving a subtree writes small rows, and a
    /// record without a share costs nothing.
    static let shareUpkeep = Migration(
        script: """
            DROP INDEX record_share_root;
            ALTER TABLE record DROP COLUMN share_root;
            ALTER TABLE share ADD COLUMN ended_time {integer} NOT NULL DEFAULT 0;
            ALTER TABLE share ADD COLUMN purged_until {integer} NOT NULL DEFAULT 0;
            ALTER TABLE share ADD COLUMN reentered_at {integer} NOT NULL DEFAULT 0;
            CREATE INDEX share_ended ON share (ended_time) WHERE ended_time > 0;
            ALTER TABLE shared_record RENAME COLUMN gone TO gone_at;
            ALTER TABLE shared_record ADD COLUMN left_at {integer} NOT NULL DEFAULT 0;
            CREATE INDEX shared_record_gone ON shared_record (gone_at) WHERE gone_at > 0;
            CREATE INDEX share_participant_account ON share_participant (share, account);
            CREATE INDEX share_participant_accounts ON share_participant (account) WHERE account > 0;
            CREATE INDEX job_zone ON job (owner, zone, kind);
            CREATE TABLE forgotten_membership (
                account {integer} NOT NULL PRIMARY KEY,
                sequence {integer} NOT NULL
            );
            """)
}
