extension Migration {
    /// The tables of a store.
    ///
    /// Every key of an owner's rows starts with the owner, so that the tables can be sharded by owner.
    static let tables = Migration(
        script: [
            changeSequence, accounts, zones, records, references, schema, jobs, indexes, subscriptions, outbox, shares,
        ]
        .joined(separator: "\n"))

    private static let changeSequence = """
        CREATE TABLE change_sequence (
            id {integer} NOT NULL PRIMARY KEY CHECK (id = 1),
            last {integer} NOT NULL
        );
        INSERT INTO change_sequence (id, last) VALUES (1, 0);
        """

    /// The row of a deleted account has no name, so that another account can use the name.
    private static let accounts = """
        CREATE TABLE account (
            id {key},
            name {text} UNIQUE,
            user_record_name {text} NOT NULL UNIQUE
        );
        """

    private static let zones = """
        CREATE TABLE zone (
            id {key},
            owner {integer} NOT NULL,
            name {text} NOT NULL,
            sequence {integer} NOT NULL,
            deleted {integer} NOT NULL,
            client_change_token {text},
            changed {integer} NOT NULL,
            purged_until {integer} NOT NULL DEFAULT 0,
            deleted_at {integer} NOT NULL DEFAULT 0,
            deletion_reason {integer} NOT NULL DEFAULT 0
        );
        CREATE UNIQUE INDEX zone_live ON zone (owner, name) WHERE deleted = 0;
        CREATE INDEX zone_name ON zone (owner, name);
        CREATE INDEX zone_changed ON zone (owner, changed) WHERE deleted = 0;
        CREATE INDEX zone_deleted ON zone (owner, sequence) WHERE deleted = 1;
        CREATE INDEX zone_deleted_at ON zone (deleted_at) WHERE deleted = 1;

        CREATE TABLE forgotten_zone (
            owner {integer} NOT NULL PRIMARY KEY,
            sequence {integer} NOT NULL
        );
        """

    /// `share` is the name of the record's own share. `share_root` is the share that covers the record: its own share,
    /// or that of an ancestor. The fields come last because they may be long.
    private static let records = """
        CREATE TABLE record (
            id {rowKey},
            owner {integer} NOT NULL,
            zone {integer} NOT NULL,
            name {text} NOT NULL,
            sequence {integer} NOT NULL,
            type {text} NOT NULL,
            deleted {integer} NOT NULL,
            created_at {integer} NOT NULL,
            created_by {integer} NOT NULL,
            modified_at {integer} NOT NULL,
            modified_by {integer} NOT NULL,
            parent {text},
            share {text},
            share_root {text},
            checksum {integer} NOT NULL,
            fields {bytes} NOT NULL,
            UNIQUE (owner, zone, name),
            UNIQUE (owner, zone, sequence)
        );
        CREATE INDEX record_share_root ON record (owner, zone, share_root, sequence) WHERE share_root IS NOT NULL;
        CREATE INDEX record_deleted_at ON record (modified_at) WHERE deleted = 1;
        """

    private static let references = """
        CREATE TABLE reference (
            owner {integer} NOT NULL,
            zone {integer} NOT NULL,
            target {text} NOT NULL,
            kind {integer} NOT NULL,
            source {text} NOT NULL,
            PRIMARY KEY (owner, zone, target, kind, source)
        ) {clustered};
        CREATE INDEX reference_source ON reference (owner, zone, source);
        """

    private static let schema = """
        CREATE TABLE record_type (
            name {text} NOT NULL PRIMARY KEY
        ) {clustered};

        CREATE TABLE schema_field (
            record_type {text} NOT NULL,
            field {text} NOT NULL,
            type {text} NOT NULL,
            PRIMARY KEY (record_type, field)
        ) {clustered};
        """

    private static let jobs = """
        CREATE TABLE job (
            id {key},
            kind {text} NOT NULL,
            owner {integer} NOT NULL,
            zone {integer} NOT NULL,
            subject {text} NOT NULL
        );
        CREATE INDEX job_owner ON job (owner, id);
        """

    /// An index entry contains the number of its record, by which a query looks up the record.
    private static let indexes = """
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
            record {integer} NOT NULL,
            PRIMARY KEY (owner, zone, definition, value, name)
        ) {clustered};
        """

    private static let subscriptions = """
        CREATE TABLE subscription (
            owner {integer} NOT NULL,
            account {integer} NOT NULL,
            id {text} NOT NULL,
            record_type {text} NOT NULL,
            zone {integer} NOT NULL,
            body {bytes} NOT NULL,
            PRIMARY KEY (owner, account, id)
        ) {clustered};
        CREATE INDEX subscription_subject ON subscription (owner, record_type, account, id);

        CREATE TABLE push_token (
            token {text} NOT NULL PRIMARY KEY,
            account {integer} NOT NULL,
            client {text} NOT NULL,
            environment {text} NOT NULL,
            device {integer} NOT NULL,
            polls {integer} NOT NULL,
            seen_at {integer} NOT NULL,
            handed_out {integer} NOT NULL
        ) {clustered};
        CREATE INDEX push_token_account ON push_token (account);
        """

    private static let outbox = """
        CREATE TABLE outbox (
            account {integer} NOT NULL,
            destination {text} NOT NULL,
            id {integer} NOT NULL,
            subject {text} NOT NULL,
            notification {text} NOT NULL,
            subscription {text} NOT NULL,
            collapse {text},
            silent {integer} NOT NULL,
            created_at {integer} NOT NULL,
            payload {bytes} NOT NULL,
            attempts {integer} NOT NULL,
            due {integer} NOT NULL,
            PRIMARY KEY (account, destination, id)
        ) {clustered};
        CREATE INDEX outbox_subject ON outbox (account, subject, destination) WHERE subject <> '';
        CREATE INDEX outbox_due ON outbox (due, id) WHERE due > 0;
        """
}
