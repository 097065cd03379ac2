import NephosStorage

// A store's database may be replaced by a copy: a standby is promoted, a backup restored, a dump loaded. The copy may lack
// transactions that were there, and gives their numbers again. So change sequences then go on far above those of before.
//
// - A new timeline after commits that waited for a standby (`synchronous_standby_names`) lacks nothing that was answered. What
//   clients hold stays good, but for change sequences that the copy never had.
// - After other commits, and in another cluster (`system_identifier`), it may lack anything: an epoch begins, and all that
//   clients hold has expired.

extension PostgresConnection {
    /// How many transactions a lost database may have been ahead of its copy.
    private static let jump = "(1::bigint << 32)"

    /// Compares the database's lineage with the one that the store has noted. Outside of transactions.
    func checkLineage(of store: StoreNumber) throws {
        let isNoted = try askInTransaction(
            [
                """
                SELECT (s.system_identifier = l.system_identifier AND s.timeline = l.timeline
                    AND s.synchronous = l.synchronous)::text FROM store AS s CROSS JOIN lineage() AS l WHERE s.id = \(store.value)
                """
            ])
        if isNoted.first?.first == "false" { try noteLineage(of: store) }
    }

    /// Notes the database's lineage, outside of transactions. A replaced database is a new incarnation of the store. Of
    /// several servers and connections that do so concurrently, one has an effect.
    func noteLineage(of store: StoreNumber) throws {
        // The lock keeps out every write, and is taken before the snapshots of the others.
        _ = try askInTransaction(
            [
                "SELECT pg_advisory_xact_lock(\(lockKey(of: store)))::text",
                Self.beginEpoch, Self.noteLost, Self.goOnAbove,
                """
                UPDATE store AS s SET system_identifier = l.system_identifier, timeline = l.timeline,
                    synchronous = l.synchronous FROM lineage() AS l WHERE s.id = 0
                """,
            ].map { $0.replacing("s.id = 0", with: "s.id = \(store.value)") })
    }

    /// Whether the copy may lack what was answered: as a condition on the store `s` and the database `l`.
    private static let mayLack = """
        (s.system_identifier <> l.system_identifier OR s.timeline <> l.timeline AND s.synchronous = 0)
        """
    private static let isReplaced = "(s.system_identifier, s.timeline) <> (l.system_identifier, l.timeline)"

    private static let beginEpoch = """
        UPDATE store_secret SET epoch = epoch + 1 FROM store AS s CROSS JOIN lineage() AS l
        WHERE store_secret.store = s.id AND s.id = 0 AND \(mayLack)
        """

    /// What no row has a number above, with all bits of a place in a transaction set. In the same cluster transactions count
    /// on, and rows' numbers are made of theirs.
    private static let owners = StoreNumber.sql("range", "owner", store: "s.id")
    private static let reach = """
        CROSS JOIN LATERAL (
            SELECT CASE WHEN s.system_identifier = l.system_identifier
                THEN pg_current_xact_id()::text::bigint - s.base
                ELSE (
                    SELECT greatest(
                        (SELECT max(greatest(id, sequence)) FROM record WHERE \(owners)),
                        (SELECT max(sequence) FROM zone WHERE \(owners)),
                        (SELECT max(sequence) FROM zone_change WHERE \(owners)),
                        (SELECT max(sequence) FROM shared_record WHERE \(owners)),
                        (SELECT max(sequence) FROM forgotten_zone WHERE \(owners)),
                        (SELECT max(last) FROM lost_sequences WHERE store = s.id),
                        (SELECT max(defined_at) FROM index_definition WHERE store = s.id),
                        (SELECT max(id) FROM outbox WHERE \(StoreNumber.sql("range", "account", store: "s.id"))),
                        0) >> 16)
                END AS last
        ) AS reach
        """

    private static let noteLost = """
        INSERT INTO lost_sequences (store, first, last)
            SELECT s.id, (reach.last + 1) << 16, ((reach.last + 1 + \(jump)) << 16) - 1
            FROM store AS s CROSS JOIN lineage() AS l \(reach) WHERE s.id = 0 AND \(isReplaced)
        """

    private static let goOnAbove = """
        UPDATE store AS s SET base = pg_current_xact_id()::text::bigint - (lost.last >> 16) - 1,
            incarnation = s.incarnation + 1
        FROM lineage() AS l CROSS JOIN (SELECT store, max(last) AS last FROM lost_sequences GROUP BY store) AS lost
        WHERE s.id = 0 AND lost.store = s.id AND \(isReplaced)
        """
}
