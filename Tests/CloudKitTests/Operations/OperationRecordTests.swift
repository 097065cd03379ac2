import CloudKit
import NephosWire
import Testing

/// The requests of the record operations, and their results.
@Suite struct OperationRecordTests {
    private static let gallery = CKRecordZone.ID(zoneName: "Gallery")

    private func artwork(_ name: String, in zoneID: CKRecordZone.ID = .default) -> CKRecord {
        let record = CKRecord(recordType: "Artwork", recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
        record["title"] = "Noon"
        return record
    }

    /// A record that the service has with the tag `t0`, and of which `title` changed since.
    private func changedArtwork(_ name: String) -> CKRecord {
        let fields = RecordFields([
            RecordFields.Entry(name: "title", field: Field(.string("Noon"))),
            RecordFields.Entry(name: "year", field: Field(.int64(1932))),
        ])
        let record = CKRecord.record(wire: .saved(name, tag: "t0"), fields: fields)
        record["title"] = "Dawn"
        return record
    }

    @Test(
        arguments: [
            (CKModifyRecordsOperation.RecordSavePolicy.ifServerRecordUnchanged, .update, "t0", ["title"]),
            (.changedKeys, .forceUpdate, nil, ["title"]),
            (.allKeys, .forceUpdate, nil, ["title", "year"]),
        ] as [(CKModifyRecordsOperation.RecordSavePolicy, RecordOperation.OperationType, String?, [String])])
    func `each save policy sends its keys and its tag`(
        policy: CKModifyRecordsOperation.RecordSavePolicy, type: RecordOperation.OperationType, tag: String?,
        keys: [String]
    ) async throws {
        let service = ScriptedService()
        _ = try await service.database.modifyRecords(saving: [changedArtwork("A")], deleting: [], savePolicy: policy)
        let sent = try #require(service.modifications.first?.operations.first)
        #expect(sent.operationType == type)
        #expect(sent.record.recordName == "A")
        #expect(sent.record.recordType == "Artwork")
        #expect(sent.record.recordChangeTag == tag)
        #expect(sent.record.fields.entries.map(\.name) == keys)
        #expect(sent.record.parent == .keep)
    }

    @Test func `a new record is created under the default policy`() async throws {
        let service = ScriptedService()
        try await service.database.save(artwork("A"))
        let sent = try #require(service.modifications.first?.operations.first)
        #expect(sent.operationType == .create)
        #expect(sent.record.recordChangeTag == nil)
        #expect(sent.record.fields.entries.map(\.name) == ["title"])
    }

    @Test func `a share is saved under the default policy whatever the operation's policy`() async throws {
        let service = ScriptedService()
        let root = artwork("A", in: Self.gallery)
        let share = CKShare(rootRecord: root)
        _ = try await service.database.modifyRecords(saving: [share, root], deleting: [], savePolicy: .allKeys)
        #expect(service.modifications.first?.operations.map(\.operationType) == [.create, .forceUpdate])
    }

    @Test func `a deletion does not compare versions`() async throws {
        let service = ScriptedService()
        try await service.database.deleteRecord(withID: CKRecord.ID(recordName: "A"))
        #expect(service.modifications.first?.operations.map(\.operationType) == [.forceDelete])
    }

    @Test func `all items are sent in one request, which names the zone or lets each item name its own`() async throws {
        let service = ScriptedService()
        _ = try await service.database.modifyRecords(
            saving: [artwork("A", in: Self.gallery), artwork("B", in: Self.gallery)], deleting: [])
        _ = try await service.database.modifyRecords(
            saving: [artwork("A", in: Self.gallery)], deleting: [CKRecord.ID(recordName: "B")], atomically: false)
        let (one, both) = (service.modifications[0], service.modifications[1])
        #expect(one.zoneID == ZoneIDDictionary(zoneName: "Gallery"))
        #expect(one.operations.map(\.record.zoneID) == [nil, nil])
        #expect(one.atomic == true)
        #expect(one.wantsServerRecord)
        #expect(both.operations.map(\.record.zoneID?.zoneName) == ["Gallery", "_defaultZone"])
        #expect(both.atomic == false)
        #expect(service.modifications.count == 2)
    }

    @Test func `another account's zone names its owner`() async throws {
        let service = ScriptedService()
        let zoneID = CKRecordZone.ID(zoneName: "Gallery", ownerName: "_ffffffffffffffffffffffffffffffff")
        try await service.container.sharedCloudDatabase.save(artwork("A", in: zoneID))
        #expect(service.modifications.first?.zoneID?.ownerRecordName == "_ffffffffffffffffffffffffffffffff")
        #expect(service.calls.first?.scope == .shared)
    }

    @Test func `the passed record is updated and returned`() async throws {
        let record = artwork("A")
        let saved = try await ScriptedService().database.save(record)
        #expect(saved === record)
        #expect(record.recordChangeTag == "t1")
        #expect(record.changedKeys() == [])
        #expect(record.creationDate == Date(timeIntervalSince1970: 1_760_001_000))
        #expect(record.modificationDate == record.creationDate)
        #expect(record.creatorUserRecordID?.recordName == CKCurrentUserDefaultName)
        #expect(record.lastModifiedUserRecordID?.recordName == CKCurrentUserDefaultName)
    }

    @Test func `a change during a record's save stays changed`() async throws {
        let gate = Gate()
        let service = ScriptedService(ScriptedService.Script(gate: gate))
        let record = artwork("A")
        async let saved = service.database.save(record)
        await gate.arrival()
        record["year"] = 1932
        gate.open()
        _ = try await saved
        #expect(record.changedKeys() == ["year"])
        #expect(record.recordChangeTag == "t1")
    }

    @Test func `the same record twice is an invalid argument`() async {
        let service = ScriptedService()
        let record = artwork("A")
        let twice = await expectFailure(.invalidArguments) {
            _ = try await service.database.modifyRecords(saving: [record, record], deleting: [])
        }
        #expect(twice?.localizedDescription.hasPrefix("You can't save the same record twice") == true)
        let both = await expectFailure(.invalidArguments) {
            _ = try await service.database.modifyRecords(saving: [record], deleting: [record.recordID])
        }
        #expect(both?.localizedDescription.hasPrefix("You can't save and delete the same record") == true)
        await expectFailure(.invalidArguments) {
            _ = try await service.database.modifyRecords(saving: [], deleting: [record.recordID, record.recordID])
        }
        #expect(service.requests.isEmpty)
    }

    @Test func `saving nothing succeeds without a request`() async throws {
        let service = ScriptedService()
        let results = try await service.database.modifyRecords(saving: [], deleting: [])
        #expect(results.saveResults.isEmpty)
        #expect(results.deleteResults.isEmpty)
        #expect(service.requests.isEmpty)
    }

    @Test func `an asset is refused on the device, and with it the rest of an atomic zone`() async throws {
        let withAsset = artwork("A", in: Self.gallery)
        withAsset["image"] = CKAsset(fileURL: URL(fileURLWithPath: "/dev/null"))
        for (isAtomic, sameZone, sentNames) in [(true, 22, ["C"]), (false, 0, ["B", "C"])] {
            let service = ScriptedService()
            let (neighbour, other) = (artwork("B", in: Self.gallery), artwork("C"))
            let results = try await service.database.modifyRecords(
                saving: [withAsset, neighbour, other], deleting: [], atomically: isAtomic)
            let error = results.saveResults[withAsset.recordID]?.failure as? CKError
            #expect(error?.code == .assetNotAvailable)
            #expect(error?.localizedDescription.contains("\"image\"") == true)
            let code = (results.saveResults[neighbour.recordID]?.failure as? CKError)?.code.rawValue ?? 0
            #expect(code == sameZone)
            #expect(results.saveResults[other.recordID]?.isSuccess == true)
            #expect(service.modifications.first?.operations.map(\.record.recordName) == sentNames)
        }
    }

    @Test func `a conflict carries the record as it was sent, the server's and the common ancestor`() async throws {
        let gate = Gate()
        let server = RecordFields([RecordFields.Entry(name: "title", field: Field(.string("Midnight")))])
        let service = ScriptedService(
            ScriptedService.Script(
                modify: { operation, _ in
                    var error = ErrorDictionary.scripted(.conflict, "client oplock error updating record")
                    error.serverRecord = [.saved(operation.record.recordName ?? "", tag: "t9", fields: server)]
                    return .failure(error)
                }, gate: gate))
        let record = changedArtwork("A")
        async let saving = service.database.modifyRecords(saving: [record], deleting: [])
        await gate.arrival()
        record["title"] = "after it was sent"
        gate.open()
        let result = try await saving.saveResults[record.recordID]
        let error = try #require(result?.failure as? CKError)
        #expect(error.code == .serverRecordChanged)
        #expect(error.serverRecord?["title"] == "Midnight")
        #expect(error.serverRecord?.recordChangeTag == "t9")
        #expect(error.serverRecord?.recordID == record.recordID)
        #expect(error.clientRecord?["title"] == "Dawn")
        #expect(error.clientRecord?.changedKeys() == ["title"])
        #expect(error.ancestorRecord?["title"] == "Noon")
        #expect(error.ancestorRecord?.recordChangeTag == "t0")
        #expect(record.recordChangeTag == "t0")
    }

    @Test func `deleting a missing record succeeds`() async throws {
        let service = ScriptedService(
            ScriptedService.Script(modify: { _, _ in .failure(.scripted(.notFound)) }))
        let recordID = CKRecord.ID(recordName: "A")
        #expect(try await service.database.deleteRecord(withID: recordID) == recordID)
        await expectFailure(.unknownItem) { try await service.database.save(artwork("A")) }
    }

    // MARK: Fetching

    @Test func `each ID is requested once and gets one result`() async throws {
        let service = ScriptedService(
            ScriptedService.Script(lookup: { item, _ in
                item.recordName == "B" ? .failure(.scripted(.notFound, "Record not found")) : nil
            }))
        let (a, b) = (CKRecord.ID(recordName: "A"), CKRecord.ID(recordName: "B"))
        let results = try await service.database.records(for: [a, b, a], desiredKeys: ["title"])
        #expect(results.count == 2)
        #expect(try results[a]?.get().recordID == a)
        #expect((results[b]?.failure as? CKError)?.code == .unknownItem)
        #expect(service.lookups.map { $0.records.map(\.recordName) } == [["A", "B"]])
        #expect(service.lookups.first?.desiredKeys == ["title"])
    }

    @Test func `a fetched record names the account by its default name and others by theirs`() async throws {
        let other = "_ffffffffffffffffffffffffffffffff"
        let service = ScriptedService(
            ScriptedService.Script(lookup: { item, _ in
                item.recordName == "B" ? .record(.saved("B", by: other)) : nil
            }))
        let database = service.database
        let mine = try await database.record(for: CKRecord.ID(recordName: "A"))
        let theirs = try await database.record(for: CKRecord.ID(recordName: "B"))
        #expect(mine.creatorUserRecordID?.recordName == CKCurrentUserDefaultName)
        #expect(theirs.creatorUserRecordID?.recordName == other)
        let askedForUser = service.requests.filter { if case .currentUser = $0 { true } else { false } }
        #expect(askedForUser.count == 1)
    }

    @Test func `a record has the ID it was fetched by, however its zone's owner is spelled`() async throws {
        let service = ScriptedService(
            ScriptedService.Script(lookup: { item, _ in
                var record = RecordDictionary.saved(item.recordName)
                record.zoneID = ZoneIDDictionary(
                    zoneName: "Gallery", ownerRecordName: ScriptedService.userRecordName)
                return .record(record)
            }))
        let recordID = CKRecord.ID(recordName: "A", zoneID: Self.gallery)
        #expect(try await service.database.record(for: recordID).recordID == recordID)
    }

    /// What apps write: subclasses with an initializer of their own, which need not say `required`.
    private final class FetchOfNames: CKFetchRecordsOperation, @unchecked Sendable {
        let names: [String]

        init(names: [String]) {
            self.names = names
            super.init()
            recordIDs = names.map { CKRecord.ID(recordName: $0) }
        }
    }

    private final class FetchOfZones: CKFetchRecordZonesOperation, @unchecked Sendable {
        override init() { super.init() }
    }

    private final class FetchOfSubscriptions: CKFetchSubscriptionsOperation, @unchecked Sendable {
        init(named name: String) { super.init() }
    }

    @Test func `fetch operations are subclassed with initializers of their own`() {
        #expect(FetchOfNames(names: ["a", "b"]).recordIDs?.map(\.recordName) == ["a", "b"])
        #expect(FetchOfZones().recordZoneIDs == nil && FetchOfSubscriptions(named: "x").subscriptionIDs == nil)
    }

    @Test func `the factory of fetch operations makes no subclass`() async {
        await #expect(processExitsWith: .failure) { _ = FetchOfZones.fetchAllRecordZonesOperation() }
    }

    @Test func `the current user's record is fetched without its ID`() async throws {
        let service = ScriptedService(
            ScriptedService.Script(lookup: { item, _ in .record(.saved(item.recordName, type: "Users")) }))
        let operation = CKFetchRecordsOperation.fetchCurrentUserRecordOperation()
        let events = Events()
        operation.perRecordResultBlock = { recordID, result in
            events.note("\(recordID.recordName) \((try? result.get())?.recordType ?? "none")")
        }
        #expect(operation.recordIDs == nil)
        await operation.finish { service.database.add(operation) }
        #expect(events.all == ["\(ScriptedService.userRecordName) Users"])
    }
}
