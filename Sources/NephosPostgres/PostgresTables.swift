import NephosStorage

/// What a store in PostgreSQL has beside the tables that all engines share.
enum PostgresTables {
    /// The constraint that keeps a name in a zone to one record.
    static let recordNames = "record_owner_zone_name_key"

    /// The constraint that keeps a request from being carried out twice.
    static let requestKeys = "request_key_pkey"

    /// `store_state` says what change sequences are counted from: a sequence is the writing transaction's number, less the
    /// base, and its place in the transaction. `complete_below()` gives the first sequence that a commit may still show.
    ///
    /// `version` is the mark of the migrations that ran, `oldest_version` that of the oldest server that may use the store.
    /// `catalog_version` and `subscribed_version` are those of `SharedContent`; `subscribed_type` has with each type the
    /// version that it came with, so that a server reads those alone that it lacks.
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
                subscribed_version {integer} NOT NULL
            );
            INSERT INTO store_state (id, base, version, oldest_version, catalog_version, subscribed_version)
                SELECT 1, pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1, 0, 0, 1, 0;

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
