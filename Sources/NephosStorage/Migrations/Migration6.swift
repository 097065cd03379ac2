extension Migration {
    /// Dates are in indexes to their last bit, where they were cut to milliseconds: all are built again.
    static let sixth = Migration(
        number: 6,
        script: """
            DELETE FROM index_entry;
            UPDATE index_definition SET ready = 0, built_zone = 0, built_sequence = 0,
                defined_at = (SELECT last FROM change_sequence WHERE id = 1);
            """)
}
