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
    case zoneByName, zoneDeletion, zones, zoneCount, zoneSizes, insertZone, markZoneDeleted, setClientChangeToken
    case zonesByChange, lastChangeOfZones, noteChange, deletedZones, lastDeletionOfZones, lastDeletedZone
    case lastSequenceOfZone
    case expiredZones, forgetZone, forgottenZones, noteForgottenZone
    case expiredTombstones, removeTombstone, notePurge
    case recordByName, recordParent, recordsByNames, expectedRecords, expectedSharedRecords, recordByNumber,
        recordNumber,
        recordsAfter, recordsBefore, recordSizes
    case putRecord, updateRecord, purgeRecords
    case referencesTo, referencesToAny, referencesToAfter, referencesFrom, referencesBelow
    case insertReference, removeReference, removeReferencesFromAny, purgeReferences
    case recordTypes, schemaFields, insertRecordType, putSchemaField
    case jobs, jobsAfter, anyJob, insertJob, removeJob, claimJob
    case zonesAfter, indexDefinitions, insertIndexDefinition, updateIndexDefinition, removeIndexDefinition
    case indexEntries, indexEntriesAfter, countIndexEntries, indexedRecords, indexedRecordsAfter
    case hasIndexEntry, missingIndexEntries, insertIndexEntry, removeIndexEntry, removeIndexEntries, firstIndexOfZone,
        purgeIndexEntries
    case subscriptionByID, subscriptionsOfAccount, subscriptionsOfType, nextSubscribedType
    case changeEvents, changeEventOrigins, lastChangeEvent, insertChangeEvent, updateChangeEvent, removeChangeEvent
    case claimChangeEvent
    case putSubscription, removeSubscription, removeSubscriptionsOfZone
    case pushToken, pushTokensOfAccount, putPushToken, removePushToken, noteHandedOut
    case outboxOfDestination, outboxDestinationsOfSubject, dueOutbox, nextOutboxDue
    case insertOutbox, insertOutboxTogether, updateOutbox, claimDueOutbox, firstOutbox
    case removeOutbox, removeOutboxOfSubject, removeOldOutbox
    case shareByID, shareByGUID, shareByName, lastShareOfRoot, sharesOfZone, putShare, zoneByID
    case participantsOfShare, participantsOfAccount, participantByGUID, putParticipant, removeParticipant
    case membershipsOfAccount, membershipsInZone, membershipInShare, liveMembershipInZone, countMemberships
    case participantZone, membersOfShare, putMembership
    case sharedRecordByName, sharedRecordUnder, sharedRecordsByNames, sharedRecordsAfter, liveSharedRecords,
        lastSharedSequence
    case putSharedRecord
    case asset, assetsByFile, assetFile, anyAsset, assetBytes, assetBytesOfFiles, anyExpiredAsset, expiredAssets
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
        if let text = storeText ?? accountText ?? installationText ?? verificationText { return text }
        if let text = zoneText ?? zoneDeletionText ?? recordText ?? recordChangeText { return text }
        if let text = referenceText ?? indexText ?? indexRangeText ?? indexEntryText { return text }
        if let text = subscriptionText ?? changeEventText ?? pushTokenText ?? outboxText { return text }
        if let text = shareText ?? participantText ?? membershipText ?? sharedRecordText { return text }
        if let text = shareExpiryText ?? assetText ?? assetReferenceText ?? keyText ?? requestKeyText { return text }
        preconditionFailure("\(self) has no text")
    }

    package static func parameters(_ count: Int, from first: Int) -> String {
        (first..<first + count).map { "$\($0)" }.joined(separator: ", ")
    }

    /// Returns the columns, each qualified with the name of its table.
    package static func qualified(_ columns: String, _ table: String) -> String {
        columns.split { $0 == "," || $0.isWhitespace }.map { "\(table).\($0)" }.joined(separator: ", ")
    }

    /// The texts of the JSON array in the third parameter.
    static let listed = "SELECT value FROM json_each($3)"
}
