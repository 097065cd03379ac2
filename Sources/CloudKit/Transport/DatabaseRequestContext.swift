import Foundation
import NephosWire

/// The context of an operation's requests about a database. It also converts answers into CloudKit's objects.
struct DatabaseRequestContext: Sendable {
    /// The session of the account as which the operation started.
    let session: AccountSession
    let call: ServiceCall
    let errors: ErrorContext

    private var service: any CloudService { session.service }

    /// Fails if there is no account, before any request is sent.
    func requireAccount() throws(CKError) {
        guard call.scope == .public || service.hasAccount else { throw session.noAccount(errors) }
    }

    /// Returns the error for an answer that does not have one result for each item of the request.
    func mismatch(_ results: Int, _ items: Int) -> CKError {
        CKError(.internalError, "The service answered \(items) items with \(results) results.", errors)
    }

    // MARK: Records

    /// Sends records/modify. Returns one result for each operation of the request.
    func modifyRecords(_ request: ModifyRecordsRequest) async throws(CKError) -> [RecordResult] {
        let results = try await modifyRecordsSealed(request)
        guard results.count == request.operations.count else {
            throw mismatch(results.count, request.operations.count)
        }
        learnUser(fromSaved: results)
        // The server records of conflicts also name their users.
        if results.contains(where: \.hasServerRecord) { _ = await session.userRecordName(call) }
        return results
    }

    /// Learns the account's user record name from a saved record, because the account is the user who saved it last.
    private func learnUser(fromSaved results: [RecordResult]) {
        guard session.knownUserRecordName == nil else { return }
        for case .record(let record) in results {
            return session.learn(userRecordName: record.modified?.userRecordName)
        }
    }

    /// Sends records/lookup. Returns one result for each ID, each ID at most once.
    func fetch(
        _ recordIDs: [CKRecord.ID], desiredKeys: [CKRecord.FieldKey]?, _ progress: TransferProgress? = nil
    ) async throws(CKError) -> [Result<CKRecord, CKError>] {
        let records = try await lookUp(recordIDs, desiredKeys: desiredKeys)
        return await withAssets(try await withOpenFields(records), progress)
    }

    /// Looks records up. Returns them as received, without decrypting values or downloading files.
    func lookUp(
        _ recordIDs: [CKRecord.ID], desiredKeys: [CKRecord.FieldKey]?
    ) async throws(CKError) -> [Result<CKRecord, CKError>] {
        var results = try await lookUpOnce(recordIDs, desiredKeys: desiredKeys)
        // The service bounds the bytes of an answer, which has its first records at least.
        var wanted = results.indices.filter { isOfFullAnswer(results[$0]) }
        while !wanted.isEmpty {
            let next: [Result<CKRecord, CKError>]
            do throws(CKError) {
                next = try await lookUpOnce(wanted.map { recordIDs[$0] }, desiredKeys: desiredKeys)
            } catch {
                if error.code == .operationCancelled { throw error }
                for index in wanted { results[index] = .failure(error) }
                break
            }
            for (index, result) in zip(wanted, next) { results[index] = result }
            let left = wanted.filter { isOfFullAnswer(results[$0]) }
            if left.count == wanted.count { break }
            wanted = left
        }
        return results
    }

    private func isOfFullAnswer(_ result: Result<CKRecord, CKError>) -> Bool {
        guard case .failure(let error) = result, error.code == .limitExceeded else { return false }
        return LookupRecordsRequest.isOfFullAnswer(error.localizedDescription)
    }

    /// Sends records/lookup.
    private func lookUpOnce(
        _ recordIDs: [CKRecord.ID], desiredKeys: [CKRecord.FieldKey]?
    ) async throws(CKError) -> [Result<CKRecord, CKError>] {
        // Each ID names its zone, so that a missing zone fails only the records in that zone. An ID without a zone
        // stands for the default zone, which always exists.
        let request = LookupRecordsRequest(
            records: recordIDs.map { recordID in
                LookupRecordsRequest.Item(
                    recordName: recordID.recordName,
                    zoneID: recordID.zoneID == .default ? nil : recordID.zoneID.wireValue)
            },
            desiredKeys: desiredKeys)
        // The account's own name is requested concurrently with the first fetch, because records name their users.
        async let userRecordName = session.userRecordName(call)
        let results: [RecordResult]
        do throws(ServiceFailure) {
            results = try await service.send(.lookupRecords, request, call).records
        } catch {
            throw CKError(error, errors)
        }
        guard results.count == recordIDs.count else { throw mismatch(results.count, recordIDs.count) }
        let user = await userRecordName
        let users = session.users(user)
        return zip(recordIDs, results).map { recordID, result -> Result<CKRecord, CKError> in
            switch result {
            case .record(let wire):
                Result { () throws(CKError) in try record(wire, self.recordID(wire, askedBy: recordID), users) }
            case .deleted: .failure(CKError(.unknownItem, "Record not found", errors))
            case .failure(let error): .failure(CKError(error, errors))
            }
        }
    }

