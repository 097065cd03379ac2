extension Migration {
    /// The change sequences that a restored store may have given before, after its backup was taken: what it has of them
    /// is not known. None of them is given again.
    static let lostSequences = Migration(
        script: """
            CREATE TABLE lost_sequences (
                first {integer} NOT NULL PRIMARY KEY,
                last {integer} NOT NULL
            );
            """)
}
