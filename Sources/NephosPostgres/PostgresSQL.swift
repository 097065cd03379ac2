import NephosStorage

/// Where PostgreSQL's statements differ from those that all engines share, and how each may run.
enum PostgresSQL {
    static func text(_ sql: SQL) -> String { texts[sql.rawValue] }

    /// By the statements' numbers: what a statement is made of takes longer to put together than to send.
    private static let texts = SQL.allCases.map {
        rendered(claims.contains($0) ? template($0) + " FOR UPDATE SKIP LOCKED" : template($0))
    }
    private static let needingStore = SQL.allCases.map { template($0).contains("{") }

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

    /// Those by which one of several servers takes a piece of work for as long as its transaction lasts.
    private static let claims: Set<SQL> = [.claimJob, .claimChangeEvent]

    /// A page of a zone's records that ends with the row at which the fields reach $5 bytes.
    private static func page(_ condition: String, by order: String) -> String {
        """
        SELECT \(SQL.recordColumns) FROM (
            SELECT *, sum(octet_length(fields)) OVER (ORDER BY \(order)) - octet_length(fields) AS size_before
            FROM (
                SELECT * FROM record WHERE owner = $1 AND zone = $2 AND \(condition) ORDER BY \(order) LIMIT $4
            ) AS page
        ) AS sized WHERE size_before < $5 ORDER BY \(order)
        """
    }

