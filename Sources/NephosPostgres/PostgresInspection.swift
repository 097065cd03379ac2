package import NephosStorage

/// What a PostgreSQL database holds, read without a change to it.
package struct PostgresInspection: Sendable {
    /// The number of migrations that the database's tables ran; 0 without tables.
    package var ran: Int
    /// The number of migrations that this version has.
    package var known: Int
    package var stores: [StoreID]
    /// How far the database's clock is ahead of this machine's, in milliseconds.
    package var clockOffset: Int64

    /// Connects to the database and reads it. Blocks.
    /// - Parameter place: where the server would keep the files of assets.
    /// - Throws: `StorageError`: `.inputOutput` if the server cannot be reached, `.constraint` if it may not be used,
    ///   if the files of its assets are elsewhere, or if a copy to it was interrupted, `.otherVersion` for tables of another version.
    package init(_ address: PostgresAddress, assets place: AssetPlace, options: PostgresOptions) throws {
        let connection = try PostgresConnection(address, options, damage: nil)
        defer { connection.close() }
        try ServerChecks.run(address, options, connection)
        let clock = DatabaseClock(options.clock)
        try clock.measure(connection)
        clockOffset = clock.offset
        let migrations = PostgresTables.migrations(after: options.migrations)
        known = migrations.count
        ran = try connection.ranCount(migrations, options.prefix)
        guard ran == 0 else {
            try ServerChecks.refuseMissingPrivileges(connection, options)
            try PostgresStores.check(place, againstNoted: PostgresStores.notedPlace(connection))
            try connection.refuseUnfinishedCopy()
            stores = try connection.existingStores()
            return
        }
        stores = []
        let mayMake = try connection.ask("SELECT has_database_privilege(current_database(), 'CREATE')::text")
        guard mayMake.first?.first == "true" else {
            throw StorageError(
                .constraint, "the database has no tables yet, and its user may not make them (GRANT CREATE)")
        }
    }
}
