import NephosWire
import Testing

@testable import CloudKit

/// A feed has the same records packed and as dictionaries.
@Suite struct PackedFeedTests {
    private static let zoneID = CKRecordZone.ID(zoneName: "Z")

    private static func values() -> [CKRecord.FieldKey: any CKRecordValueProtocol] {
        let target = CKRecord.ID(recordName: "target", zoneID: zoneID)
        return [
            "text": "plain", "escaped": "a \"quoted\" \\ line\n", "unicode": "é 日 😀",
            "long": String(repeating: "x", count: 999),
            "whole": -7, "double": 2.5, "tiny": Double.leastNonzeroMagnitude,
            "date": Date(timeIntervalSince1970: 1_767_323_045),
            "exact": Date(timeIntervalSinceReferenceDate: 0.123_456_789_012), "data": Data([0, 1, 255]),
            "place": CLLocation(latitude: 52.5, longitude: 13.4), "texts": ["a", "b\"c", ""], "plainTexts": ["a", "b"],
            "numbers": [1, 2], "dates": [Date(timeIntervalSinceReferenceDate: 0.1)],
            "reference": CKRecord.Reference(recordID: target, action: .deleteSelf),
            "other": CKRecord.Reference(recordID: target, action: .none),
        ]
    }

    /// Records of two types with every kind of field, each alone and all together; some are encrypted, some gone.
    private func fill(_ database: CKDatabase) async throws {
        try await database.makeZones("Z")
        let values = Self.values()
        func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: Self.zoneID) }
        try await database.saveAll([CKRecord(recordType: "Target", recordID: id("target"))])
        var records: [CKRecord] = []
        for (number, key) in values.keys.sorted().enumerated() {
            let record = CKRecord(recordType: number % 2 == 0 ? "One" : "Two", recordID: id("\(key) record"))
            record[key] = values[key]
            if number % 3 == 0 { record.setParent(id("target")) }
            records.append(record)
        }
        let whole = CKRecord(recordType: "One", recordID: id("whole"))
        for (key, value) in values { whole[key] = value }
        whole.encryptedValues["secret"] = "hidden"
        records += [
            whole, CKRecord(recordType: "Two", recordID: id("empty")),
            CKRecord(recordType: "Two", recordID: id("gone")),
        ]
        try await database.saveAll(records)
        _ = try await database.modifyRecords(saving: [], deleting: [id("gone")])
        let again = try await database.record(for: id("empty"))
        again["later"] = "changed"
        try await database.saveAll([again])
    }

    @Test(arguments: Transport.allCases)
    func `packed records equal those of dictionaries`(_ transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.container().privateCloudDatabase
            try await fill(database)
            let operation = CKFetchRecordZoneChangesOperation()
            operation.database = database
            let context = operation.makeRequestContext()
            func answer(packed: Bool) async throws -> RecordZoneChanges {
                let zone = RecordZoneChangesRequest.Zone(zoneID: Self.zoneID.wireValue, packed: packed)
                let response = try await context.session.service.send(
                    .recordZoneChanges, RecordZoneChangesRequest(zones: [zone]), context.call)
                guard case .changes(let changes) = try #require(response.zones.first) else {
                    throw CKError(.internalError)
                }
                return changes
            }
            let (packed, plain) = (try await answer(packed: true), try await answer(packed: false))
            #expect(packed.records.isEmpty && packed.packedRecords != nil && plain.packedRecords == nil)
            let user = try await context.currentUserRecordID().recordName
            let users = WireUsers(currentUserRecordName: user)
            var decoder = PackedRecordDecoder(
                try #require(packed.packedRecords), zoneID: Self.zoneID, currentUserRecordName: user)
            for result in plain.records {
                switch (result, try decoder.next()) {
                case (.deleted(let deleted), .deleted(let recordID, let type)):
                    #expect(recordID == CKRecord.ID(recordName: deleted.recordName, zoneID: Self.zoneID))
                    #expect(type == deleted.recordType)
                case (.record(let wire), .changed(let record)):
                    let expected = try context.record(
                        wire, CKRecord.ID(recordName: wire.recordName, zoneID: Self.zoneID), users)
                    #expect(record == expected && record.changedKeys().isEmpty, "\(wire.recordName)")
                    #expect(record.allKeys() == expected.allKeys(), "\(wire.recordName)")
                    #expect(
                        record.snapshot().fieldsToSend(.all) == expected.snapshot().fieldsToSend(.all),
                        "\(wire.recordName)")
                    #expect(record.parent == expected.parent && record.share == expected.share)
                    #expect(
                        record.creationDate == expected.creationDate
                            && record.modificationDate == expected.modificationDate)
                    #expect(record.creatorUserRecordID == expected.creatorUserRecordID)
                    #expect(record.lastModifiedUserRecordID == expected.lastModifiedUserRecordID)
                    #expect(record.creatorUserRecordID?.recordName == CKCurrentUserDefaultName)
                default: Issue.record("another change for \(result)")
                }
            }
            #expect(try decoder.next() == nil)
        }
    }

    @Test func `a record with unreadable fields fails alone`() throws {
        var writer = PackedRecordsWriter(reserving: 64)
        let name = JSONBytes("r")
        for fields in ["{\"a\":{\"value\":1,\"type\":\"INT64\"}}", "{\"a\":{\"value\":1,", "{}"] {
            let fields = JSONBytes(fields)
            writer.record(
                RecordDictionaryView(
                    recordName: name.buffer, recordType: name.buffer, recordChangeTag: name.buffer,
                    fields: fields.buffer, created: (0, name.buffer),
                    modified: (1, name.buffer)))
        }
        var decoder = PackedRecordDecoder(writer.finish(), zoneID: Self.zoneID, currentUserRecordName: nil)
        var outcomes: [String] = []
        while let change = try decoder.next() {
            switch change {
            case .changed(let record): outcomes.append(record.allKeys().joined())
            case .unreadable: outcomes.append("unreadable")
            case .deleted: outcomes.append("deleted")
            }
        }
        #expect(outcomes == ["a", "unreadable", ""])
    }

    @Test(arguments: Transport.allCases)
    func `a fetch starts with 200 records and continues with more`(_ transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let database = cloud.container().privateCloudDatabase
            try await database.makeZones("Z")
            let records = (0..<700).map {
                CKRecord(recordType: "T", recordID: .init(recordName: "r\($0)", zoneID: Self.zoneID))
            }
            try await database.saveAll(Array(records[..<350]))
            try await database.saveAll(Array(records[350...]))
            let first = try await database.recordZoneChanges(inZoneWith: Self.zoneID, since: nil)
            #expect(first.modificationResultsByID.count == 200 && first.moreComing)
            let counts = Locked([0])
            let operation = CKFetchRecordZoneChangesOperation(
                recordZoneIDs: [Self.zoneID], configurationsByRecordZoneID: [Self.zoneID: .init()])
            operation.recordWasChangedBlock = { _, _ in counts.withLock { $0[$0.count - 1] += 1 } }
            operation.recordZoneChangeTokensUpdatedBlock = { _, _, _ in counts.withLock { $0.append(0) } }
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                operation.fetchRecordZoneChangesResultBlock = { continuation.resume(with: $0) }
                database.add(operation)
            }
            #expect(counts.withLock { $0 } == [200, 500])
        }
    }

    /// A service that was made before records were packed: it does not know what asks for them.
    private final class OlderService: PartialService {
        private let target: any CloudService
        init(_ target: any CloudService) { self.target = target }

        func send<Request, Response>(
            _ endpoint: Endpoint<Request, Response>, _ request: Request, _ call: ServiceCall
        ) async throws(ServiceFailure) -> Response {
            guard var changes = request as? RecordZoneChangesRequest else {
                return try await target.send(endpoint, request, call)
            }
            for index in changes.zones.indices { changes.zones[index].packed = false }
            return try await target.send(endpoint, changes as? Request ?? request, call)
        }
        var mayEscrowKeys: Bool { target.mayEscrowKeys }
        var environmentName: CloudKitEnvironment.Name { target.environmentName }
        var keyStore: any DeviceKeyStore { target.keyStore }
        var shareURLRoot: String { target.shareURLRoot }
    }

    /// One line for each change that an operation tells of, in order.
    private func feed(_ container: CKContainer) async -> [String] {
        let log = CallLog()
        let operation = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: [Self.zoneID], configurationsByRecordZoneID: [Self.zoneID: .init()])
        operation.recordWasChangedBlock = { recordID, result in
            let record = try? result.get()
            log.note("\(recordID.recordName) \(record?.recordType ?? "?") \(record?.allKeys() ?? [])")
        }
        operation.recordWithIDWasDeletedBlock = { log.note("\($0.recordName) \($1) deleted") }
        operation.recordZoneFetchResultBlock = { _, result in
            if case .failure(let error) = result { log.note("\(error)") }
        }
        operation.fetchRecordZoneChangesResultBlock = { log.note("\($0)") }
        await operation.finish(in: container.privateCloudDatabase)
        return log.lines
    }

    @Test(arguments: Transport.allCases)
    func `a service that does not pack records is supported`(_ transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let container = cloud.container()
            try await fill(container.privateCloudDatabase)
            let older = CKContainer(
                identifier: container.containerIdentifier ?? "", service: OlderService(container.session.service),
                environment: SyncEngineEnvironment(sleep: { _ in }))
            let lines = await feed(older)
            #expect(lines.count > 20, "\(lines)")
            #expect(await feed(container) == lines)
        }
    }
}