    private static func template(_ sql: SQL) -> String {
        switch sql {
        case .recordsByNames: "SELECT \(SQL.recordColumns) FROM \(each("record", "name"))"
        case .sharedRecordsByNames:
            "SELECT \(SQL.sharedRecordColumns(of: "found")) FROM \(each("shared_record", "name")) LIMIT $4"
        case .referencesToAny:
            """
            SELECT target, kind, source FROM \(each("reference", "target")) ORDER BY target, kind, source
            """
        case .removeReferencesFromAny:
            "DELETE FROM reference WHERE ctid = ANY (ARRAY(SELECT found.ctid FROM \(each("reference", "source", "ctid"))))"
        case .recordsAfter: page("sequence > $3", by: "sequence")
        case .recordsBefore: page("sequence < $3", by: "sequence DESC")
        case .zonesByChange:
            """
            SELECT id, name, sequence, client_change_token, last_change, purged_until, deleted, deletion_reason
            FROM (\(changedZones)) AS zones WHERE last_change > $2 ORDER BY last_change LIMIT $3
            """
        case .lastChangeOfZones:
            """
            SELECT max(last_change) FROM (\(changedZones)) AS zones
            """
        case .indexedRecords: pieces(of: sql, limit: 6)
        case .indexedRecordsAfter: pieces(of: sql, limit: 7)
        case .liveSharedRecords:
            """
            SELECT \(SQL.recordColumns) FROM (
                SELECT *, sum(octet_length(fields)) OVER (ORDER BY name) - octet_length(fields) AS size_before
                FROM (\(sql.template.replacing(SQL.liveSharedRecordIndex, with: ""))) AS piece
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
        case .claimDueOutbox:
            once(sql.template).replacing("LIMIT $3", with: "LIMIT $3 FOR UPDATE SKIP LOCKED")
        case .purgeRequestKeys:
            once(sql.template).replacing("LIMIT $4", with: "LIMIT $4 FOR UPDATE SKIP LOCKED")
        case .purgeMembershipsOfAccount, .purgeKeys, .removeSharedRecords, .purgeSharedRecords, .purgeRecords,
            .purgeReferences, .removeIndexEntries, .purgeIndexEntries:
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
    private static func each(_ table: String, _ column: String, _ columns: String = "*") -> String {
        """
        (SELECT DISTINCT text COLLATE "C" AS text FROM unnest($3::text[]) AS text ORDER BY text) AS wanted CROSS JOIN LATERAL (
            SELECT \(columns) FROM \(table) WHERE owner = $1 AND zone = $2 AND \(column) = wanted.text OFFSET 0
        ) AS found
        """
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

    /// The live zones of an owner, each with its last change: a look into an index for each. A save does not write its zone's
    /// row, which has other changes, and the last tombstone that was purged.
    private static let changedZones = """
        SELECT *, greatest(changed, purged_until, \(lastRecord)) AS last_change FROM zone WHERE owner = $1 AND deleted = 0
        """
    private static let lastRecord = """
        (SELECT max(r.sequence) FROM record AS r WHERE r.owner = zone.owner AND r.zone = zone.id)
        """

    /// How many columns a zone has before its last sequence.
    static let zoneColumnCount = 8
    static let recordColumnCount = 2 + content.count
    /// A live zone by its name, and its last sequence.
    static let zoneForFeed = """
        SELECT \(SQL.zoneColumns), \(lastRecord) FROM zone WHERE owner = $1 AND name = $2 AND deleted = 0
        """

    // MARK: - Statements of this engine alone

    /// The change sequences, and the new records, that a transaction may have: what PostgreSQL's sequence goes on by.
    static let sequencesPerTransaction: Int64 = 1 << 16

    /// Since the transaction began.
    static let microseconds = "(extract(epoch FROM clock_timestamp() - transaction_timestamp()) * 1000000)::bigint"

    /// Raises `division_by_zero` for a store that is being removed, which also fails a batch that ends with `COMMIT`.
    static let state = rendered(
        """
        SELECT nextval('change_sequence'), \(versionColumns),
            CASE WHEN synchronous = \(PostgresTables.isSynchronous) THEN 1 ELSE 0 END, \(microseconds),
            1 / sign(catalog_version + 1)
        FROM store JOIN installation ON installation.id = 1 WHERE store.id = {store}
        """)
    /// In the order of `SharedContent`.
    static let versions = rendered(
        "SELECT \(versionColumns) FROM store JOIN installation ON installation.id = 1 WHERE store.id = {store}")
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

    /// A live zone by its name, its record of a name, and the versions: parts of one row, null where there is none. `OFFSET 0`
    /// keeps the planner from a scan of the owner's entries without the zone's number.
    static let zoneWithRecord = rendered(
        """
        SELECT \(SQL.qualified(SQL.zoneColumns, "zone")), \(SQL.recordColumns(of: "record")), \(versionColumns)
        FROM store JOIN installation ON installation.id = 1
        LEFT JOIN zone ON zone.owner = $1 AND zone.name = $2 AND zone.deleted = 0
        LEFT JOIN LATERAL (
            SELECT * FROM record WHERE owner = $1 AND zone = zone.id AND name = $3 OFFSET 0
        ) AS record ON TRUE
        WHERE store.id = {store}
        """)
    /// Two of a zone by its name, beside which that is not changed.
    static let recordsOfZone = byZoneName(text(.recordsByNames))
    static let recordOfZone = byZoneName(text(.recordByName))
    static let sharesOfZone = byZoneName(text(.sharesOfZone))
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
    /// Writes a record that the transaction has found.
    static let updateRecord = """
        UPDATE record SET (\(content.joined(separator: ", "))) = (\(SQL.parameters(content.count, from: 5)))
        WHERE id = $1 AND owner = $2 AND zone = $3 AND name = $4
        """
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

    /// Changes that need no line: work for others, what is sent to devices, and what a claim or a key of a request guards.
    static let withoutLine: Set<SQL> = [
        .insertJob, .removeJob, .insertChangeEvent, .updateChangeEvent, .removeChangeEvent, .noteHandedOut,
        .insertOutbox, .insertOutboxTogether, .updateOutbox, .removeOutbox, .removeOutboxOfSubject, .removeOldOutbox,
        .removeOutboxOfAccount, .claimDueOutbox, .putPushToken, .removePushToken, .insertRequestKey, .purgeRequestKeys,
        .condemnAsset, .removeCondemnedAsset,
        // A save that changes a record and its entries has the line; an index is built from snapshots, and completed alone.
        .insertIndexEntry, .removeIndexEntry, .removeIndexEntries,
    ]

    /// Changes of what the whole store has once.
    static let ofStore: Set<SQL> = [
        .setSecret, .insertRecordType, .putSchemaField, .insertIndexDefinition, .updateIndexDefinition,
        .removeIndexDefinition, .markAccountDeleted, .renameAccount,
    ]

    /// Whether a statement changes something.
    static func writes(_ sql: SQL) -> Bool { writing[sql.rawValue] }
    private static let writing = SQL.allCases.map { !$0.template.hasPrefix("SELECT") && $0 != .referencesBelow }
}
