import Foundation
package import NephosWire

/// A batch of a zone's changes, as CloudKit's objects.
struct RecordZoneChangeBatch: Sendable {
    enum Change: Sendable {
        case changed(CKRecord)
        case failed(CKRecord.ID, CKError)
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
    /// The zone's token before this client first sent something to it; for a fetch from the beginning.
    var deletionsSince: String?
}

/// What the service answered about a zone, not yet made into CloudKit's objects.
struct RecordZoneAnswer: Sendable {
    fileprivate let position: RecordZonePosition
    fileprivate let zone: RecordZoneChangesResponse.Zone
    fileprivate let userRecordName: String?

    var zoneID: CKRecordZone.ID { position.zoneID }

    /// Where the zone's next batch begins; nil if there is none.
    var next: RecordZonePosition? {
        guard case .changes(let changes) = zone, changes.moreComing else { return nil }
        var next = position
        next.values.previousServerChangeToken = CKServerChangeToken(syncToken: changes.syncToken)
        next.fetchEnd = changes.fetchEnd
        return next
    }

    /// Whether the next batch would be this one again.
    var standsStill: Bool {
        next.map { $0.values.previousServerChangeToken == position.values.previousServerChangeToken } ?? false
    }
}

extension DatabaseRequestContext {
    /// Refuses what only private and shared databases can do, before anything is sent.
    func requireChangeFeed() throws(CKError) {
        if call.scope == .public {
            throw CKError(.badDatabase, "The public database has no change feed.", errors)
        }
        try requireAccount()
    }

    /// changes/zone: one answer for each zone. What is wrong with a zone is that zone's answer.
    func recordZoneAnswers(_ positions: [RecordZonePosition]) async throws(CKError) -> [RecordZoneAnswer] {
        let request = RecordZoneChangesRequest(
            zones: positions.map { position in
                RecordZoneChangesRequest.Zone(
                    zoneID: position.zoneID.wireValue,
                    syncToken: position.values.previousServerChangeToken?.syncToken,
                    resultsLimit: position.values.resultsLimit > 0 ? position.values.resultsLimit : nil,
                    desiredKeys: position.values.desiredKeys, fetchEnd: position.fetchEnd, packed: true,
                    deletionsSince: position.deletionsSince)
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
        return zip(positions, zones).map { RecordZoneAnswer(position: $0, zone: $1, userRecordName: user) }
    }

    /// The same for one zone, with its error as a value.
    func recordZoneAnswer(_ position: RecordZonePosition) async -> Result<RecordZoneAnswer, CKError> {
        do throws(CKError) {
            return .success(try await recordZoneAnswers([position])[0])
        } catch {
            return .failure(error)
        }
    }

    /// Makes CloudKit's objects of an answer, and downloads their files.
    func batchWithAssets(_ answer: RecordZoneAnswer) async throws(CKError) -> RecordZoneChangeBatch {
        var batch = try batch(answer)
        let records = batch.changes.compactMap { if case .changed(let record) = $0 { record } else { nil } }
        let unopened = try await openEncryptedFields(of: records)
        // A key that has not arrived yet: the token stays before the record.
        let waiting = unopened.values.first { $0.code == .zoneBusy || $0.code == .accountTemporarilyUnavailable }
        if let waiting { throw waiting }
        let failures = await downloadAssets(
            of: unopened.isEmpty ? records : records.filter { unopened[$0.recordID] == nil }
        ).merging(unopened) { $1 }
        if failures.isEmpty { return batch }
        batch.changes = batch.changes.map { change in
            guard case .changed(let record) = change, let failure = failures[record.recordID] else { return change }
            return .failed(record.recordID, failure)
        }
        return batch
    }

    /// Makes CloudKit's objects of an answer.
    private func batch(_ answer: RecordZoneAnswer) throws(CKError) -> RecordZoneChangeBatch {
        switch answer.zone {
        case .failure(let error): throw CKError(error, errors)
        case .changes(let changes):
            return RecordZoneChangeBatch(
                changes: try records(changes, in: spelled(answer.zoneID), currentUserRecordName: answer.userRecordName),
                serverChangeToken: CKServerChangeToken(syncToken: changes.syncToken),
                clientChangeTokenData: changes.clientChangeToken.flatMap { Data(base64Encoded: $0) },
                moreComing: changes.moreComing, fetchEnd: changes.fetchEnd)
        }
    }

    private func records(
        _ changes: RecordZoneChanges, in zoneID: CKRecordZone.ID, currentUserRecordName user: String?
    ) throws(CKError) -> [RecordZoneChangeBatch.Change] {
        // Of packed records only the shares are among the others. Other servers send what Apple's does.
        let packed = try changes.packedRecords.map { (packed) throws(CKError) in try records(packed, in: zoneID, user) }
        let users = session.users(user)
        return (packed ?? []) + changes.records.compactMap { change($0, in: zoneID, users) }
    }

    private func records(
        _ packed: PackedRecords, in zoneID: CKRecordZone.ID, _ user: String?
    ) throws(CKError) -> [RecordZoneChangeBatch.Change] {
        var decoder = PackedRecordDecoder(packed, zoneID: zoneID, currentUserRecordName: user)
        var result: [RecordZoneChangeBatch.Change] = []
        // What the decoder reads is where the packed records are.
        defer { withExtendedLifetime(packed) {} }
        do throws(WireError) {
            while let change = try decoder.next() {
                switch change {
                case .changed(let record): result.append(.changed(record))
                case .unreadable(let recordID, let error): result.append(.failed(recordID, unreadable(error)))
                case .deleted(let recordID, let type): result.append(.deleted(recordID, type))
                }
            }
        } catch {
            throw CKError(.internalError, "The service sent changes that cannot be read: \(error)", errors)
        }
        return result
    }

    private func change(
        _ result: RecordResult, in zoneID: CKRecordZone.ID, _ users: WireUsers
    ) -> RecordZoneChangeBatch.Change? {
        switch result {
        case .record(let wire):
            let recordID = CKRecord.ID(unchecked: wire.recordName, zoneID: zoneID)
            do throws(CKError) {
                return .changed(try record(wire, recordID, users))
            } catch {
                return .failed(recordID, error)
            }
        case .deleted(let deleted):
            // Other servers leave the type out.
            return .deleted(CKRecord.ID(unchecked: deleted.recordName, zoneID: zoneID), deleted.recordType ?? "")
        case .failure(let error):
            return error.recordName.map {
                .failed(CKRecord.ID(unchecked: $0, zoneID: zoneID), CKError(error, errors))
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
                // All zones of a private database are the account's own.
                if call.scope == .private { session.learn(userRecordName: zone.zoneID.ownerRecordName) }
                let known = zoneID(zone.zoneID)
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
