extension Migration {
    /// The encryption keys of devices. Devices wrap them, and the service cannot unwrap any of them.
    static let keys = Migration(
        script: """
            CREATE TABLE wrapped_key (
                owner {integer} NOT NULL,
                zone {integer} NOT NULL,
                kind {integer} NOT NULL,
                subject {text} NOT NULL,
                id {bytes} NOT NULL,
                body {bytes} NOT NULL,
                PRIMARY KEY (owner, zone, kind, subject, id)
            ) {clustered};
            """)
}
