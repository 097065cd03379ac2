import NephosPostgresTesting
import NephosSQLite
import NephosStorage
import NephosTesting
import NephosWire
import Synchronization

@testable import NephosService

/// A service for queries: its bounds, its store and its clock are the test's.
final class QueryCloud: Sendable {
    let service: NephosService
    let context: RequestContext

    init(
        stores: any StoreProvider = TestCluster.stores(or: MemoryStores()), bounds: QueryBounds = QueryBounds(),
        environment: ContainerEnvironment = .development, secret: [UInt8] = [UInt8](repeating: 7, count: 32)
    ) {
        var configuration = ServiceConfiguration()
        configuration.queries = bounds
        let identifiers = Mutex(0)
        let now = Mutex(Int64(1_700_000_000_000))
        service = NephosService(
            stores: stores,
            environment: ServiceEnvironment(
                now: {
                    now.withLock { now in
                        now += 1
                        return now
                    }
                },
                makeUUID: {
                    let number = identifiers.withLock { number in
                        number += 1
                        return String(number)
                    }
                    return "00000000-0000-0000-0000-" + String(repeating: "0", count: 12 - number.count) + number
                }, log: { _ in }, makeSecret: { secret }),
            configuration: configuration)
        context = RequestContext(
            container: "iCloud.test", environment: environment, scope: .private, account: "me", requestID: "R")
    }

    func makeZones(_ names: String...) async throws {
        _ = try await service.modifyZones(
            ModifyZonesRequest(
                operations: names.map { ZoneOperation(operationType: .create, zoneID: .init(zoneName: $0)) }),
            context)
    }

    /// Adds indexes of several fields to a type as an import does: `INDEX (list, rank DESC)`.
    func declare(_ indexes: String..., of recordType: String) async throws {
        try await declare(indexes, of: recordType)
    }

    func declare(_ indexes: [String], of recordType: String) async throws {
        let text = try await service.exportSchema(context)
        let head = "RECORD TYPE \(recordType) ("
        let lines = text.split(separator: head, omittingEmptySubsequences: false)
        guard lines.count == 2 else { throw UnexpectedFailure(reason: "no type \(recordType)") }
        let pragmas = indexes.map { "\n        -- nephos: \($0)" }.joined()
        let report = try await service.importSchema("\(lines[0])\(head)\(pragmas)\(lines[1])", context)
        if !report.isAllowed { throw UnexpectedFailure(reason: report.findings.map(\.message).joined(separator: "\n")) }
    }

    func deleteZone(_ name: String) async throws {
        _ = try await service.modifyZones(
            ModifyZonesRequest(operations: [ZoneOperation(operationType: .delete, zoneID: .init(zoneName: name))]),
            context)
    }

    /// Saves and deletes; every operation has to succeed.
    @discardableResult
    func modify(_ operations: [RecordOperation], zone: String? = nil) async throws -> [RecordResult] {
        var results: [RecordResult] = []
        for start in stride(from: 0, to: operations.count, by: 400) {
            let request = ModifyRecordsRequest(
                operations: Array(operations[start..<min(start + 400, operations.count)]),
                zoneID: zone.map { ZoneIDDictionary(zoneName: $0) })
            results += try await service.modifyRecords(request, context).records
        }
        for case .failure(let error) in results { throw UnexpectedFailure(reason: error.reason) }
        return results
    }

    struct UnexpectedFailure: Error, Equatable { var reason: String }

    /// All pages of a query.
    func all(
        _ query: Query, zone: String? = nil, zoneWide: Bool = false, limit: () -> Int? = { nil }
    ) async throws -> [String] {
        var names: [String] = []
        var marker: String?
        repeat {
            let response = try await page(query, zone: zone, zoneWide: zoneWide, limit: limit(), marker: marker)
            names += response.summary
            marker = response.continuationMarker
        } while marker != nil
        return names
    }

    func page(
        _ query: Query, zone: String? = nil, zoneWide: Bool = false, limit: Int? = nil, marker: String? = nil,
        explain: Bool = false, count: Bool = false
    ) async throws(ServiceError) -> QueryRecordsResponse {
        try await service.queryRecords(
            QueryRecordsRequest(
                query: query, zoneID: zone.map { ZoneIDDictionary(zoneName: $0) }, zoneWide: zoneWide,
                resultsLimit: limit,
                continuationMarker: marker, wantsCount: count, wantsExplanation: explain), context)
    }

    /// The error that a query gets; nil where it gets none.
    func refusal(_ query: Query, zone: String? = nil) async -> ServiceError? {
        do throws(ServiceError) {
            _ = try await page(query, zone: zone)
            return nil
        } catch {
            return error
        }
    }
}

extension QueryRecordsResponse {
    /// The names of the records, with the zone's name if it is present.
    var summary: [String] {
        records.map { result in
            guard case .record(let record) = result else { return "error" }
            return record.zoneID.map { "\($0.zoneName)/\(record.recordName)" } ?? record.recordName
        }
    }
}

extension SeededGenerator {
    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }

    mutating func pick<C: Collection>(_ values: C) -> C.Element {
        values[values.index(values.startIndex, offsetBy: Int.random(in: 0..<values.count, using: &self))]
    }
}

/// A record as the reference evaluation sees it.
struct KnownRecord: QueryableRecord {
    var recordName: String
    var zoneID: ZoneIDDictionary
    var fields: RecordFields
    var system: [NephosWire.SystemField: FieldValue]

    init(_ record: RecordDictionary, zone: String, owner: String) {
        recordName = record.recordName
        zoneID = ZoneIDDictionary(zoneName: zone, ownerRecordName: owner)
        fields = (try? record.fields.decoded()) ?? RecordFields()
        system = [:]
        if let created = record.created {
            system[.createdTimestamp] = .timestamp(Timestamp(milliseconds: created.timestamp))
            system[.createdUserRecordName] = .reference(ReferenceValue(recordName: created.userRecordName))
        }
        if let modified = record.modified {
            system[.modifiedTimestamp] = .timestamp(Timestamp(milliseconds: modified.timestamp))
            system[.modifiedUserRecordName] = .reference(ReferenceValue(recordName: modified.userRecordName))
        }
        system[.parent] = record.parent.map(FieldValue.reference)
    }

    func value(ofField name: String) -> FieldValue? { fields[name]?.value }
    func value(of field: NephosWire.SystemField) -> FieldValue? { system[field] }

    /// What development makes searchable: strings, not lists of them.
    var searchableValues: [FieldValue] {
        fields.entries.compactMap { if case .string = $0.field.value { $0.field.value } else { nil } }
    }
}
