extension Migration {
    /// The secret by which a store's servers know the opaque strings that they gave to clients. It is in the store, so that
    /// all of them agree, and so does what was restored from a backup. What was given in another epoch is not known any more.
    static let storeSecret = Migration(
        script: """
            CREATE TABLE store_secret (
                id {integer} NOT NULL PRIMARY KEY CHECK (id = 1),
                secret {bytes} NOT NULL,
                epoch {integer} NOT NULL DEFAULT 0
            );
            """)
}
