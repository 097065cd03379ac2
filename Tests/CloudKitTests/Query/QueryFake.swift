import NephosWire

@testable import CloudKit

/// A service that knows only records/query: it answers from records in memory, and keeps what it was asked.
final class QueryFake: PartialService {
    struct Stored: Sendable {
        var values: RecordValues
        var type: String
    }

    private let records: [Stored]
    private let failing: String?
    private let asked = Locked<[QueryRecordsRequest]>([])
    let hasAccount = true

    /// `failing`: the name of a record that cannot be had.
    init(_ records: [Stored], failing: String? = nil) {
        self.records = records
        self.failing = failing
    }

    var requests: [QueryRecordsRequest] { asked.withLock { $0 } }

    /// A container whose databases ask this service.
    var container: CKContainer { CKContainer(ContainerSession("iCloud.fake", self)) }

    func answer(_ request: any Sendable, _: String, _: ServiceCall) async throws(ServiceFailure) -> (any Sendable)? {
        guard let request = request as? QueryRecordsRequest else { return nil }
        asked.withLock { $0.append(request) }
        if request.query.recordType == "Unknown" {
            throw .refused(
                ErrorDictionary(uuid: "u", serverErrorCode: .badRequest, reason: "Did not find record type: Unknown"))
        }
        let matcher = QueryMatcher(request.query.condition)
        let order = SortOrder(request.query.sortBy)
        let zone = request.zoneID ?? .defaultZone
        let found = records.filter { stored in
            stored.type == request.query.recordType
                && (request.zoneWide || stored.values.zoneID.zoneName == zone.zoneName)
                && matcher.matches(stored.values)
        }.map(\.values).sorted { order.precedes($0, $1) }
        let start = request.continuationMarker.flatMap(Int.init) ?? 0
        let end = min(found.count, start + (request.resultsLimit ?? 100))
        return QueryRecordsResponse(
            records: found[start..<end].map { result($0, request) },
            continuationMarker: end < found.count ? "\(end)" : nil)
    }

    private func result(_ record: RecordValues, _ request: QueryRecordsRequest) -> RecordResult {
        if record.recordName == failing {
            return .failure(
                ErrorDictionary(
                    uuid: "u", serverErrorCode: .notFound, reason: "gone", recordName: record.recordName,
                    zoneID: record.zoneID))
        }
        var fields = record.fields.encoded()
        if let keys = request.desiredKeys { fields = fields.selecting(keys) }
        return .record(
            RecordDictionary(
                recordName: record.recordName, recordType: request.query.recordType, recordChangeTag: "1",
                zoneID: request.zoneWide ? record.zoneID : nil, fields: fields))
    }

    private var notHere: ServiceFailure { .transport(.internalError, "only queries") }

    func modifyRecords(_: ModifyRecordsRequest, _: ServiceCall) async throws(ServiceFailure) -> RecordsResponse {
        throw notHere
    }
    func lookupRecords(_: LookupRecordsRequest, _: ServiceCall) async throws(ServiceFailure) -> RecordsResponse {
        throw notHere
    }
    func listZones(_: ServiceCall) async throws(ServiceFailure) -> ZonesResponse { throw notHere }
    func lookupZones(_: LookupZonesRequest, _: ServiceCall) async throws(ServiceFailure) -> ZonesResponse {
        throw notHere
    }
    func modifyZones(_: ModifyZonesRequest, _: ServiceCall) async throws(ServiceFailure) -> ZonesResponse {
        throw notHere
    }
    func currentUser(_: ServiceCall) async throws(ServiceFailure) -> UserDictionary {
        UserDictionary(userRecordName: "_me")
    }
}
