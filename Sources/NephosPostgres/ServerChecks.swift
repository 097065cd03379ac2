import NephosStorage

/// Whether a server keeps what it answered, as it has to.
enum ServerChecks {
    /// - Throws: `StorageError` `.constraint` that says what is wrong and what to do.
    static func run(_ address: PostgresAddress, _ options: PostgresOptions, _ connection: PostgresConnection) throws {
        if !options.acceptsUnsafeServer { try refuseUnsafe(address, connection) }
        try PostgresConnection.open(address, options) { other in
            try refusePooler(connections: 2) {
                try [connection, other][$0].ask("SELECT pg_backend_pid()::text").first?.first ?? ""
            }
        }
    }

    private static func refuseUnsafe(_ address: PostgresAddress, _ connection: PostgresConnection) throws {
        if address.isExposed {
            throw StorageError(
                .constraint,
                """
                PostgreSQL on another machine is used over TLS with its certificate checked only: add sslmode=verify-full \
                to the address
                """)
        }
        let problem = try problem { setting in
            try connection.ask("SELECT current_setting('\(setting)')").first?.first ?? ""
        }
        if let problem { throw StorageError(.constraint, problem) }
    }

    /// A pooler in transaction mode gives each transaction another session: settings, prepared statements and `LISTEN` get
    /// lost, and a failover goes unnoticed. An idle pooler gives two open connections one session; a busy one changes the
    /// session of a connection.
    /// - Parameter session: asks for the session that the connection with this index has now.
    static func refusePooler(connections: Int, _ session: (Int) throws -> String) throws {
        let sessions = try (0..<connections).map(session)
        var isShared = Set(sessions).count < connections
        for _ in 0..<sessionChecks where !isShared { isShared = try (0..<connections).map(session) != sessions }
        if !isShared { return }
        throw StorageError(
            .constraint,
            """
            PostgreSQL is reached through a pooler that shares sessions between connections; set its pool_mode to session, or \
            connect to the server itself
            """)
    }

    /// Refuses a role that may not read and write every table. The tables exist.
    /// - Throws: `StorageError` `.constraint` that names the privilege.
    static func refuseMissingPrivileges(_ connection: PostgresConnection, _ options: PostgresOptions) throws {
        let missing = try connection.ask(
            """
            SELECT privilege || ' ON ' || relation.relname, current_user::text
            FROM pg_class AS relation
            JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS privilege ON relation.relkind = 'r'
                OR relation.relkind = 'S' AND privilege IN ('SELECT', 'UPDATE')
            WHERE relation.relnamespace = to_regnamespace(\(PostgresAddress.literal(PostgresAddress.quoted(options.prefix))))
                AND NOT CASE relation.relkind WHEN 'r' THEN has_table_privilege(relation.oid, privilege)
                    ELSE has_sequence_privilege(relation.oid, privilege) END
            ORDER BY 1 LIMIT 1
            """
        ).first
        guard let missing, let privilege = missing.first, let role = missing.last else { return }
        let schema = PostgresAddress.quoted(options.prefix)
        throw StorageError(
            .constraint,
            """
            the role \(role) lacks the privilege \(privilege) of the schema \(schema): connect as the owner of the tables, or \
            GRANT ALL ON ALL TABLES IN SCHEMA \(schema) TO \(role), and the same ON ALL SEQUENCES
            """)
    }

    /// A busy pooler gives a connection the session that it had in about a third of its transactions.
    private static let sessionChecks = 20

    /// Refuses a role that may not make the tables, or change those of an earlier version.
    /// - Parameter isFirst: whether there are no tables.
    /// - Throws: `StorageError` `.constraint` that names the missing privilege, or the owner of the tables.
    static func refuseMigration(
        _ connection: PostgresConnection, _ options: PostgresOptions, isFirst: Bool
    ) throws {
        let schema = PostgresAddress.quoted(options.prefix)
        let other = try connection.ask(
            """
            SELECT quote_ident(current_user), quote_ident(pg_get_userbyid(relowner)) FROM pg_class
            WHERE relnamespace = to_regnamespace(\(PostgresAddress.literal(schema))) AND relname = 'installation'
                AND NOT pg_has_role(relowner, 'USAGE')
            """
        ).first
        if !isFirst, let other, let role = other.first, let owner = other.last {
            throw StorageError(
                .constraint,
                """
                the tables are of an earlier version, and the role \(role) does not own them: start this version of nephos \
                once as their owner, \(owner) (Documentation/PostgreSQL.md, Least privilege)
                """)
        }
        let refused = try connection.ask(
            """
            SELECT quote_ident(current_user), quote_ident(current_database())
            WHERE NOT has_database_privilege(current_database(), 'CREATE')
            """
        ).first
        guard let refused, let role = refused.first, let database = refused.last else { return }
        throw StorageError(
            .constraint,
            """
            the role \(role) may not make tables: GRANT CREATE ON DATABASE \(database) TO \(role), or start nephos once as a \
            role that may, and let \(role) use its tables (Documentation/PostgreSQL.md, Least privilege)
            """)
    }

    /// What is wrong with a server's settings; nil for nothing.
    static func problem(_ value: (String) throws -> String) rethrows -> String? {
        for (setting, isFine, reason) in settings {
            let value = try value(setting)
            if !isFine(value) { return "PostgreSQL has \(setting) = \(value): \(reason)" }
        }
        return nil
    }

    private static let settings: [(String, @Sendable (String) -> Bool, String)] = [
        ("server_version_num", { Int($0) ?? 0 >= 150_000 }, "version 15 or newer is needed"),
        ("server_encoding", { $0 == "UTF8" }, "create the database with ENCODING 'UTF8'"),
        ("fsync", { $0 == "on" }, "what was answered would be lost with the machine; set it to on"),
        ("synchronous_commit", { $0 != "off" }, "what was answered would be lost with the server; set it to on"),
        (
            "max_prepared_transactions", { $0 == "0" },
            "a transaction that is left prepared keeps its locks; set it to 0"
        ),
    ]
}
