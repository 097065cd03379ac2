import NephosStorage

/// Where PostgreSQL's statements differ from those that all engines share, and how each may run.
enum PostgresSQL {
    /// What a statement's connection is doing.
    enum Mode {
        case reading
        /// Beside other writes: the records that are read are locked.
        case writing
        /// While no other write does.
        case alone
    }

    static func text(_ sql: SQL, _ mode: Mode) -> String {
        mode == .writing && locks.contains(sql) ? lockingTexts[sql.rawValue] : texts[sql.rawValue]
    }

    /// By the statements' numbers: what a statement is made of takes longer to put together than to send.
    private static let texts = SQL.allCases.map {
        rendered(claims.contains($0) ? text($0) + " FOR UPDATE SKIP LOCKED" : text($0))
    }
    private static let lockingTexts = SQL.allCases.map { sql in
        switch sql {
        case .recordsByNames: recordsByNames(" FOR UPDATE")
        case let sql where locks.contains(sql): text(sql) + " FOR UPDATE"
        default: ""
        }
    }
    private static let needingStore = SQL.allCases.map { text($0).contains("{") }

    /// Whether the statement's last parameter is the store's number.
    static func needsStore(_ sql: SQL) -> Bool { needingStore[sql.rawValue] }

    /// The text for the store whose number is the parameter behind its others.
    static func rendered(_ template: String) -> String {
        guard template.contains("{") else { return template }
        let last = template.matches(of: #/\$(\d+)/#).compactMap { Int($0.1) }.max() ?? 0
        return SQL.rendered(template) { StoreNumber.sql($0, $1, store: "$\(last + 1)::bigint") }
    }

    /// Has a row of a table without keys begin with the store's number.
    private static func insertingStore(_ template: String) -> String {
        template.replacing(#/INSERT INTO ([a-z_]+) \(/#) { "INSERT INTO \($0.1) (store, " }
            .replacing("VALUES (", with: "VALUES ({store}, ").replacing("ON CONFLICT (", with: "ON CONFLICT (store, ")
            .replacing("CONFLICT (store, id) DO NOTHING", with: "CONFLICT DO NOTHING")
    }

    /// Those that read records by name: a write decides on them.
    private static let locks: Set<SQL> = [.recordByName, .recordsByNames]

    /// Those by which one of several servers takes a piece of work for as long as its transaction lasts.
    private static let claims: Set<SQL> = [.claimJob, .claimChangeEvent]

    private static func text(_ sql: SQL) -> String {
        switch sql {
        case .recordsByNames: recordsByNames("")
        case .referencesToAny:
            """
            SELECT target, kind, source FROM \(each("reference", "target")) ORDER BY target, kind, source
            """
        case .removeReferencesFromAny:
            "DELETE FROM reference WHERE ctid = ANY (ARRAY(SELECT found.ctid FROM \(each("reference", "source", "ctid"))))"
        case .recordsAfter:
            """
            SELECT \(SQL.recordColumns) FROM (
                SELECT *, sum(octet_length(fields)) OVER (ORDER BY sequence) - octet_length(fields) AS size_before
                FROM (
                    SELECT * FROM record WHERE owner = $1 AND zone = $2 AND sequence > $3 ORDER BY sequence LIMIT $4
                ) AS page
            ) AS sized WHERE size_before < $5 ORDER BY sequence
            """
        case .lastSequenceOfZone:
            """
            SELECT greatest(
                    (SELECT max(sequence) FROM record WHERE owner = $1 AND zone = $2 AND sequence < least($3, below)),
                    (SELECT max(sequence) FROM zone_change WHERE owner = $1 AND zone = $2 AND sequence < least($3, below))),
                greatest(
                    (SELECT max(sequence) FROM record WHERE owner = $1 AND zone = $2),
                    (SELECT max(sequence) FROM zone_change WHERE owner = $1 AND zone = $2)),
                below
            FROM \(completeness)
            """
        case .lastSharedSequence:
            """
            SELECT
                (SELECT max(sequence) FROM shared_record
                    WHERE owner = $1 AND zone = $2 AND share = $3 AND sequence < least($4, below)),
                (SELECT max(sequence) FROM shared_record WHERE owner = $1 AND zone = $2 AND share = $3),
                below
            FROM \(completeness)
            """
        case .expiredTombstones:
            sql.template.replacing("sequence < $2", with: "sequence < least($2, complete_below({store}))")
        case .lastDeletionOfZones:
            """
            SELECT
                (SELECT max(sequence) FROM zone WHERE owner = $1 AND deleted = 1 AND sequence < least($2, below)),
                (SELECT max(sequence) FROM zone WHERE owner = $1 AND deleted = 1),
                below
            FROM \(completeness)
            """
        case .zonesByChange:
            """
            SELECT id, name, sequence, client_change_token, last_change, purged_until, deleted, deletion_reason
            FROM (\(changedZones(limit: "$3"))) AS zones WHERE last_change > $2 ORDER BY last_change LIMIT $4
            """
        case .lastChangeOfZones:
            """
            SELECT max(last_change), max(newest), max(below) FROM (\(changedZones(limit: "$2"))) AS zones
            """
        case .indexedRecords: pieces(of: sql, limit: 6)
        case .indexedRecordsAfter: pieces(of: sql, limit: 7)
        case .liveSharedRecords:
            """
            SELECT \(SQL.recordColumns) FROM (
                SELECT *, sum(octet_length(fields)) OVER (ORDER BY name) - octet_length(fields) AS size_before
                FROM (\(sql.template)) AS piece
            ) AS sized WHERE size_before < $7 ORDER BY name
            """
        case .expectedRecords:
            """
            SELECT \(SQL.recordColumns) FROM (
                SELECT found.*, sum(octet_length(fields)) OVER (ORDER BY name) - octet_length(fields) AS size_before
                FROM \(each("record", "name"))
            ) AS sized WHERE size_before < $4
            """
        case .expectedSharedRecords:
            """
            SELECT \(SQL.recordColumns(of: "sized")), \(SQL.sharedRecordColumns(of: "shared")) FROM (
                SELECT found.*, sum(octet_length(fields)) OVER (ORDER BY name) - octet_length(fields) AS size_before
                FROM \(each("record", "name"))
            ) AS sized
            LEFT JOIN shared_record AS shared ON shared.owner = sized.owner AND shared.zone = sized.zone
                AND shared.name = sized.name AND shared.gone_at = 0
            WHERE size_before < $4
            """
        // What a feed does not show yet is not told: its client would fetch too early, and never again.
        case .changeEvents: sql.template.replacing("ORDER BY", with: "AND sequence < complete_below({store}) ORDER BY")
        case .claimDueOutbox, .purgeRequestKeys:
            once(sql.template).replacing("LIMIT $3", with: "LIMIT $3 FOR UPDATE SKIP LOCKED")
        case .purgeMembershipsOfAccount, .purgeKeys, .removeSharedRecords, .purgeSharedRecords, .purgeRecords,
            .purgeReferencesOfRecords, .removeIndexEntries, .purgeIndexEntries:
            once(sql.template)
        case .missingIndexEntries:
            """
            SELECT wanted.place FROM unnest($4::text[], $5::text[]) WITH ORDINALITY AS wanted (value, name, place)
            WHERE NOT EXISTS (
                SELECT FROM index_entry AS entry WHERE owner = $1 AND zone = $2 AND definition = $3
                    AND entry.value = decode(wanted.value, 'hex') AND entry.name = wanted.name)
            """
        case .firstOutbox:
            """
            SELECT found.* FROM unnest($1::text[]::bigint[], $2::text[]) AS wanted (account, destination)
            CROSS JOIN LATERAL (\(sql.template.replacing("$1", with: SQL.key("wanted.account"))
                .replacing("$2", with: "wanted.destination").replacing("$3", with: "1"))) AS found
            """
        case .unneededAssets: sql.template.replacing("+owner", with: "owner")
        case .setSecret, .insertRecordType, .putSchemaField, .insertIndexDefinition, .condemnAsset, .putParticipant:
            insertingStore(sql.template)
        case .insertAccount:
            """
            INSERT INTO account (id, name, user_record_name)
            VALUES (\(SQL.key("nextval('account_number')")), $1, $2) RETURNING id
            """
        case .putShare:
            sql.template.replacing("CONFLICT (id)", with: "CONFLICT ((\(StoreNumber.sql(ofKey: "owner"))), id)")
        case .putPushToken:
            sql.template.replacing("CONFLICT (token)", with: "CONFLICT ((\(StoreNumber.sql(ofKey: "account"))), token)")
        case .noteChange:
            "INSERT INTO zone_change (sequence, owner, zone) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING"
        default: sql.template
        }
    }

    /// Records with the entries that they are under, which end with the one with which their fields have as many bytes as the
    /// parameter behind the limit says. What is large is fetched for those alone that are given.
    private static func pieces(of sql: SQL, limit: Int) -> String {
        """
        SELECT \(SQL.recordColumns), value FROM (
            SELECT *, sum(octet_length(fields)) OVER (ORDER BY value, name) - octet_length(fields) AS size_before
            FROM (\(sql.template.replacing("record.zone = $2", with: "record.owner = $1 AND record.zone = $2"))) AS piece
        ) AS sized WHERE size_before < $\(limit + 1) ORDER BY value, name
        """
    }

    /// A zone's rows for each text of a list, the third parameter, in its order, by an index for each. With `= ANY ($3)` the
    /// planner plans anew for each list, as lengths differ, which takes longer than a save's other statements together; or it
    /// keeps a plan that reads the zone, as that was small when it was made.
    private static func each(_ table: String, _ column: String, _ columns: String = "*", _ lock: String = "") -> String
    {
        """
        (SELECT DISTINCT text COLLATE "C" AS text FROM unnest($3::text[]) AS text ORDER BY text) AS wanted CROSS JOIN LATERAL (
            SELECT \(columns) FROM \(table) WHERE owner = $1 AND zone = $2 AND \(column) = wanted.text OFFSET 0\(lock)
        ) AS found
        """
    }

    private static func recordsByNames(_ lock: String) -> String {
        "SELECT \(SQL.recordColumns) FROM \(each("record", "name", "*", lock))"
    }

    /// A statement that changes the first rows that a query gives, as one that asks the query once. As a join the query may be
    /// asked again for each row, where the planner believes that there are few: it takes minutes, and gives others each time.
    private static func once(_ text: String) -> String {
        text.replacing(#/\([a-z_]+(?:, [a-z_]+)+\) IN \(\s*SELECT [a-z_]+(?:, [a-z_]+)+ /#) { _ in
            "ctid = ANY (ARRAY(SELECT ctid "
        }
        .replacing(#/([a-z_]+) IN \(\s*SELECT ([a-z_]+) /#) { "\($0.1) = ANY (ARRAY(SELECT \($0.2) " }
        .replacing(#/(LIMIT \$\d)\)/#) { "\($0.1)))" }
    }

    /// The live zones of an owner, each with its last change that is complete: a look into an index for each.
    private static func changedZones(limit: String) -> String {
        """
        SELECT zone.*, below,
            greatest(
                CASE WHEN zone.sequence < least(\(limit), below) THEN zone.sequence END,
                (SELECT max(c.sequence) FROM zone_change AS c
                    WHERE c.owner = zone.owner AND c.zone = zone.id AND c.sequence < least(\(limit), below))
            ) AS last_change,
            greatest(
                zone.sequence,
                (SELECT max(c.sequence) FROM zone_change AS c WHERE c.owner = zone.owner AND c.zone = zone.id)
            ) AS newest
        FROM zone CROSS JOIN \(completeness) WHERE zone.owner = $1 AND zone.deleted = 0
        """
    }

    /// The first sequence that a commit may still show, once for a statement.
    private static let completeness = "(SELECT complete_below({store}) AS below OFFSET 0) AS store"

    /// How many columns a zone has before its reach.
    static let zoneColumnCount = 8
    static let recordColumnCount = 2 + content.count
    /// A live zone by its name, and its reach: `FeedReach`.
    static let zoneWithReach = rendered(
        """
        SELECT \(SQL.zoneColumns),
            greatest(
                (SELECT max(r.sequence) FROM record AS r
                    WHERE r.owner = zone.owner AND r.zone = zone.id AND r.sequence < below),
                (SELECT max(c.sequence) FROM zone_change AS c
                    WHERE c.owner = zone.owner AND c.zone = zone.id AND c.sequence < below)),
            (SELECT max(c.sequence) FROM zone_change AS c WHERE c.owner = zone.owner AND c.zone = zone.id),
            below
        FROM zone CROSS JOIN \(completeness) WHERE owner = $1 AND name = $2 AND deleted = 0
        """)

    // MARK: - Statements of this engine alone

    static let state = rendered(
        """
        SELECT pg_current_xact_id()::text::bigint, base, catalog_version, subscribed_version, incarnation,
            CASE WHEN synchronous = \(PostgresTables.isSynchronous) THEN 1 ELSE 0 END
        FROM store WHERE id = {store}
        """)
    /// In the order of `SharedContent`.
    static let versions = rendered("SELECT \(versionColumns) FROM store WHERE id = {store}")
    private static let versionColumns = "catalog_version, subscribed_version, incarnation"
    static let advanceCatalog = rendered("UPDATE store SET catalog_version = catalog_version + 1 WHERE id = {store}")
    static let insertSubscribedType = rendered(
        """
        WITH added AS (
            INSERT INTO subscribed_type (owner, record_type, version)
                SELECT $1::bigint, $2, subscribed_version + 1 FROM store WHERE id = {store}
            ON CONFLICT DO NOTHING RETURNING version)
        UPDATE store SET subscribed_version = added.version FROM added WHERE id = {store}
        """)
    static let subscribedTypes = rendered(
        "SELECT owner, record_type FROM subscribed_type WHERE {store: owner} AND version > $1")
    static let horizon = rendered(
        "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint, base FROM store WHERE id = {store}")

    /// A live zone by its name, its record of a name, and the versions: parts of one row, null where there is none.
    static let zoneWithRecord = rendered(
        """
        SELECT \(SQL.qualified(SQL.zoneColumns, "zone")), \(SQL.recordColumns(of: "record")), \(versionColumns)
        FROM store
        LEFT JOIN zone ON zone.owner = $1 AND zone.name = $2 AND zone.deleted = 0
        LEFT JOIN record ON record.owner = zone.owner AND record.zone = zone.id AND record.name = $3
        WHERE store.id = {store}
        """)
    /// Two of a zone by its name, beside which that is not changed.
    static func recordsOfZone(_ mode: Mode) -> String { mode == .writing ? lockedRecordsOfZone : recordsOfZone }
    private static let recordsOfZone = byZoneName(text(.recordsByNames, .alone))
    private static let lockedRecordsOfZone = byZoneName(text(.recordsByNames, .writing))
    static func recordOfZone(_ mode: Mode) -> String { mode == .writing ? lockedRecordOfZone : recordOfZone }
    private static let recordOfZone = byZoneName(text(.recordByName, .alone))
    private static let lockedRecordOfZone = byZoneName(text(.recordByName, .writing))
    static let sharesOfZone = byZoneName(text(.sharesOfZone, .alone))
    private static func byZoneName(_ text: String) -> String {
        text.replacing("zone = $2", with: "zone = (SELECT id FROM zone WHERE owner = $1 AND name = $2 AND deleted = 0)")
    }

    /// Adds a record that was not there when the transaction looked.
    static let insertRecord = """
        INSERT INTO record (id, owner, zone, name, \(content.joined(separator: ", ")))
        VALUES ($1, $2, $3, $4, \(SQL.parameters(content.count, from: 5)))
        """
    /// Writes a record that the transaction did not look for.
    static let putRecord = """
        \(insertRecord) ON CONFLICT (owner, zone, name) DO UPDATE SET
            \(content.map { "\($0) = excluded.\($0)" }.joined(separator: ", "))
        RETURNING id
        """
    /// Writes a record that the transaction has locked.
    static let updateRecord = """
        UPDATE record SET (\(content.joined(separator: ", "))) = (\(SQL.parameters(content.count, from: 5)))
        WHERE id = $1 AND owner = $2 AND zone = $3 AND name = $4
        """
    /// Removes some of a zone's changes that are older than its newest that is complete. Those that others remove are left
    /// to them.
    static let trimChanges = rendered(
        """
        DELETE FROM zone_change WHERE owner = $1 AND zone = $2 AND sequence = ANY (ARRAY(
            SELECT sequence FROM zone_change WHERE owner = $1 AND zone = $2 AND sequence < (
                SELECT max(sequence) FROM zone_change WHERE owner = $1 AND zone = $2 AND sequence < complete_below({store}))
            ORDER BY sequence LIMIT 100 FOR UPDATE SKIP LOCKED))
        """)

    private static let content = SQL.contentColumns

    // MARK: - How each may run

    /// Statements whose outcome is not awaited: they go with the next that gives something, or with the commit.
    static let deferred: Set<SQL> = [
        .insertReference, .removeReference, .removeReferencesFromAny, .insertIndexEntry, .removeIndexEntry, .insertJob,
        .removeJob,
        .insertChangeEvent, .updateChangeEvent, .removeChangeEvent, .noteChange, .setClientChangeToken,
        .insertOutbox, .insertOutboxTogether, .updateOutbox, .removeOutboxOfSubject, .removeOldOutbox,
        .putSharedRecord, .updateIndexDefinition, .noteHandedOut, .insertRequestKey,
    ]

    /// Statements that write and may run beside other writes: what they decide on is locked, or is its own. All
    /// others that write run alone.
    static let besideOthers: Set<SQL> = [
        .insertReference, .removeReference, .removeReferencesFromAny, .insertIndexEntry, .removeIndexEntry, .insertJob,
        .insertChangeEvent, .updateChangeEvent, .removeChangeEvent, .noteChange, .setClientChangeToken,
        .insertOutbox, .insertOutboxTogether, .updateOutbox, .removeOutbox, .removeOutboxOfSubject, .removeOldOutbox,
        .claimDueOutbox, .noteHandedOut, .insertRequestKey, .purgeRequestKeys,
    ]

    /// Whether a statement changes something.
    static func writes(_ sql: SQL) -> Bool { !sql.template.hasPrefix("SELECT") }

    /// Those that say how far a feed reaches: `FeedReach`.
    static let reaches: Set<SQL> = [
        .lastSequenceOfZone, .lastChangeOfZones, .lastDeletionOfZones, .lastSharedSequence,
    ]
}
