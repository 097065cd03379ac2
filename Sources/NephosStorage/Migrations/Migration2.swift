extension Migration {
    /// Kept free for the indexes over records.
    static let second = Migration(number: 2, script: "SELECT 1;")
}
