import Foundation
package import NephosWire

/// A batch of a zone's changes, converted into CloudKit's objects.
struct RecordZoneChangeBatch: Sendable {
    enum Change: Sendable {
        case changed(CKRecord)
        case failed(CKRecord.ID, CKError)
        /// The key of the record is missing. A later fetch returns the record.
        case waiting(CKRecord.ID, CKError)
        case deleted(CKRecord.ID, CKRecord.RecordType)

        var recordID: CKRecord.ID {
            switch self {
            case .changed(let record): record.recordID
            case .failed(let recordID, _), .waiting(let recordID, _), .deleted(let recordID, _): recordID
            }
        }
    }

    var changes: [Change]
    var serverChangeToken: CKServerChangeToken
    var clientChangeTokenData: Data?
    var moreComing: Bool
    /// The end of the fetch to which this batch belongs, which the request for the next batch needs; nil if there is
    /// none.
    var fetchEnd: String?
}

/// A position in the change feed of a zone.
struct RecordZonePosition: Sendable {
    var zoneID: CKRecordZone.ID
    var values: ZoneFetchValues
    /// The `fetchEnd` of the previous batch; nil to start a fetch.
    var fetchEnd: String?
    /// The token of the zone from before this client's first send to it. Only a fetch from the beginning uses it; nil
    /// for none.
    var deletionsSince: String?

    /// The service's part of the start token; nil without a token.
    var syncToken: String? { values.previousServerChangeToken?.servicesToken }
}

/// The answer of the service about a zone, before its conversion into CloudKit's objects.
struct RecordZoneAnswer: Sendable {
    fileprivate let position: RecordZonePosition
    fileprivate let zone: RecordZoneChangesResponse.Zone
    fileprivate let userRecordName: String?

    var zoneID: CKRecordZone.ID { position.zoneID }

    /// The records whose keys were missing before this answer.
    var waiting: WaitingFetch {
        WaitingFetch(position.values.previousServerChangeToken?.waitingRecords ?? WaitingRecords())
    }

    /// The position of the zone's next batch; nil if there is no further batch.
    var next: RecordZonePosition? {
        guard case .changes(let changes) = zone, changes.moreComing else { return nil }
        var next = position
        next.values.previousServerChangeToken = CKServerChangeToken(syncToken: changes.syncToken)
        next.fetchEnd = changes.fetchEnd
        return next
    }

    /// Whether the request for the next batch would return this batch again.
    var standsStill: Bool {
        next.map { $0.syncToken == position.syncToken } ?? false
    }

    /// Returns the next position of a fetch that has reached the end of the feed.
    func position(after token: CKServerChangeToken) -> RecordZonePosition {
        var next = position
        next.values.previousServerChangeToken = token
        (next.fetchEnd, next.deletionsSince) = (nil, nil)
        return next
    }
}

extension DatabaseRequestContext {
    /// Fails unless the database is private or shared, before any request is sent.
    func requireChangeFeed() throws(CKError) {
        if call.scope == .public {
            throw CKError(.badDatabase, "The public database has no change feed.", errors)
        }
        try requireAccount()
    }

    /// Sends changes/zone. Returns one result for each zone. The error of a zone fails only the result of that zone.
    func recordZoneAnswers(_ positions: [RecordZonePosition]) async throws(CKError) -> [RecordZoneAnswer] {
        let request = RecordZoneChangesRequest(
            zones: positions.map { position in
                RecordZoneChangesRequest.Zone(
                    zoneID: position.zoneID.wireValue,
                    syncToken: position.syncToken,
                    resultsLimit: position.values.resultsLimit > 0 ? position.values.resultsLimit : nil,
                    desiredKeys: position.values.desiredKeys, fetchEnd: position.fetchEnd, packed: true,
                    deletionsSince: position.deletionsSince)
            })
        // The account's own name is requested concurrently with the first fetch, because records name their users.
        async let userRecordName = session.userRecordName(call)
        let zones: [RecordZoneChangesResponse.Zone]
        do throws(ServiceFailure) {
            zones = try await session.service.send(.recordZoneChanges, request, call).zones
        } catch {
            throw CKError(error, errors)
        }
        guard zones.count == positions.count else { throw mismatch(zones.count, positions.count) }
        let user = await userRecordName
        return zip(positions, zones).map { RecordZoneAnswer(position: $0, zone: $1, userRecordName: user) }
    }

