extension Migration {
    /// The table of the installation's store: accounts, sessions, tokens, roles. It is empty in every other store.
    static let installation = Migration(
        script: """
            CREATE TABLE installation_entry (
                owner {integer} NOT NULL,
                kind {integer} NOT NULL,
                name {text} NOT NULL,
                body {bytes} NOT NULL,
                expires_at {integer} NOT NULL DEFAULT 0,
                PRIMARY KEY (owner, kind, name)
            ) {clustered};
            CREATE INDEX installation_entry_expiry ON installation_entry (owner, expires_at) WHERE expires_at > 0;
            """)
}