    /// Returns the ID of a requested record. The record of the current user gets its real name, whatever name the
    /// request used. The zone gets its standard spelling.
    private func recordID(_ wire: RecordDictionary, askedBy recordID: CKRecord.ID) -> CKRecord.ID {
        let zoneID = spelled(recordID.zoneID)
        if zoneID === recordID.zoneID, wire.recordName == recordID.recordName { return recordID }
        return CKRecord.ID(unchecked: wire.recordName, zoneID: zoneID)
    }

    // MARK: Zone IDs

    /// Returns a zone ID as the service's records and zones spell it. Outside of the shared database, every zone
    /// belongs to the current user, so its owner is `CKCurrentUserDefaultName`.
    func spelled(_ zoneID: CKRecordZone.ID) -> CKRecordZone.ID {
        if call.scope == .shared || zoneID.ownerName == CKCurrentUserDefaultName { return zoneID }
        return CKRecordZone.ID(unchecked: zoneID.zoneName, ownerName: CKCurrentUserDefaultName)
    }

    /// Returns the standard spelling of a zone that the service has named.
    func zoneID(_ wire: ZoneIDDictionary) -> CKRecordZone.ID {
        spelled(CKRecordZone.ID(wire: wire, currentUserRecordName: session.knownUserRecordName))
    }

    // MARK: Conversion of records

    /// Converts a record of the service that has the known ID `recordID`.
    func record(
        _ wire: RecordDictionary, _ recordID: CKRecord.ID, _ users: WireUsers
    ) throws(CKError) -> CKRecord {
        do throws(WireError) {
            let fields = try wire.fields.decoded()
            return CKRecord.record(wire: wire, recordID: recordID, fields: fields, users)
        } catch {
            throw unreadable(error)
        }
    }

    func unreadable(_ error: WireError) -> CKError {
        CKError(.internalError, "The service sent a record that cannot be read: \(error)", errors)
    }

    /// Sends users/current. Returns the ID of the account's user record.
    func currentUserRecordID() async throws(CKError) -> CKRecord.ID {
        CKRecord.ID(unchecked: try await session.currentUser(call, errors))
    }

    /// Sends users/webAuthToken. Returns a token for CloudKit Web Services, which goes with the API token.
    func webAuthToken(_ apiToken: String) async throws(CKError) -> String {
        do throws(ServiceFailure) {
            return try await service.send(.webAuthToken, WebAuthTokenRequest(apiToken: apiToken), call).webAuthToken
        } catch {
            throw CKError(error, errors)
        }
    }

    // MARK: Zones

    /// Sends zones/list. Returns all zones of the database.
    func listZones() async throws(CKError) -> [CKRecordZone] {
        let results = try await zones { () throws(ServiceFailure) in try await service.send(.listZones, call) }
        return results.compactMap { result -> CKRecordZone? in
            guard case .zone(let zone) = result, !zone.deleted else { return nil }
            if call.scope == .private {
                // All zones in a private database belong to the account, so each names it.
                session.learn(userRecordName: zone.zoneID.ownerRecordName)
            }
            return CKRecordZone(wire: zone, zoneID: zoneID(zone.zoneID))
        }
    }

    /// Sends zones/lookup. Returns one result for each ID.
    func lookupZones(_ zoneIDs: [CKRecordZone.ID]) async throws(CKError) -> [Result<CKRecordZone, CKError>] {
        let request = LookupZonesRequest(zones: zoneIDs.map(\.wireValue))
        let results = try await zones { () throws(ServiceFailure) in try await service.send(.lookupZones, request, call)
        }
        guard results.count == zoneIDs.count else { throw mismatch(results.count, zoneIDs.count) }
        return zip(zoneIDs, results).map { zoneID, result -> Result<CKRecordZone, CKError> in
            switch result {
            case .zone(let zone):
                if zone.deleted { return .failure(CKError(.zoneNotFound, "Zone does not exist", errors)) }
                return .success(CKRecordZone(wire: zone, zoneID: spelled(zoneID)))
            case .failure(let error):
                return .failure(CKError(error, errors))
            }
        }
    }

    /// Sends zones/modify. Returns the zone or the error of each operation.
    func modifyZones(_ operations: [ZoneOperation]) async throws(CKError) -> [Result<ZoneDictionary, CKError>] {
        let request = ModifyZonesRequest(operations: operations)
        let results = try await zones { () throws(ServiceFailure) in try await service.send(.modifyZones, request, call)
        }
        guard results.count == operations.count else { throw mismatch(results.count, operations.count) }
        return results.map { result in
            switch result {
            case .zone(let zone): .success(zone)
            case .failure(let error): .failure(CKError(error, errors))
            }
        }
    }

    private func zones(
        _ request: () async throws(ServiceFailure) -> ZonesResponse
    ) async throws(CKError) -> [ZoneResult] {
        do throws(ServiceFailure) {
            return try await request().zones
        } catch {
            throw CKError(error, errors)
        }
    }
}

extension RecordResult {
    fileprivate var hasServerRecord: Bool {
        if case .failure(let error) = self { !error.serverRecord.isEmpty } else { false }
    }
}
