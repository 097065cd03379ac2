import NephosPostgresTesting
import NephosStorage
import Testing

@testable import NephosPostgres

/// Statements that find their rows by an owner or an account, and could go to a database of the owner's. The others read
/// across owners, or rows that a store has once.
@Suite(.overPostgreSQL) struct StatementKeyTests {
    /// The catalogue of a store, its state, and transactions.
    private let ofTheStore: Set<SQL> = [
        .secret, .setSecret, .tokenEpoch, .lostSequences, .lastSequence, .setLastSequence, .recordTypes, .schemaFields,
        .insertRecordType, .putSchemaField, .indexDefinitions, .insertIndexDefinition, .updateIndexDefinition,
        .removeIndexDefinition, .savepoint, .releaseSavepoint, .rollbackToSavepoint,
    ]
    /// Accounts, and what is found by a number or a text that a client has.
    private let byNumber: Set<SQL> = [
        .accountByID, .accountByName, .accountByUserRecordName, .accountsAfter, .insertAccount, .markAccountDeleted,
        .shareByID, .shareByGUID, .keepShare, .removeShare, .noteReentry, .noteSharePurge, .membersOfShare,
        .removeMemberships, .participantsOfShare, .participantByGUID, .putParticipant, .removeParticipant,
        .removeParticipants, .pushToken, .removePushToken, .noteHandedOut, .assetFile,
    ]
    /// Looks across owners, of the background alone.
    private let ofTheBackground: Set<SQL> = [
        .jobs, .jobsAfter, .claimJob, .removeJob, .zonesAfter, .changeEvents, .lastChangeEvent, .claimChangeEvent,
        .updateChangeEvent, .removeChangeEvent, .nextSubscribedType, .dueOutbox, .claimDueOutbox, .nextOutboxDue,
        .requestKeyAccount, .countRequestKeys, .expiredZones, .expiredTombstones, .expiredShares, .expiredSharedRecords,
        .expiredAssets, .anyExpiredAsset, .anyAsset, .assetsByFile, .condemnAsset, .condemnedAssets,
        .removeCondemnedAsset,
    ]
    /// By a time, before an owner: few rows have one.
    private let byTime: Set<SQL> = [.unneededAssets]
    /// Scans of all owners' rows, of `nephos verify` alone.
    private let ofVerification: Set<SQL> = [.rowsWithoutZone, .rowsWithoutAccount]

    @Test func `all other statements find their rows by an owner or an account`() {
        let found = SQL.allCases.filter { sql in
            let text = PostgresSQL.text(sql, .writing)
            return !text.contains(/[ .(](owner|account) = (\$\d|wanted\.account)/)
                && !text.contains(/INSERT INTO \w+ \((\w+, )?(owner|account)\b/)
        }
        let expected = ofTheStore.union(byNumber).union(ofTheBackground).union(ofVerification).union(byTime)
        #expect(Set(found).subtracting(expected).map { "\($0)" } == [])
        #expect(expected.subtracting(found).map { "\($0)" } == [])
    }
}
