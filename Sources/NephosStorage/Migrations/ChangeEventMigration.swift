extension Migration {
    /// The pending notifications of subscribers. A subscription stores the change sequence of its creation, so that
    /// earlier changes cause no notification.
    static let changeEvents = Migration(
        script: """
            ALTER TABLE subscription ADD COLUMN since {integer} NOT NULL DEFAULT 0;
            CREATE TABLE change_event (
                id {key},
                owner {integer} NOT NULL,
                zone {integer} NOT NULL,
                zone_name {text} NOT NULL,
                sequence {integer} NOT NULL,
                origin_account {integer} NOT NULL,
                origin_client {text} NOT NULL,
                body {bytes} NOT NULL,
                done_type {text},
                done_account {integer} NOT NULL DEFAULT 0,
                done_id {text},
                done_count {integer} NOT NULL DEFAULT 0
            );
            """)
}
