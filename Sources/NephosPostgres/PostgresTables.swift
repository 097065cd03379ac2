import NephosStorage

/// What a store in PostgreSQL has beside the tables that all engines share.
enum PostgresTables {
    /// The constraint that keeps a name in a zone to one record.
    static let recordNames = "record_owner_zone_name_key"

    /// The constraint that keeps a request from being carried out twice.
    static let requestKeys = "request_key_pkey"

    /// Whether a commit waits until a standby has it, as a number.
    static let isSynchronous = """
        CASE WHEN current_setting('synchronous_standby_names') <> ''
            AND current_setting('synchronous_commit') NOT IN ('off', 'local') THEN 1 ELSE 0 END
        """

    /// `store_state` says what change sequences are counted from: a sequence is the writing transaction's number, less the
    /// base, and its place in the transaction. `complete_below()` gives the first sequence that a commit may still show.
    ///
    /// `version` is the mark of the migrations that ran, `oldest_version` that of the oldest server that may use the store.
    /// `catalog_version` and `subscribed_version` are those of `SharedContent`; `subscribed_type` has with each type the
    /// version that it came with, so that a server reads those alone that it lacks.
    ///
    /// `system_identifier`, `timeline` and `synchronous` are the database's as they were last seen (`PostgresConnection.noteLineage`);
    /// `incarnation` counts how often it was replaced. The first is the cluster's, mixed with the numbers of this table and of
    /// the database: a dump that is loaded into the same cluster makes another table, and a copy another database.
    ///
    /// `zone_change` has a zone's last change without a row that all writers of the zone would wait for: each adds its own,
    /// and removes some that are older than the newest that is complete.
    static let migration = Migration(
        script: """
            CREATE TABLE store_state (
                id {integer} NOT NULL PRIMARY KEY CHECK (id = 1),
                base {integer} NOT NULL,
                version {integer} NOT NULL,
                oldest_version {integer} NOT NULL,
                catalog_version {integer} NOT NULL,
                subscribed_version {integer} NOT NULL,
                incarnation {integer} NOT NULL,
                system_identifier {integer} NOT NULL,
                timeline {integer} NOT NULL,
                synchronous {integer} NOT NULL
            );

            CREATE FUNCTION lineage(OUT system_identifier bigint, OUT timeline bigint, OUT synchronous bigint)
                STABLE LANGUAGE sql AS $$
                SELECT control.system_identifier # ('store_state'::regclass::oid::bigint << 24)
                        # (SELECT oid::bigint << 8 FROM pg_database WHERE datname = current_database()),
                    ('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::bigint,
                    (\(isSynchronous))::bigint
                FROM pg_control_system() AS control $$;

            INSERT INTO store_state (
                    id, base, version, oldest_version, catalog_version, subscribed_version, incarnation,
                    system_identifier, timeline, synchronous)
                SELECT 1, pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1, 0, 0, 1, 0, 1,
                    system_identifier, timeline, synchronous
                FROM lineage();

            CREATE TABLE subscribed_type (
                owner {integer} NOT NULL,
                record_type {text} NOT NULL,
                version {integer} NOT NULL,
                PRIMARY KEY (owner, record_type)
            ) {clustered};
            CREATE INDEX subscribed_type_version ON subscribed_type (version);

            CREATE FUNCTION complete_below() RETURNS bigint STABLE LANGUAGE sql AS
                'SELECT (pg_snapshot_xmin(pg_current_snapshot())::text::bigint - base) << 16 FROM store_state';

            CREATE TABLE zone_change (
                owner {integer} NOT NULL,
                zone {integer} NOT NULL,
                sequence {integer} NOT NULL,
                PRIMARY KEY (owner, zone, sequence)
            ) {clustered};
            """)
}
