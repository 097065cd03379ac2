import CloudKit
import Testing

/// A list with items, in a custom zone of its owner's, as the tests of sharing have it.
struct SharedList {
    let owner: CKContainer
    let zoneID = CKRecordZone.ID(zoneName: "Lists")
    let root: CKRecord
    let item: CKRecord

    /// Saves the zone, a list, an item in it, and a note that is in none.
    init(_ owner: CKContainer) async throws {
        self.owner = owner
        let database = owner.privateCloudDatabase
        _ = try await database.save(CKRecordZone(zoneID: zoneID))
        root = CKRecord(recordType: "List", recordID: CKRecord.ID(recordName: "list", zoneID: zoneID))
        root["title"] = "Groceries"
        item = CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: "milk", zoneID: zoneID))
        item.setParent(root)
        item["title"] = "Milk"
        let note = CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: "note", zoneID: zoneID))
        note["title"] = "Private"
        try await database.saveAll([root, item, note])
    }

    /// Shares the list with an address.
    func share(
        with email: String? = nil, _ permission: CKShare.ParticipantPermission = .readWrite,
        publicly publicPermission: CKShare.ParticipantPermission = .none
    ) async throws -> CKShare {
        let share = CKShare(rootRecord: root)
        share[CKShare.SystemFieldKey.title] = "Groceries"
        share.publicPermission = publicPermission
        if let email {
            let participant = try await owner.shareParticipant(forEmailAddress: email)
            participant.permission = permission
            share.addParticipant(participant)
        }
        try await owner.privateCloudDatabase.saveAll([root, share])
        return share
    }
}

extension CKDatabase {
    /// Saves records, each of which has to be saved.
    func saveAll(
        _ records: [CKRecord], deleting recordIDs: [CKRecord.ID] = [],
        savePolicy: CKModifyRecordsOperation.RecordSavePolicy = .ifServerRecordUnchanged
    ) async throws {
        let results = try await modifyRecords(saving: records, deleting: recordIDs, savePolicy: savePolicy)
        for result in results.saveResults.values { _ = try result.get() }
        for result in results.deleteResults.values { try result.get() }
    }

    /// The code of the error with which a save of one record fails; nil where it succeeds.
    func codeOfSaving(_ records: CKRecord..., deleting: [CKRecord.ID] = []) async -> CKError.Code? {
        do {
            let results = try await modifyRecords(saving: records, deleting: deleting)
            let errors =
                results.saveResults.values.compactMap { $0.error }
                + results.deleteResults.values.compactMap { $0.error }
            let codes = errors.compactMap { ($0 as? CKError)?.code }
            return codes.first { $0 != .batchRequestFailed } ?? codes.first
        } catch {
            return (error as? CKError)?.code
        }
    }

    /// The names of what a zone's feed has since a token: of records, and of deletions.
    func changes(
        in zoneID: CKRecordZone.ID, since token: CKServerChangeToken? = nil
    ) async throws -> (names: Set<String>, deleted: Set<String>, token: CKServerChangeToken) {
        var (names, deleted): (Set<String>, Set<String>) = ([], [])
        var token = token
        while true {
            let changes = try await recordZoneChanges(inZoneWith: zoneID, since: token)
            for (id, result) in changes.modificationResultsByID {
                _ = try result.get()
                names.insert(id.recordName)
                deleted.remove(id.recordName)
            }
            for deletion in changes.deletions {
                deleted.insert(deletion.recordID.recordName)
                names.remove(deletion.recordID.recordName)
            }
            token = changes.changeToken
            if !changes.moreComing { return (names, deleted, changes.changeToken) }
        }
    }
}

extension Result {
    var error: Failure? { if case .failure(let error) = self { error } else { nil } }
}

extension CKContainer {
    /// Accepts a share by its URL, as an app does.
    @discardableResult
    func join(_ url: URL?) async throws -> CKShare {
        try await accept(try await shareMetadata(for: try #require(url)))
    }

    /// Accepts a share by its URL without the fragment, which has the share's key.
    @discardableResult
    func joinWithoutKey(_ url: URL?) async throws -> CKShare {
        let url = try #require(url)
        var components = try #require(URLComponents(url: url, resolvingAgainstBaseURL: false))
        components.fragment = nil
        return try await join(components.url)
    }
}

/// The code of the `CKError` that `body` throws; nil where it throws none.
func codeOf(_ body: () async throws -> Void) async -> CKError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? CKError)?.code
    }
}
