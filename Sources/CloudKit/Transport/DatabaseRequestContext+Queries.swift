import Foundation
import NephosWire

extension DatabaseRequestContext {
    /// A record found by a query, or its error.
    struct Match: Sendable {
        var recordID: CKRecord.ID
        var result: Result<CKRecord, CKError>
    }

    /// Returns the request for the first page of a query. A nil zone stands for all zones, which the service refuses in the
    /// shared database.
    func request(_ query: CKQuery, in zoneID: CKRecordZone.ID?) throws(CKError) -> QueryRecordsRequest {
        do throws(PredicateRefusal) {
            return QueryRecordsRequest(
                query: try query.wireValue(), zoneID: zoneID?.wireValue,
                zoneWide: zoneID == nil && call.scope != .public)
        } catch {
            throw CKError(.invalidArguments, error.description, errors)
        }
    }

    /// Sends records/query, and returns the answer unchanged.
    func answer(_ request: QueryRecordsRequest) async throws(CKError) -> QueryRecordsResponse {
        do throws(ServiceFailure) {
            return try await session.service.send(.queryRecords, request, call)
        } catch {
            throw CKError(error, errors)
        }
    }

    /// Sends records/query. Returns one page, and the position of the next page; nil after the last.
    func query(
        _ page: QueryRecordsRequest
    ) async throws(CKError) -> (matches: [Match], continuationMarker: String?) {
        // The account's own name is requested concurrently with the first query, because records name their users.
        async let userRecordName = session.userRecordName(call)
        let answer = try await answer(page)
        let user = await userRecordName
        let zoneID = page.zoneID.map(zoneID(_:)) ?? .default
        let users = session.users(user)
        var matches = answer.records.compactMap { match($0, in: zoneID, users) }
        let found = matches.compactMap { try? $0.result.get() }
        let unopened = try await openEncryptedFields(of: found).mapValues(\.error)
        let failures = await downloadAssets(of: found.filter { unopened[$0.recordID] == nil })
            .merging(unopened) { $1 }
        for index in matches.indices {
            if let failure = failures[matches[index].recordID] { matches[index].result = .failure(failure) }
        }
        return (matches, answer.continuationMarker)
    }

    private func match(_ result: RecordResult, in zoneID: CKRecordZone.ID, _ users: WireUsers) -> Match? {
        func recordID(_ name: String, _ zone: ZoneIDDictionary?) -> CKRecord.ID {
            CKRecord.ID(unchecked: name, zoneID: zone.map(self.zoneID(_:)) ?? zoneID)
        }
        switch result {
        case .record(let wire):
            let recordID = recordID(wire.recordName, wire.zoneID)
            return Match(
                recordID: recordID, result: Result { () throws(CKError) in try record(wire, recordID, users) })
        case .failure(let error):
            return Match(
                recordID: recordID(error.recordName ?? "unknown", error.zoneID),
                result: .failure(CKError(error, errors)))
        case .deleted:
            return nil
        }
    }
}
