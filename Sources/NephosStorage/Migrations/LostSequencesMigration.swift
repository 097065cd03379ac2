extension Migration {
    /// The ranges of change sequences that a restored store may have issued after its backup was taken. The changes
    /// with those sequences are lost, so none of the sequences is issued again.
    static let lostSequences = Migration(
        script: """
            CREATE TABLE lost_sequences (
                first {integer} NOT NULL PRIMARY KEY,
                last {integer} NOT NULL
            );
            """)
}
