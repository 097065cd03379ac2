extension Migration {
    /// A participant's query scans the records of one type under each of its shares, by name, and no others.
    static let liveSharedRecords = Migration(
        script: """
            CREATE INDEX shared_record_live ON shared_record (owner, zone, share, type, name) WHERE gone_at = 0;
            """)
}
