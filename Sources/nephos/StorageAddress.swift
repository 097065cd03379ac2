import NephosPostgres

/// The parser of an option that names a PostgreSQL database.
enum StorageAddress {
    static func isOne(_ text: String) -> Bool { text.hasPrefix("postgresql://") || text.hasPrefix("postgres://") }

    static func parse(_ text: String, option: String) throws(UsageError) -> PostgresAddress {
        guard isOne(text), let address = try? PostgresAddress(text) else {
            throw UsageError("'\(option)' takes the address of a PostgreSQL database: postgresql://USER@HOST/DATABASE.")
        }
        if address.hasPassword {
            throw UsageError(
                "The address of '\(option)' holds a password, which others on this machine can read. Put it into "
                    + "PGPASSWORD, or into a file and its path into PGPASSFILE.")
        }
        return address
    }
}
