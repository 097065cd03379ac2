extension Migration {
    /// Where a subject waits is found at once for all destinations of an account.
    static let eighth = Migration(
        number: 8,
        script: """
            DROP INDEX outbox_subject;
            CREATE INDEX outbox_subject ON outbox (account, subject, destination) WHERE subject <> '';
            """)
}
