package import NephosStorage

/// A database says which stores are still to be copied to it: apps would take one that is missing for deleted data. Such a
/// store has a row in `store` whose `catalog_version` is 0, which it is of no store that exists.
extension PostgresStores {
    /// Notes that stores are to be copied here, except those that exist.
    package func expect(_ ids: [StoreID]) throws {
        let rows = ids.map {
            "(\(PostgresAddress.literal($0.container)), \(PostgresAddress.literal($0.environment)), 0)"
        }
        try connected { connection in
            _ = try connection.ask(
                """
                INSERT INTO store (container, environment, catalog_version) VALUES \(rows.joined(separator: ", "))
                ON CONFLICT DO NOTHING
                """)
        }
    }

    /// Returns the stores of a database without changing it: a database without tables stays without. Blocks.
    /// - Throws: `StorageError`, `.constraint` if a copy to the database was interrupted.
    package static func existingStores(at address: PostgresAddress, _ options: PostgresOptions) throws -> [StoreID] {
        try PostgresConnection.open(address, options) { connection in
            let migrations = PostgresTables.migrations(after: options.migrations)
            guard try connection.ranCount(migrations, options.prefix) > 0 else { return [] }
            try connection.refuseUnfinishedCopy()
            return try connection.existingStores()
        }
    }

    /// Returns the stores that are still to be copied here.
    package func expectedStores() throws -> [StoreID] { try connected { try $0.expectedStores() } }
}

extension PostgresConnection {
    /// Returns the stores whose copy, if there was one, is complete.
    func existingStores() throws -> [StoreID] { try stores(where: "catalog_version > 0") }

    func expectedStores() throws -> [StoreID] { try stores(where: "catalog_version = 0") }

    /// - Throws: `StorageError` `.constraint` if stores are still to be copied.
    func refuseUnfinishedCopy() throws {
        let missing = try expectedStores().map { "\($0.container), \($0.environment)" }
        if missing.isEmpty { return }
        throw StorageError(
            .constraint,
            """
            the database lacks stores: 'nephos migrate' was interrupted before it had copied \(missing.joined(separator: "; ")). \
            Repeat that command, which goes on where it was; or drop the database, and begin with an empty one
            """)
    }
}