    /// Fetches one zone. Its error is returned as a value.
    func recordZoneAnswer(_ position: RecordZonePosition) async -> Result<RecordZoneAnswer, CKError> {
        do throws(CKError) {
            return .success(try await recordZoneAnswers([position])[0])
        } catch {
            return .failure(error)
        }
    }

    /// Converts an answer into CloudKit's objects. At the end of the feed, records whose keys have arrived meanwhile
    /// are appended.
    func batchWithContent(
        _ answer: RecordZoneAnswer, _ waiting: inout WaitingFetch
    ) async throws(CKError) -> RecordZoneChangeBatch {
        var batch = try batch(answer)
        let end = batch.serverChangeToken.syncToken
        batch.changes = try await withContent(batch.changes)
        waiting.note(batch.changes, from: answer.position.syncToken, to: end)
        if !batch.moreComing {
            batch.changes += try await lookUp(&waiting, answer.position)
            batch.changes += try await readRange(&waiting, answer.position)
            batch.moreComing = waiting.goesOn
        }
        batch.serverChangeToken = CKServerChangeToken(syncToken: end, waiting: waiting.records)
        return batch
    }

    /// Decrypts encrypted values, and downloads files.
    private func withContent(
        _ changes: [RecordZoneChangeBatch.Change]
    ) async throws(CKError) -> [RecordZoneChangeBatch.Change] {
        let records = changes.compactMap { if case .changed(let record) = $0 { record } else { nil } }
        let unopened = try await openEncryptedFields(of: records)
        let failures = await downloadAssets(
            of: unopened.isEmpty ? records : records.filter { unopened[$0.recordID] == nil })
        if failures.isEmpty, unopened.isEmpty { return changes }
        return changes.map { change in
            guard case .changed(let record) = change else { return change }
            let recordID = record.recordID
            if let unopened = unopened[recordID] {
                return unopened.mayOpenLater ? .waiting(recordID, unopened.error) : .failed(recordID, unopened.error)
            }
            return failures[recordID].map { .failed(recordID, $0) } ?? change
        }
    }

    /// Looks up the records whose keys were missing and whose names the token contains.
    private func lookUp(
        _ waiting: inout WaitingFetch, _ position: RecordZonePosition
    ) async throws(CKError) -> [RecordZoneChangeBatch.Change] {
        let zoneID = spelled(position.zoneID)
        let recordIDs = waiting.namesToLookUp.map { CKRecord.ID(unchecked: $0, zoneID: zoneID) }
        if recordIDs.isEmpty { return [] }
        let results = try await lookUp(recordIDs, desiredKeys: position.values.desiredKeys)
        let found = zip(recordIDs, results).map { recordID, result -> RecordZoneChangeBatch.Change in
            switch result {
            case .success(let record): .changed(record)
            // The answer was full, so the lookup of this record has to be repeated.
            case .failure(let error) where error.code == .limitExceeded: .waiting(recordID, error)
            case .failure(let error): .failed(recordID, error)
            }
        }
        let changes = try await withContent(found)
        waiting.records.note(changes)
        // The change feed reports the deletion of the record.
        return changes.filter { if case .failed(_, let error) = $0 { error.code != .unknownItem } else { true } }
    }

