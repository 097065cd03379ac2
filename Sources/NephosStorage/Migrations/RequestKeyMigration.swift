extension Migration {
    /// The table of outcomes of retry-safe requests.
    static let requestKeys = Migration(
        script: """
            CREATE TABLE request_key (
                account {integer} NOT NULL,
                key {text} NOT NULL,
                digest {bytes} NOT NULL,
                outcome {bytes} NOT NULL,
                at {integer} NOT NULL,
                PRIMARY KEY (account, key)
            ) {clustered};
            CREATE INDEX request_key_at ON request_key (account, at);
            """)
}
