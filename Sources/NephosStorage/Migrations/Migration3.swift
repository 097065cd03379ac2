extension Migration {
    /// What synchronising needs beside the change sequences.
    static let third = Migration(
        number: 3,
        script: """
            ALTER TABLE zone ADD COLUMN client_change_token {text};
            """)
}
