/// Every statement that runs once a store is open, written once for both SQLite and PostgreSQL.
///
/// Parameters first appear in the order of their numbers, so `$n` is also the nth parameter for SQLite.
package enum SQL: Int, CaseIterable, Sendable {
    case savepoint, releaseSavepoint, rollbackToSavepoint
    case lastSequence, setLastSequence
    case secret, setSecret, tokenEpoch, lostSequences
    case accountByID, accountByName, accountByUserRecordName, accountsAfter, insertAccount, markAccountDeleted,
        renameAccount
    case participationsOfAccount, purgeMembershipsOfAccount, unforgetMemberships, removeOutboxOfAccount
    case zoneByName, zoneDeletion, zones, insertZone, markZoneDeleted, setClientChangeToken
    case zonesByChange, lastChangeOfZones, noteChange, deletedZones, lastDeletionOfZones, lastDeletedZone
    case lastSequenceOfZone
    case expiredZones, forgetZone, forgottenZones, noteForgottenZone
    case expiredTombstones, removeTombstone, notePurge
    case recordByName, recordsByNames, expectedRecords, expectedSharedRecords, recordByNumber, recordNumber,
        recordsAfter, recordsBefore, recordSizes
    case putRecord, updateRecord, purgeRecords
    case referencesTo, referencesToAny, referencesToAfter, referencesFrom, referencesBelow
    case insertReference, removeReference, removeReferencesFromAny, purgeReferencesOfRecords, purgeReferences
    case recordTypes, schemaFields, insertRecordType, putSchemaField
    case jobs, jobsAfter, anyJob, insertJob, removeJob, claimJob
    case zonesAfter, indexDefinitions, insertIndexDefinition, updateIndexDefinition, removeIndexDefinition
    case indexEntries, indexEntriesAfter, countIndexEntries, indexedRecords, indexedRecordsAfter
    case hasIndexEntry, missingIndexEntries, insertIndexEntry, removeIndexEntry, removeIndexEntries, firstIndexOfZone,
        purgeIndexEntries
    case subscriptionByID, subscriptionsOfAccount, subscriptionsOfType, nextSubscribedType
    case changeEvents, lastChangeEvent, insertChangeEvent, updateChangeEvent, removeChangeEvent, claimChangeEvent
    case putSubscription, removeSubscription, removeSubscriptionsOfZone
    case pushToken, pushTokensOfAccount, putPushToken, removePushToken, noteHandedOut
    case outboxOfDestination, outboxDestinationsOfSubject, dueOutbox, nextOutboxDue
    case insertOutbox, insertOutboxTogether, updateOutbox, claimDueOutbox, firstOutbox
    case removeOutbox, removeOutboxOfSubject, removeOldOutbox
    case shareByID, shareByGUID, shareByName, lastShareOfRoot, sharesOfZone, putShare, zoneByID
    case participantsOfShare, participantsOfAccount, participantByGUID, putParticipant, removeParticipant
    case membershipsOfAccount, membershipsInZone, participantZone, membersOfShare, putMembership
    case sharedRecordByName, sharedRecordUnder, sharedRecordsAfter, liveSharedRecords, lastSharedSequence
    case putSharedRecord
    case asset, assetsByFile, assetFile, anyAsset, assetBytes, anyExpiredAsset, expiredAssets
    case insertAsset, addAssetBytes, keepAsset, replaceAssetFile, releaseAsset, removeAsset
    case unneededAssets, firstAssets, moveAsset, expireAssets
    case assetReference, assetReferencesOfZone, insertAssetReference, removeAssetReference
    case condemnedAssets, condemnAsset, removeCondemnedAsset
    case purgeSharedRecords, purgeParticipants, forgetMemberships, purgeMemberships, purgeShares
    case expiredSharedRecords, removeSharedRecord, noteSharePurge, noteReentry
    case expiredShares, removeSharedRecords, removeParticipants, forgetMembershipsOfShare, removeMemberships
    case removeShare, keepShare, forgottenMemberships
    case requestKey, insertRequestKey, purgeRequestKeys, requestKeyTime, requestKeySizes, oldestRequestKeyTime
    case requestKeyAccount, countRequestKeys
    case keysOfSubject, keysOfKind, keySizes, putKey, removeKey, removeKeysOfSubject, purgeKeys
    case installationEntry, installationEntries, putInstallationEntry, removeInstallationEntry,
        expiredInstallationEntries
    case rowsWithoutZone, rowsWithoutAccount

    /// The text for a database with one store.
    package var text: String {
        Self.rendered(template) { word, argument in word == "number" || word == "key" ? argument : "TRUE" }
    }

    // A database may have several stores in one set of tables. There the key of an owner or account is made of the
    // store's number and its own, and a table without such keys has the store's number. The next four are words in
    // braces for what a database with one store leaves out.

    /// The condition that a row belongs to the store, by the column with a key or with the store's number: for rows that
    /// are not found by their owner.
    package static func ofStore(_ column: String = "owner") -> String { "{store: \(column)}" }

    /// The same condition as a range of keys, for rows that are read in the order of the keys.
    package static func withinStore(_ column: String) -> String { "{range: \(column)}" }

    /// The number of an owner or account by its key.
    package static func number(_ key: String) -> String { "{number: \(key)}" }

    /// The key of an owner or account by its number.
    package static func key(_ number: String) -> String { "{key: \(number)}" }

    /// Replaces the words in braces, innermost first, by what `text` returns for a word and its argument.
    package static func rendered(_ template: String, _ text: (Substring, String) -> String) -> String {
        var rest = template
        while let start = rest.lastIndex(of: "{"), let end = rest[start...].firstIndex(of: "}") {
            let parts = rest[start..<end].dropFirst().split(separator: ":", maxSplits: 1)
            let argument = parts.count > 1 ? String(parts[1].dropFirst()) : ""
            rest.replaceSubrange(start...end, with: text(parts[0], argument))
        }
        return rest
    }

    /// The text with words in braces.
    package var template: String {
        switch self {
        case .savepoint: "SAVEPOINT work"
        case .releaseSavepoint: "RELEASE SAVEPOINT work"
        case .rollbackToSavepoint: "ROLLBACK TO SAVEPOINT work"

        case .lastSequence: "SELECT last FROM change_sequence"
        case .setLastSequence: "UPDATE change_sequence SET last = $1"

        case .secret: "SELECT secret FROM store_secret WHERE id = 1 AND \(Self.ofStore("store"))"
        case .tokenEpoch: "SELECT epoch FROM store_secret WHERE id = 1 AND \(Self.ofStore("store"))"
        case .lostSequences: "SELECT first, last FROM lost_sequences WHERE \(Self.ofStore("store")) ORDER BY first"
        case .setSecret: "INSERT INTO store_secret (id, secret) VALUES (1, $1) ON CONFLICT (id) DO NOTHING"

        case .accountByID, .accountByName, .accountByUserRecordName, .accountsAfter, .insertAccount,
            .markAccountDeleted, .renameAccount, .participationsOfAccount, .purgeMembershipsOfAccount,
            .unforgetMemberships,
            .removeOutboxOfAccount:
            accountText

        case .zoneByName:
            "SELECT \(Self.zoneColumns) FROM zone WHERE owner = $1 AND name = $2 AND deleted = 0"
        case .zoneDeletion: "SELECT deleted FROM zone WHERE owner = $1 AND id = $2"
        case .zones: "SELECT \(Self.zoneColumns) FROM zone WHERE owner = $1 AND deleted = 0 ORDER BY name"
        case .insertZone:
            "INSERT INTO zone (owner, name, sequence, changed, deleted) VALUES ($1, $2, $3, $4, 0) RETURNING id"
        case .markZoneDeleted:
            """
            UPDATE zone SET deleted = 1, sequence = $1, deleted_at = $2, deletion_reason = $3
            WHERE owner = $4 AND id = $5 AND deleted = 0
            """

        case .setClientChangeToken:
            "UPDATE zone SET client_change_token = $1 WHERE owner = $2 AND id = $3"

        case .zonesByChange:
            """
            SELECT \(Self.zoneColumns) FROM zone WHERE owner = $1 AND deleted = 0 AND changed > $2
            ORDER BY changed LIMIT $3
            """
        case .lastChangeOfZones:
            """
            SELECT changed FROM zone WHERE owner = $1 AND deleted = 0 ORDER BY changed DESC LIMIT 1
            """
        case .noteChange: "UPDATE zone SET changed = $1 WHERE owner = $2 AND id = $3"
        case .deletedZones:
            """
            SELECT \(Self.zoneColumns) FROM zone WHERE owner = $1 AND deleted = 1 AND sequence > $2
                AND NOT EXISTS (
                    SELECT 1 FROM zone AS later
                    WHERE later.owner = zone.owner AND later.name = zone.name AND later.id > zone.id)
            ORDER BY sequence LIMIT $3
            """
        case .lastDeletionOfZones:
            """
            SELECT sequence FROM zone WHERE owner = $1 AND deleted = 1 ORDER BY sequence DESC LIMIT 1
            """
        case .lastDeletedZone:
            """
            SELECT \(Self.zoneColumns) FROM zone WHERE owner = $1 AND name = $2 AND deleted = 1
            ORDER BY id DESC LIMIT 1
            """
        case .expiredZones:
            """
            SELECT id, owner, sequence FROM zone WHERE \(Self.ofStore()) AND deleted = 1 AND deleted_at > 0 AND deleted_at < $1
                AND NOT EXISTS (SELECT 1 FROM record WHERE record.owner = zone.owner AND record.zone = zone.id)
            ORDER BY deleted_at LIMIT $2
            """
        case .forgetZone: "DELETE FROM zone WHERE owner = $1 AND id = $2 AND deleted = 1"
        case .forgottenZones: "SELECT sequence FROM forgotten_zone WHERE owner = $1"
        case .noteForgottenZone:
            """
            INSERT INTO forgotten_zone (owner, sequence) VALUES ($1, $2)
            ON CONFLICT (owner) DO UPDATE SET sequence = excluded.sequence
            WHERE forgotten_zone.sequence < excluded.sequence
            """
        case .expiredTombstones:
            """
            SELECT owner, zone, name, sequence FROM record
            WHERE \(Self.ofStore()) AND deleted = 1 AND modified_at < $1
            ORDER BY modified_at LIMIT $2
            """
        case .removeTombstone:
            """
            DELETE FROM record WHERE owner = $1 AND zone = $2 AND name = $3 AND sequence = $4 AND deleted = 1
            """
        case .notePurge:
            "UPDATE zone SET purged_until = $1 WHERE owner = $2 AND id = $3 AND purged_until < $4"
        case .lastSequenceOfZone:
            "SELECT max(sequence) FROM record WHERE owner = $1 AND zone = $2"

        case .recordByName:
            "SELECT \(Self.recordColumns) FROM record WHERE owner = $1 AND zone = $2 AND name = $3"
        case .recordsByNames:
            "SELECT \(Self.recordColumns) FROM record WHERE owner = $1 AND zone = $2 AND name IN (\(Self.listed)) ORDER BY name"
        // For a remote database: the records that fit in $4 bytes.
        case .expectedRecords:
            """
            SELECT \(Self.recordColumns) FROM record WHERE owner = $1 AND zone = $2 AND name IN (\(Self.listed))
                AND length(fields) <= $4
            """
        // For a remote database: the same records, each with its row under its current share.
        case .expectedSharedRecords:
            """
            SELECT \(Self.recordColumns(of: "record")), \(Self.sharedRecordColumns(of: "shared")) FROM record
            LEFT JOIN shared_record AS shared ON shared.owner = record.owner AND shared.zone = record.zone
                AND shared.name = record.name AND shared.gone_at = 0
            WHERE record.owner = $1 AND record.zone = $2 AND record.name IN (\(Self.listed))
                AND length(record.fields) <= $4
            """
        case .recordByNumber:
            "SELECT \(Self.recordColumns) FROM record WHERE id = $1 AND owner = $2 AND zone = $3"
        case .recordNumber:
            "SELECT id FROM record WHERE owner = $1 AND zone = $2 AND name = $3"
        case .recordSizes:
            """
            SELECT sequence, length(fields) + length(name) FROM record WHERE owner = $1 AND zone = $2 AND sequence > $3
            ORDER BY sequence LIMIT $4
            """
        case .recordsAfter:
            """
            SELECT \(Self.recordColumns) FROM record WHERE owner = $1 AND zone = $2 AND sequence > $3
            ORDER BY sequence LIMIT $4
            """
        case .recordsBefore:
            """
            SELECT \(Self.recordColumns) FROM record WHERE owner = $1 AND zone = $2 AND sequence < $3
            ORDER BY sequence DESC LIMIT $4
            """
        case .putRecord:
            """
            INSERT INTO record (owner, zone, name, \(Self.contentColumns.joined(separator: ", ")))
            VALUES ($1, $2, $3, \(Self.parameters(Self.contentColumns.count, from: 4)))
            ON CONFLICT (owner, zone, name) DO UPDATE SET
                \(Self.contentColumns.map { "\($0) = excluded.\($0)" }.joined(separator: ", "))
            """
        case .updateRecord:
            """
            UPDATE record SET (\(Self.contentColumns.joined(separator: ", ")))
                = (\(Self.parameters(Self.contentColumns.count, from: 1)))
            WHERE id = $12 AND owner = $13 AND zone = $14 AND name = $15
            """
        case .purgeRecords:
            "DELETE FROM record WHERE owner = $1 AND zone = $2 AND name IN (\(Self.firstNames))"

        case .referencesTo:
            """
            SELECT source FROM reference WHERE owner = $1 AND zone = $2 AND target = $3 AND kind = $4
            ORDER BY source LIMIT $5
            """
        case .referencesToAny:
            """
            SELECT target, kind, source FROM reference WHERE owner = $1 AND zone = $2 AND target IN (\(Self.listed))
            ORDER BY target, kind, source
            """
        case .referencesToAfter:
            """
            SELECT source FROM reference WHERE owner = $1 AND zone = $2 AND target = $3 AND kind = $4 AND source > $5
            ORDER BY source LIMIT $6
            """
        case .referencesBelow:
            """
            WITH RECURSIVE below (name, depth) AS (
                SELECT source, 1 FROM reference WHERE owner = $1 AND zone = $2 AND kind = $3 AND target = $4
                UNION ALL
                SELECT r.source, below.depth + 1 FROM below JOIN reference AS r ON r.owner = $1 AND r.zone = $2
                    AND r.kind = $3 AND r.target = below.name)
            SELECT max(depth), count(*) FROM (SELECT depth FROM below LIMIT $5) AS found
            """
        case .referencesFrom:
            """
            SELECT target, kind FROM reference WHERE owner = $1 AND zone = $2 AND source = $3 ORDER BY target, kind
            """
        case .insertReference:
            """
            INSERT INTO reference (owner, zone, target, kind, source) VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT DO NOTHING
            """
        case .removeReference:
            """
            DELETE FROM reference WHERE owner = $1 AND zone = $2 AND target = $3 AND kind = $4 AND source = $5
            """
        case .removeReferencesFromAny:
            "DELETE FROM reference WHERE owner = $1 AND zone = $2 AND source IN (\(Self.listed))"
        case .purgeReferencesOfRecords:
            "DELETE FROM reference WHERE owner = $1 AND zone = $2 AND source IN (\(Self.firstNames))"
        case .purgeReferences: "DELETE FROM reference WHERE owner = $1 AND zone = $2"

        case .recordTypes: "SELECT name FROM record_type WHERE \(Self.ofStore("store")) ORDER BY name"
        case .schemaFields:
            """
            SELECT record_type, field, type FROM schema_field WHERE \(Self.ofStore("store")) ORDER BY record_type, field
            """
        case .insertRecordType: "INSERT INTO record_type (name) VALUES ($1) ON CONFLICT DO NOTHING"
        case .putSchemaField:
            """
            INSERT INTO schema_field (record_type, field, type) VALUES ($1, $2, $3)
            ON CONFLICT (record_type, field) DO UPDATE SET type = excluded.type
            """

        case .jobs: "SELECT id, kind, owner, zone, subject FROM job WHERE \(Self.ofStore()) ORDER BY id LIMIT $1"
        case .jobsAfter:
            """
            SELECT id, kind, owner, zone, subject FROM job
            WHERE (owner, id) > ($1, $2) AND \(Self.withinStore("owner")) ORDER BY owner, id LIMIT $3
            """
        case .anyJob: "SELECT 1 FROM job WHERE owner = $1 AND zone = $2 AND kind = $3 LIMIT 1"
        case .insertJob: "INSERT INTO job (kind, owner, zone, subject) VALUES ($1, $2, $3, $4)"
        case .removeJob: "DELETE FROM job WHERE \(Self.ofStore()) AND id = $1"
        case .claimJob: "SELECT 1 FROM job WHERE \(Self.ofStore()) AND id = $1"

        case .zonesAfter:
            """
            SELECT id, owner, name, sequence FROM zone WHERE \(Self.ofStore()) AND id > $1 AND deleted = 0
            ORDER BY id LIMIT $2
            """
        case .indexDefinitions:
            """
            SELECT id, record_type, components, ready, defined_at, built_zone, built_sequence FROM index_definition
            WHERE \(Self.ofStore("store")) ORDER BY id
            """
        case .insertIndexDefinition:
            """
            INSERT INTO index_definition (record_type, components, ready, defined_at, built_zone, built_sequence)
            VALUES ($1, $2, 0, $3, 0, 0) RETURNING id
            """
        case .updateIndexDefinition:
            """
            UPDATE index_definition SET ready = $1, built_zone = $2, built_sequence = $3
            WHERE \(Self.ofStore("store")) AND id = $4
            """
        case .removeIndexDefinition: "DELETE FROM index_definition WHERE \(Self.ofStore("store")) AND id = $1"

        case .indexEntries:
            "SELECT value, name, record \(Self.indexRange) ORDER BY value, name LIMIT $6"
        case .indexEntriesAfter:
            """
            SELECT value, name, record FROM index_entry
            WHERE owner = $1 AND zone = $2 AND definition = $3 AND (value, name) > ($4, $5) AND value < $6
            ORDER BY value, name LIMIT $7
            """
        // A cross join fixes the order of the tables, so that records are looked up in the order of the index entries.
        // A zone's ID is unique across owners, so the record's owner need not be compared.
        case .indexedRecords:
            """
            SELECT \(Self.recordColumns(of: "record")), value FROM index_entry AS entry CROSS JOIN record
            WHERE entry.owner = $1 AND entry.zone = $2 AND definition = $3 AND value >= $4 AND value < $5
                AND record.id = entry.record AND record.zone = $2
            ORDER BY value, entry.name LIMIT $6
            """
        case .indexedRecordsAfter:
            """
            SELECT \(Self.recordColumns(of: "record")), value FROM index_entry AS entry CROSS JOIN record
            WHERE entry.owner = $1 AND entry.zone = $2 AND definition = $3 AND (value, entry.name) > ($4, $5)
                AND value < $6 AND record.id = entry.record AND record.zone = $2
            ORDER BY value, entry.name LIMIT $7
            """
        case .countIndexEntries:
            "SELECT count(*) FROM (SELECT 1 \(Self.indexRange) LIMIT $6) AS found"
        case .hasIndexEntry:
            """
            SELECT 1 FROM index_entry WHERE owner = $1 AND zone = $2 AND definition = $3 AND value = $4 AND name = $5
            """
        // The result has the positions of the missing entries, from 1, in two lists: hexadecimal values and names.
        case .missingIndexEntries:
            """
            SELECT wanted.key + 1 FROM (SELECT $1 AS owner, $2 AS zone, $3 AS definition) AS place
            CROSS JOIN json_each($4) AS wanted CROSS JOIN json_each($5) AS names
            WHERE names.key = wanted.key AND NOT EXISTS (
                SELECT 1 FROM index_entry AS entry WHERE entry.owner = place.owner AND entry.zone = place.zone
                    AND entry.definition = place.definition AND hex(entry.value) = wanted.value
                    AND entry.name = names.value)
            """
        case .insertIndexEntry:
            """
            INSERT INTO index_entry (owner, zone, definition, value, name, record) VALUES ($1, $2, $3, $4, $5, $6)
            ON CONFLICT DO NOTHING
            """
        case .removeIndexEntry:
            """
            DELETE FROM index_entry WHERE owner = $1 AND zone = $2 AND definition = $3 AND value = $4 AND name = $5
            """
        case .removeIndexEntries:
            """
            DELETE FROM index_entry WHERE owner = $1 AND zone = $2 AND definition = $3 AND (value, name) IN (
                SELECT value, name \(Self.indexRange) ORDER BY value, name LIMIT $6)
            """
        case .firstIndexOfZone:
            "SELECT definition FROM index_entry WHERE owner = $1 AND zone = $2 ORDER BY definition LIMIT 1"
        case .purgeIndexEntries:
            """
            DELETE FROM index_entry WHERE owner = $1 AND zone = $2 AND definition = $3 AND (value, name) IN (
                SELECT value, name FROM index_entry WHERE owner = $1 AND zone = $2 AND definition = $3
                ORDER BY value, name LIMIT $4)
            """

        case .subscriptionByID:
            """
            SELECT \(Self.subscriptionColumns) FROM subscription WHERE owner = $1 AND account = $2 AND id = $3
            """
        case .subscriptionsOfAccount:
            """
            SELECT \(Self.subscriptionColumns) FROM subscription WHERE owner = $1 AND account = $2 ORDER BY id
            """
        case .subscriptionsOfType:
            """
            SELECT \(Self.subscriptionColumns) FROM subscription
            WHERE owner = $1 AND record_type = $2 AND (account, id) > ($3, $4) ORDER BY account, id LIMIT $5
            """
        case .nextSubscribedType:
            """
            SELECT owner, record_type FROM subscription WHERE (owner, record_type) > ($1, $2)
                AND \(Self.withinStore("owner")) ORDER BY owner, record_type LIMIT 1
            """
        case .putSubscription:
            """
            INSERT INTO subscription (\(Self.subscriptionColumns)) VALUES ($1, $2, $3, $4, $5, $6, $7)
            ON CONFLICT (owner, account, id) DO UPDATE SET
                record_type = excluded.record_type, zone = excluded.zone, body = excluded.body
            """
        case .removeSubscription: "DELETE FROM subscription WHERE owner = $1 AND account = $2 AND id = $3"
        case .removeSubscriptionsOfZone: "DELETE FROM subscription WHERE owner = $1 AND zone = $2"

        case .changeEvents:
            """
            SELECT id, owner, zone, zone_name, sequence, origin_account, origin_client, body,
                done_type, done_account, done_id, done_count
            FROM change_event WHERE \(Self.ofStore()) AND id > 0 ORDER BY id LIMIT $1
            """
        case .lastChangeEvent: "SELECT id FROM change_event WHERE \(Self.ofStore()) AND id > 0 ORDER BY id DESC LIMIT 1"
        case .insertChangeEvent:
            """
            INSERT INTO change_event (owner, zone, zone_name, sequence, origin_account, origin_client, body)
            VALUES ($1, $2, $3, $4, $5, $6, $7)
            """
        case .updateChangeEvent:
            """
            UPDATE change_event SET sequence = $1, done_type = $2, done_account = $3, done_id = $4, done_count = $5
            WHERE \(Self.ofStore()) AND id = $6
            """
        case .removeChangeEvent: "DELETE FROM change_event WHERE \(Self.ofStore()) AND id = $1"
        case .claimChangeEvent:
            """
            SELECT done_type, done_account, done_id, done_count FROM change_event WHERE \(Self.ofStore()) AND id = $1
            """

        case .pushToken:
            "SELECT \(Self.pushTokenColumns) FROM push_token WHERE \(Self.ofStore("account")) AND token = $1"
        case .pushTokensOfAccount:
            "SELECT \(Self.pushTokenColumns) FROM push_token WHERE account = $1 ORDER BY token"
        case .putPushToken:
            """
            INSERT INTO push_token (\(Self.pushTokenColumns)) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
            ON CONFLICT (token) DO UPDATE SET
                account = excluded.account, client = excluded.client, environment = excluded.environment,
                device = excluded.device, polls = excluded.polls, seen_at = excluded.seen_at,
                handed_out = excluded.handed_out
            """
        case .removePushToken: "DELETE FROM push_token WHERE \(Self.ofStore("account")) AND token = $1"
        case .noteHandedOut: "UPDATE push_token SET handed_out = $1 WHERE \(Self.ofStore("account")) AND token = $2"

        case .outboxOfDestination:
            "SELECT \(Self.outboxColumns) FROM outbox WHERE account = $1 AND destination = $2 ORDER BY id LIMIT $3"
        case .outboxDestinationsOfSubject:
            "SELECT destination FROM outbox WHERE account = $1 AND subject <> '' AND subject = $2"
        case .dueOutbox:
            """
            SELECT \(Self.outboxColumns) FROM outbox WHERE \(Self.ofStore("account")) AND due > 0 AND due <= $1
            ORDER BY due, id LIMIT $2
            """
        case .nextOutboxDue:
            "SELECT due FROM outbox WHERE \(Self.ofStore("account")) AND due > 0 AND due > $1 ORDER BY due LIMIT 1"
        case .insertOutbox:
            """
            INSERT INTO outbox (\(Self.outboxColumns)) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
            """
        case .insertOutboxTogether:
            Self.insertOutbox.text
                + (1..<Self.outboxRowsTogether).map { row in
                    let own = 10 + 3 * row
                    return ", ($1, $\(own), $\(own + 1), $4, $5, $6, $7, $8, $9, $10, $11, $\(own + 2))"
                }.joined()
        case .updateOutbox:
            """
            UPDATE outbox SET attempts = $1, due = $2
            WHERE account = $3 AND destination = $4 AND id = $5 AND due = $6
            """
        case .claimDueOutbox:
            """
            UPDATE outbox SET due = $1 WHERE (account, destination, id) IN (
                SELECT account, destination, id FROM outbox
                WHERE \(Self.ofStore("account")) AND due > 0 AND due <= $2 ORDER BY due, id LIMIT $3)
            RETURNING \(Self.outboxColumns)
            """
        // Used only by a remote connection. On other connections single lookups are as fast.
        case .firstOutbox: Self.outboxOfDestination.text
        case .removeOutbox: "DELETE FROM outbox WHERE account = $1 AND destination = $2 AND id = $3"
        case .removeOutboxOfSubject:
            "DELETE FROM outbox WHERE account = $1 AND destination = $2 AND subject <> '' AND subject = $3"
        case .removeOldOutbox:
            """
            DELETE FROM outbox WHERE account = $1 AND destination = $2 AND id <= (
                SELECT id FROM outbox WHERE account = $1 AND destination = $2 ORDER BY id DESC LIMIT 1 OFFSET $3)
            """

        case .shareByID, .shareByGUID, .shareByName, .lastShareOfRoot, .sharesOfZone, .putShare, .zoneByID,
            .participantsOfShare, .participantsOfAccount, .participantByGUID, .putParticipant, .removeParticipant,
            .membershipsOfAccount, .membershipsInZone, .participantZone, .membersOfShare, .putMembership,
            .sharedRecordByName, .sharedRecordUnder, .sharedRecordsAfter, .liveSharedRecords, .lastSharedSequence,
            .putSharedRecord,
            .purgeSharedRecords, .purgeParticipants, .forgetMemberships, .purgeMemberships, .purgeShares:
            shareText
        case .expiredSharedRecords, .removeSharedRecord, .noteSharePurge, .noteReentry, .expiredShares,
            .removeSharedRecords, .removeParticipants, .forgetMembershipsOfShare, .removeMemberships,
            .removeShare, .keepShare, .forgottenMemberships:
            shareExpiryText
        case .asset, .assetsByFile, .assetFile, .anyAsset, .assetBytes, .anyExpiredAsset, .expiredAssets,
            .insertAsset, .addAssetBytes, .keepAsset, .replaceAssetFile, .releaseAsset, .removeAsset,
            .unneededAssets, .firstAssets, .moveAsset, .expireAssets, .assetReference, .assetReferencesOfZone,
            .insertAssetReference, .removeAssetReference, .condemnedAssets,
            .condemnAsset, .removeCondemnedAsset:
            assetText
        case .keysOfSubject, .keysOfKind, .keySizes, .putKey, .removeKey, .removeKeysOfSubject, .purgeKeys: keyText
        case .rowsWithoutZone, .rowsWithoutAccount: verificationText
        case .requestKey, .insertRequestKey, .purgeRequestKeys, .requestKeyTime, .requestKeySizes,
            .oldestRequestKeyTime, .requestKeyAccount, .countRequestKeys:
            requestKeyText

        case .installationEntry, .installationEntries, .putInstallationEntry, .removeInstallationEntry,
            .expiredInstallationEntries:
            installationText
        }
    }

    private static let subscriptionColumns = "owner, account, id, record_type, zone, body, since"
    private static let pushTokenColumns = "token, account, client, environment, device, polls, seen_at, handed_out"
    /// The number of rows that `insertOutboxTogether` adds: one notification in as many entries of the outbox.
    static let outboxRowsTogether = 16
    private static let outboxColumns = """
        account, destination, id, subject, notification, subscription, collapse, silent, created_at, payload, attempts,
        due
        """

    /// The columns of a zone after its owner, in reading order.
    package static let zoneColumns = """
        id, name, sequence, client_change_token, changed, purged_until, deleted, deletion_reason
        """

    /// The columns of a record after its name, in writing order.
    package static let contentColumns = [
        "sequence", "type", "deleted", "created_at", "created_by", "modified_at", "modified_by", "parent", "share",
        "checksum", "fields",
    ]

    package static func parameters(_ count: Int, from first: Int) -> String {
        (first..<first + count).map { "$\($0)" }.joined(separator: ", ")
    }

    /// The columns of a record in reading order, as in `RecordRowView.Column`.
    package static let recordColumns = "name, id, \(contentColumns.joined(separator: ", "))"

    package static func recordColumns(of table: String) -> String { qualified(recordColumns, table) }

    /// Returns the columns, each qualified with the name of its table.
    package static func qualified(_ columns: String, _ table: String) -> String {
        columns.split { $0 == "," || $0.isWhitespace }.map { "\(table).\($0)" }.joined(separator: ", ")
    }

    /// The texts of the JSON array in the third parameter.
    private static let listed = "SELECT value FROM json_each($3)"

    private static let indexRange = """
        FROM index_entry WHERE owner = $1 AND zone = $2 AND definition = $3 AND value >= $4 AND value < $5
        """

    /// Selects the names of the records that one call of `purgeRecords` removes.
    private static let firstNames = "SELECT name FROM record WHERE owner = $1 AND zone = $2 ORDER BY name LIMIT $3"
}
