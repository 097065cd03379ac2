extension Migration {
    /// The secret with which a store's servers authenticate the opaque strings that they issue to clients. The store
    /// contains it, so that all servers use the same secret, and so does a store that was restored from a backup.
    /// Strings that were issued in another token epoch are invalid.
    static let storeSecret = Migration(
        script: """
            CREATE TABLE store_secret (
                id {integer} NOT NULL PRIMARY KEY CHECK (id = 1),
                secret {bytes} NOT NULL,
                epoch {integer} NOT NULL DEFAULT 0
            );
            """)
}
