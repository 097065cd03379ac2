import Foundation
package import NephosWire

/// A batch of a zone's changes, as CloudKit's objects.
struct RecordZoneChangeBatch: Sendable {
    enum Change: Sendable {
        case changed(CKRecord.ID, Result<CKRecord, CKError>)
        case deleted(CKRecord.ID, CKRecord.RecordType)
    }

    var changes: [Change]
    var serverChangeToken: CKServerChangeToken
    var clientChangeTokenData: Data?
    var moreComing: Bool
    /// Where the fetch ends that this batch belongs to, for its next batch.
    var fetchEnd: String?
}

/// Where to continue in a zone.
struct RecordZonePosition: Sendable {
    var zoneID: CKRecordZone.ID
    var values: ZoneFetchValues
    /// The `fetchEnd` of the batch before; nil begins a fetch.
    var fetchEnd: String?
}

extension DatabaseRequestContext {
    /// Refuses what only private and shared databases can do, before anything is sent.
    func requireChangeFeed() throws(CKError) {
        if call.scope == .public {
            throw CKError(.badDatabase, "The public database has no change feed.", errors)
        }
        try requireAccount()
    }

    /// changes/zone: one result for each zone. What is wrong with a zone is that zone's result.
    func recordZoneChanges(
        _ positions: [RecordZonePosition]
    ) async throws(CKError) -> [Result<RecordZoneChangeBatch, CKError>] {
        let request = RecordZoneChangesRequest(
            zones: positions.map { position in
                RecordZoneChangesRequest.Zone(
                    zoneID: position.zoneID.wireValue,
                    syncToken: position.values.previousServerChangeToken?.syncToken,
                    resultsLimit: position.values.resultsLimit > 0 ? position.values.resultsLimit : nil,
                    desiredKeys: position.values.desiredKeys, fetchEnd: position.fetchEnd)
            })
        // The account's own name is asked for beside the first fetch: records name their users.
        async let userRecordName = session.userRecordName(call)
        let zones: [RecordZoneChangesResponse.Zone]
        do throws(ServiceFailure) {
            zones = try await session.service.recordZoneChanges(request, call).zones
        } catch {
            throw CKError(error, errors)
        }
        guard zones.count == positions.count else { throw mismatch(zones.count, positions.count) }
        let user = await userRecordName
        return zip(positions, zones).map { position, zone -> Result<RecordZoneChangeBatch, CKError> in
            switch zone {
            case .failure(let error): .failure(CKError(error, errors))
            case .changes(let changes): .success(batch(changes, in: position.zoneID, user))
            }
        }
    }

    private func batch(
        _ changes: RecordZoneChanges, in zoneID: CKRecordZone.ID, _ userRecordName: String?
    ) -> RecordZoneChangeBatch {
        RecordZoneChangeBatch(
            changes: changes.records.compactMap { change($0, in: zoneID, userRecordName) },
            serverChangeToken: CKServerChangeToken(syncToken: changes.syncToken),
            clientChangeTokenData: changes.clientChangeToken.flatMap { Data(base64Encoded: $0) },
            moreComing: changes.moreComing, fetchEnd: changes.fetchEnd)
    }

    private func change(
        _ result: RecordResult, in zoneID: CKRecordZone.ID, _ userRecordName: String?
    ) -> RecordZoneChangeBatch.Change? {
        switch result {
        case .record(let wire):
            let recordID = CKRecord.ID(unchecked: wire.recordName, zoneID: zoneID)
            return .changed(recordID, Result { () throws(CKError) in try record(wire, recordID, userRecordName) })
        case .deleted(let deleted):
            // Other servers leave the type out.
            return .deleted(CKRecord.ID(unchecked: deleted.recordName, zoneID: zoneID), deleted.recordType ?? "")
        case .failure(let error):
            return error.recordName.map {
                .changed(CKRecord.ID(unchecked: $0, zoneID: zoneID), .failure(CKError(error, errors)))
            }
        }
    }

    /// changes/database: the zones that changed or went away since a token. `fetchEnd` is that of the batch before; nil
    /// begins a fetch.
    func databaseChanges(
        since token: CKServerChangeToken?, resultsLimit: Int, fetchEnd: String?
    ) async throws(CKError) -> DatabaseChangeBatch {
        let request = DatabaseChangesRequest(
            syncToken: token?.syncToken, resultsLimit: resultsLimit > 0 ? resultsLimit : nil, fetchEnd: fetchEnd)
        let response: DatabaseChangesResponse
        do throws(ServiceFailure) {
            response = try await session.service.databaseChanges(request, call)
        } catch {
            throw CKError(error, errors)
        }
        return DatabaseChangeBatch(
            changes: response.zones.map { zone in
                var zoneID = zone.zoneID
                if call.scope == .private {
                    // All zones of a private database are the account's own.
                    session.learn(userRecordName: zoneID.ownerRecordName)
                    zoneID.ownerRecordName = nil
                }
                let known = CKRecordZone.ID(wire: zoneID, currentUserRecordName: session.knownUserRecordName)
                return zone.deleted ? .deleted(known, .init(zone.deletionReason)) : .changed(known)
            },
            serverChangeToken: CKServerChangeToken(syncToken: response.syncToken), moreComing: response.moreComing,
            fetchEnd: response.fetchEnd)
    }
}

/// A batch of a database's changes, as CloudKit's objects.
struct DatabaseChangeBatch: Sendable {
    enum Change: Sendable {
        case changed(CKRecordZone.ID)
        case deleted(CKRecordZone.ID, CKDatabase.DatabaseChange.Deletion.Reason)
    }

    var changes: [Change]
    var serverChangeToken: CKServerChangeToken
    var moreComing: Bool
    var fetchEnd: String?
}

extension CKDatabase.DatabaseChange.Deletion.Reason {
    package init(_ reason: ZoneDeletionReason) {
        self =
            switch reason {
            case .deleted: .deleted
            case .purged: .purged
            case .encryptedDataReset: .encryptedDataReset
            }
    }
}
