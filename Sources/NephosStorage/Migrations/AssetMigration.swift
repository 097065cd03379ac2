extension Migration {
    /// The tables of assets: the files, the records that refer to them, the total size of each owner's files, and the
    /// files that are to be deleted.
    static let assets = Migration(
        script: """
            -- A content is the SHA-256 of a file.
            CREATE TABLE asset (
                owner {integer} NOT NULL,
                content {bytes} NOT NULL,
                size {integer} NOT NULL,
                checksum {text} NOT NULL,
                file {text} NOT NULL,
                needed_until {integer} NOT NULL,
                PRIMARY KEY (owner, content)
            ) {clustered};
            CREATE UNIQUE INDEX asset_file ON asset (file);
            CREATE INDEX asset_needed_until ON asset (needed_until);

            CREATE TABLE asset_reference (
                owner {integer} NOT NULL,
                zone {integer} NOT NULL,
                record {text} NOT NULL,
                content {bytes} NOT NULL,
                PRIMARY KEY (owner, zone, record, content)
            ) {clustered};
            CREATE INDEX asset_reference_content ON asset_reference (owner, content);

            CREATE TABLE asset_usage (
                owner {integer} NOT NULL PRIMARY KEY,
                bytes {integer} NOT NULL
            );

            CREATE TABLE condemned_asset (
                file {text} NOT NULL PRIMARY KEY
            ) {clustered};
            """)
}