    /// Reads a page of the feed range that contains records whose keys were missing.
    private func readRange(
        _ waiting: inout WaitingFetch, _ position: RecordZonePosition
    ) async throws(CKError) -> [RecordZoneChangeBatch.Change] {
        guard let range = waiting.rangeToRead else { return [] }
        let page: RecordZoneChangeBatch
        do throws(CKError) {
            page = try await self.page(of: range, position)
        } catch {
            // The service has purged tombstones since the start of the range. The feed reports those deletions.
            guard error.code == .changeTokenExpired, range.start != nil else { throw error }
            waiting.records.forgetStart()
            return try await readRange(&waiting, position)
        }
        let changes = try await withContent(
            page.changes.filter { change in
                guard case .changed(let record) = change else { return false }
                // The first read of the range has delivered the records that need no keys.
                return record.hasSealedContent || position.values.desiredKeys != nil
            })
        waiting.records.note(page: changes, to: page.serverChangeToken.syncToken, isLast: !page.moreComing)
        return changes
    }

    private func page(
        of range: WaitingRecords.Range, _ position: RecordZonePosition
    ) async throws(CKError) -> RecordZoneChangeBatch {
        var page = position
        page.values.previousServerChangeToken = (range.next ?? range.start).map { CKServerChangeToken(syncToken: $0) }
        let limit = position.values.resultsLimit
        page.values.resultsLimit = limit > 0 ? min(limit, WaitingRecords.limit) : WaitingRecords.limit
        (page.fetchEnd, page.deletionsSince) = (range.end, nil)
        return try batch(try await recordZoneAnswers([page])[0])
    }

    /// Converts an answer of the service into CloudKit's objects.
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
        // In a packed answer, only shares are unpacked. Answers of other servers are like Apple's, without packed
        // records.
        let packed = try changes.packedRecords.map { (packed) throws(CKError) in try records(packed, in: zoneID, user) }
        let users = session.users(user)
        return (packed ?? []) + changes.records.compactMap { change($0, in: zoneID, users) }
    }

    private func records(
        _ packed: PackedRecords, in zoneID: CKRecordZone.ID, _ user: String?
    ) throws(CKError) -> [RecordZoneChangeBatch.Change] {
        var decoder = PackedRecordDecoder(packed, zoneID: zoneID, currentUserRecordName: user)
        var result: [RecordZoneChangeBatch.Change] = []
        // The decoder reads from the memory of the packed records.
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
            // Other servers omit the type of a deleted record.
            return .deleted(CKRecord.ID(unchecked: deleted.recordName, zoneID: zoneID), deleted.recordType ?? "")
        case .failure(let error):
            return error.recordName.map {
                .failed(CKRecord.ID(unchecked: $0, zoneID: zoneID), CKError(error, errors))
            }
        }
    }

    /// Sends changes/database. Returns the zones that changed or were deleted since a token. `fetchEnd` is that of the
    /// previous batch; nil starts a fetch.
    func databaseChanges(
        since token: CKServerChangeToken?, resultsLimit: Int, fetchEnd: String?
    ) async throws(CKError) -> DatabaseChangeBatch {
        let request = DatabaseChangesRequest(
            syncToken: token?.syncToken, resultsLimit: resultsLimit > 0 ? resultsLimit : nil, fetchEnd: fetchEnd)
        let response: DatabaseChangesResponse
        do throws(ServiceFailure) {
            response = try await session.service.send(.databaseChanges, request, call)
        } catch {
            throw CKError(error, errors)
        }
        return DatabaseChangeBatch(
            changes: response.zones.map { zone in
                // All zones in a private database belong to the account, so each names it.
                if call.scope == .private { session.learn(userRecordName: zone.zoneID.ownerRecordName) }
                let known = zoneID(zone.zoneID)
                return zone.deleted ? .deleted(known, .init(zone.deletionReason)) : .changed(known)
            },
            serverChangeToken: CKServerChangeToken(syncToken: response.syncToken), moreComing: response.moreComing,
            fetchEnd: response.fetchEnd)
    }
}

/// A batch of a database's changes, converted into CloudKit's objects.
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
