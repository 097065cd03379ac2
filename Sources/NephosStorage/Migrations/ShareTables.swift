extension Migration {
    /// The tables of shares, of their participants, of accounts' memberships in shares, and of the records under each
    /// share.
    static let shares = """
        CREATE TABLE share (
            id {integer} NOT NULL PRIMARY KEY,
            owner {integer} NOT NULL,
            zone {integer} NOT NULL,
            name {text} NOT NULL,
            root {text} NOT NULL,
            guid {text} NOT NULL,
            ended_at {integer} NOT NULL,
            public_permission {integer} NOT NULL,
            allows_requests {integer} NOT NULL
        );
        CREATE INDEX share_root ON share (owner, zone, root, id);
        CREATE INDEX share_live ON share (owner, zone, id) WHERE ended_at = 0;
        CREATE UNIQUE INDEX share_name ON share (owner, zone, name) WHERE ended_at = 0;
        CREATE UNIQUE INDEX share_guid ON share (guid) WHERE ended_at = 0;
        CREATE TABLE share_participant (
            share {integer} NOT NULL,
            id {text} NOT NULL,
            account {integer} NOT NULL,
            address {text} NOT NULL,
            role {integer} NOT NULL,
            permission {integer} NOT NULL,
            status {integer} NOT NULL,
            added_at {integer} NOT NULL,
            one_time_guid {text} NOT NULL,
            approved {integer} NOT NULL,
            PRIMARY KEY (share, id)
        ) {clustered};
        CREATE UNIQUE INDEX share_participant_guid ON share_participant (one_time_guid)
            WHERE one_time_guid <> '';
        CREATE TABLE membership (
            account {integer} NOT NULL,
            share {integer} NOT NULL,
            owner {integer} NOT NULL,
            zone {integer} NOT NULL,
            joined_at {integer} NOT NULL,
            left_at {integer} NOT NULL,
            PRIMARY KEY (account, share)
        ) {clustered};
        CREATE INDEX membership_share ON membership (share, account);
        CREATE TABLE shared_record (
            owner {integer} NOT NULL,
            zone {integer} NOT NULL,
            name {text} NOT NULL,
            share {integer} NOT NULL,
            type {text} NOT NULL,
            entered {integer} NOT NULL,
            sequence {integer} NOT NULL,
            gone {integer} NOT NULL,
            PRIMARY KEY (owner, zone, name, share)
        ) {clustered};
        CREATE INDEX shared_record_sequence ON shared_record (owner, zone, share, sequence);
        """
}
