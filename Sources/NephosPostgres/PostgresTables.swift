import NephosStorage

/// The tables of all stores of a database: those that all engines share, with keys that tell stores apart, and those that
/// only this engine has.
///
/// Clients hold numbers of zones, shares and records, which are unique in a store only. So every key starts with the key of
/// an owner, or of an account, which has the store's number in it (`StoreNumber`), or with the store's number. No table is
/// partitioned: a plan for any parameters locks all partitions.
enum PostgresTables {
    /// The constraints that a write breaks if another was faster: a request is not carried out twice, and an account is not
    /// made twice.
    static let races: Set<String> = ["request_key_pkey", "account_name", "account_user_record_name"]

    /// Whether a commit waits until a standby has it, as a number.
    static let isSynchronous = """
        CASE WHEN current_setting('synchronous_standby_names') <> ''
            AND current_setting('synchronous_commit') NOT IN ('off', 'local') THEN 1 ELSE 0 END
        """

    /// The migrations of all engines that the first migration of a database has in it. Later ones follow it.
    private static let sharedInFirst = 2

    /// The migrations of a database.
    static func migrations(after shared: [Migration]) -> [Migration] {
        let first = shared.prefix(sharedInFirst)
        let script = (first.map(\.script) + [keys, state, vacuum]).joined(separator: "\n")
        return [Migration(script: script, indexes: first.flatMap(\.indexes))] + shared.dropFirst(sharedInFirst)
    }

    /// Tables of which several indexes begin with an owner and a zone.
    static let ofZones = ["record", "reference", "index_entry", "shared_record"]

    /// Tables with rows of every store that have neither an owner nor an account in their key.
    static let withStoreNumber = [
        "store_secret", "lost_sequences", "record_type", "schema_field", "index_definition", "share_participant",
        "condemned_asset",
    ]

    /// The columns that have the key of an owner or account.
    static func hasKey(_ column: String, of table: String) -> Bool {
        column == "owner" || column == "account" && table != "subscription" || column == "id" && table == "account"
    }

    private static let keys = """
        DROP TABLE change_sequence;

        \(withStoreNumber.map { "ALTER TABLE \($0) ADD COLUMN store BIGINT NOT NULL;" }.joined(separator: "\n"))
        \(key("store_secret", "store"))
        \(key("lost_sequences", "store, first"))
        \(key("record_type", "store, name"))
        \(key("schema_field", "store, record_type, field"))
        ALTER TABLE index_definition DROP CONSTRAINT index_definition_record_type_components_key;
        \(key("index_definition", "store, id"))
        CREATE UNIQUE INDEX index_definition_components ON index_definition (store, record_type, components);
        CREATE INDEX index_definition_building ON index_definition (store) WHERE ready & 1 = 0;
        \(key("condemned_asset", "store, file"))

        ALTER TABLE account ALTER COLUMN id DROP IDENTITY, DROP CONSTRAINT account_name_key,
            DROP CONSTRAINT account_user_record_name_key;
        CREATE SEQUENCE account_number;
        CREATE UNIQUE INDEX account_name ON account (\(store("id")), name);
        CREATE UNIQUE INDEX account_user_record_name ON account (\(store("id")), user_record_name);

        \(key("zone", "owner, id"))
        CREATE UNIQUE INDEX zone_number ON zone (\(store("owner")), id);
        DROP INDEX zone_deleted_at;
        CREATE INDEX zone_deleted_at ON zone (\(store("owner")), deleted_at) WHERE deleted = 1;

        ALTER TABLE record ALTER COLUMN id DROP IDENTITY;
        \(key("record", "owner, id"))
        DROP INDEX record_deleted_at;
        CREATE INDEX record_deleted_at ON record (\(store("owner")), modified_at) WHERE deleted = 1;

        ALTER TABLE job DROP CONSTRAINT job_pkey;
        CREATE UNIQUE INDEX job_number ON job (\(store("owner")), id);
        ALTER TABLE change_event DROP CONSTRAINT change_event_pkey;
        CREATE UNIQUE INDEX change_event_number ON change_event (\(store("owner")), id);

        ALTER TABLE push_token DROP CONSTRAINT push_token_pkey;
        CREATE UNIQUE INDEX push_token_token ON push_token (\(store("account")), token);
        DROP INDEX outbox_due;
        CREATE INDEX outbox_due ON outbox (\(store("account")), due, id) WHERE due > 0;

        ALTER TABLE share DROP CONSTRAINT share_pkey;
        CREATE UNIQUE INDEX share_number ON share (\(store("owner")), id);
        DROP INDEX share_guid;
        CREATE UNIQUE INDEX share_guid ON share (\(store("owner")), guid) WHERE ended_at = 0;
        DROP INDEX share_ended;
        CREATE INDEX share_ended ON share (\(store("owner")), ended_time) WHERE ended_time > 0;
        \(key("share_participant", "store, share, id"))
        DROP INDEX share_participant_guid;
        CREATE UNIQUE INDEX share_participant_guid ON share_participant (store, one_time_guid) WHERE one_time_guid <> '';
        DROP INDEX share_participant_account;
        CREATE INDEX share_participant_account ON share_participant (store, share, account);
        DROP INDEX membership_share;
        CREATE INDEX membership_share ON membership (\(store("account")), share, account);
        DROP INDEX shared_record_gone;
        CREATE INDEX shared_record_gone ON shared_record (\(store("owner")), gone_at) WHERE gone_at > 0;

        DROP INDEX asset_file;
        CREATE UNIQUE INDEX asset_file ON asset (\(store("owner")), file);
        DROP INDEX asset_needed_until;
        CREATE INDEX asset_needed_until ON asset (\(store("owner")), needed_until);
        CREATE INDEX asset_owner_needed_until ON asset (owner, needed_until);
        """

