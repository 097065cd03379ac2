import NephosStorage

// A database may be replaced by a copy: a standby is promoted, a backup restored, a dump loaded, a replica made the primary.
// The copy may lack transactions that were there, and their change sequences. So change sequences then go on far above those
// of before.
//
// - A new timeline after commits that waited for a standby (`synchronous_standby_names`) lacks nothing that was answered. What
//   clients hold stays good, but for change sequences that the copy never had.
// - After other commits, and in another cluster (`system_identifier`), it may lack anything: an epoch begins, and all that
//   clients hold has expired.
//
// A connection compares before its first transaction, and ends with the database that it is to: so nothing is written to a
// copy before it is noted.

extension PostgresConnection {
    /// Compares the database's lineage with the one that is noted. Outside of transactions.
    func checkLineage() throws {
        let isNoted = try ask(
            """
            SELECT ((i.system_identifier, i.timeline, i.synchronous) = (l.system_identifier, l.timeline, l.synchronous))::text
            FROM installation AS i CROSS JOIN lineage() AS l
            """)
        if isNoted.first?.first == "false" { try noteLineage() }
    }

    /// Notes the database's lineage, outside of transactions. Of several servers and connections that do so concurrently, one
    /// has an effect.
    func noteLineage() throws {
        try runInTransaction(
            [
                "SELECT pg_advisory_xact_lock(\(lockPrefix), 0)::text",
                // Of another cluster tables are read in full.
                "SET LOCAL statement_timeout = 0",
                Self.beginEpoch, Self.noteLost, Self.goOnAbove,
                "UPDATE installation SET incarnation = incarnation + 1 \(Self.ifReplaced)",
                """
                UPDATE installation AS i SET system_identifier = l.system_identifier, timeline = l.timeline,
                    synchronous = l.synchronous FROM lineage() AS l
                """,
            ])
    }

    private static let isReplaced = "(i.system_identifier, i.timeline) <> (l.system_identifier, l.timeline)"
    private static let ifReplaced =
        "FROM lineage() AS l WHERE (installation.system_identifier, installation.timeline) "
        + "<> (l.system_identifier, l.timeline)"

    private static let beginEpoch = """
        UPDATE store_secret SET epoch = epoch + 1 FROM installation AS i CROSS JOIN lineage() AS l
        WHERE i.system_identifier <> l.system_identifier OR i.timeline <> l.timeline AND i.synchronous = 0
        """

    /// How many change sequences a lost database may have been ahead of its copy.
    private static let jump = "(1::bigint << 48)"

    /// The sequence may be missing from a copy, or behind its rows: logical replication leaves it out.
    private static let noteLost = """
        INSERT INTO lost_sequences (store, first, last)
            SELECT store.id, reach.last + 1, reach.last + \(jump)
            FROM store CROSS JOIN installation AS i CROSS JOIN lineage() AS l CROSS JOIN LATERAL (
                SELECT greatest(
                    (SELECT last_value + \(PostgresSQL.sequencesPerTransaction) FROM change_sequence),
                    (SELECT max(last) FROM lost_sequences),
                    CASE WHEN i.system_identifier <> l.system_identifier THEN greatest(
                        (SELECT max(greatest(id, sequence)) FROM record),
                        (SELECT max(greatest(sequence, changed, purged_until)) FROM zone),
                        (SELECT max(greatest(id, ended_at)) FROM share), (SELECT max(sequence) FROM shared_record),
                        (SELECT max(greatest(joined_at, left_at)) FROM membership),
                        (SELECT max(sequence) FROM forgotten_zone), (SELECT max(sequence) FROM forgotten_membership),
                        (SELECT max(defined_at) FROM index_definition), (SELECT max(id) FROM outbox)) END
                ) AS last
            ) AS reach
            WHERE \(isReplaced)
        """

    private static let goOnAbove = """
        SELECT setval('change_sequence', (max(last) / \(PostgresSQL.sequencesPerTransaction) + 1)
            * \(PostgresSQL.sequencesPerTransaction))::text
        FROM lost_sequences CROSS JOIN installation AS i CROSS JOIN lineage() AS l WHERE \(isReplaced)
        """
}
