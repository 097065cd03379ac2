extension Migration {
    /// The index for a participant's query, which scans only the records of one type under each of its shares, by name.
    static let liveSharedRecords = Migration(
        script: """
            CREATE INDEX shared_record_live ON shared_record (owner, zone, share, type, name) WHERE gone_at = 0;
            """)
}