    /// Replaces a primary key.
    private static func key(_ table: String, _ columns: String) -> String {
        "ALTER TABLE \(table) DROP CONSTRAINT \(table)_pkey, ADD PRIMARY KEY (\(columns));"
    }

    private static func store(_ key: String) -> String { "(\(StoreNumber.sql(ofKey: key)))" }

    /// `store` lists the stores. `catalog_version` and `subscribed_version` are those of `SharedContent`; `subscribed_type` has
    /// with each type the version that it came with, so that a server reads those alone that it lacks.
    ///
    /// Change sequences come from `change_sequence`, a block for each transaction that writes.
    ///
    /// `installation` has the version of the migrations that ran, and that of the oldest server that may use the tables;
    /// `system_identifier`, `timeline` and `synchronous` of the database as they were last seen
    /// (`PostgresConnection.noteLineage`); and how often it was replaced (`incarnation`). The identifier is the cluster's,
    /// mixed with the numbers of the table `store` and of the database: a dump that is loaded into the same cluster makes
    /// another table, and a copy another database.
    private static let state = """
        CREATE TABLE store (
            id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
            container TEXT COLLATE "C" NOT NULL,
            environment TEXT COLLATE "C" NOT NULL,
            catalog_version BIGINT NOT NULL DEFAULT 1,
            subscribed_version BIGINT NOT NULL DEFAULT 0,
            UNIQUE (container, environment)
        );

        CREATE SEQUENCE change_sequence INCREMENT \(PostgresSQL.sequencesPerTransaction)
            START \(PostgresSQL.sequencesPerTransaction);
        SELECT nextval('change_sequence');

        CREATE TABLE subscribed_type (
            owner BIGINT NOT NULL,
            record_type TEXT COLLATE "C" NOT NULL,
            version BIGINT NOT NULL,
            PRIMARY KEY (owner, record_type)
        );
        CREATE INDEX subscribed_type_version ON subscribed_type (\(store("owner")), version);

        CREATE FUNCTION lineage(OUT system_identifier bigint, OUT timeline bigint, OUT synchronous bigint)
            STABLE LANGUAGE sql AS $$
            SELECT control.system_identifier # ('store'::regclass::oid::bigint << 24)
                    # (SELECT oid::bigint << 8 FROM pg_database WHERE datname = current_database()),
                ('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::bigint,
                (\(isSynchronous))::bigint
            FROM pg_control_system() AS control $$;
        CREATE TABLE installation (
            id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
            version BIGINT NOT NULL DEFAULT 0,
            oldest_version BIGINT NOT NULL DEFAULT 0,
            incarnation BIGINT NOT NULL DEFAULT 1,
            system_identifier BIGINT NOT NULL,
            timeline BIGINT NOT NULL,
            synchronous BIGINT NOT NULL
        );
        INSERT INTO installation (id, system_identifier, timeline, synchronous)
            SELECT 1, system_identifier, timeline, synchronous FROM lineage();

        CREATE TABLE asset_place (
            id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
            place TEXT NOT NULL
        );
        """

    /// A table that everybody uses is large: what waits to be vacuumed is bounded by a number of rows, not by a share of it.
    private static let vacuum = """
        DO $$
        DECLARE name text;
        BEGIN
            FOR name IN SELECT quote_ident(relname) FROM pg_class
                WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'
            LOOP
                EXECUTE 'ALTER TABLE ' || name || ' SET (autovacuum_vacuum_scale_factor = 0.01,'
                    ' autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_insert_scale_factor = 0.05,'
                    ' autovacuum_analyze_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 1)';
            END LOOP;
        END $$;
        """
}
