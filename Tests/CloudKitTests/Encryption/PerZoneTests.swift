import CloudKitLocal
import Foundation
import NephosWire
import Testing

@testable import CloudKit

/// Zones with one key for the encrypted values of all their records.
@Suite struct PerZoneTests: SharedValuesChecks {
    private typealias Cloud = SharedValuesTests.Cloud
    private static let call = ServiceCall(scope: .private)
    private static let wireZone = ZoneIDDictionary(zoneName: "Lists")

    private func zone() -> CKRecordZone {
        let zone = CKRecordZone(zoneID: Cloud.zoneID)
        zone.encryptionScope = .perZone
        return zone
    }

    private func sealingKey(_ owner: CKContainer, _ name: String) async throws -> [UInt8]? {
        let answer = try await owner.session.service.send(
            .lookupRecords, LookupRecordsRequest(records: [.init(recordName: name)], zoneID: Self.wireZone), Self.call)
        guard case .record(let record)? = answer.records.first,
            case .sealed(let value)? = try record.fields.decoded()["text"]?.value
        else { return nil }
        return RecordKey.id(of: value)
    }

    private func keys(_ owner: CKContainer, of names: [String]) async throws -> KeysResponse {
        try await owner.session.service.send(
            .lookupKeys, LookupKeysRequest(zoneID: Self.wireZone, wantsGroup: true, recordNames: names), Self.call)
    }

    @Test func `the scope is set when the zone is made, and is immutable`() async throws {
        let cloud = try Cloud()
        let database = cloud.container("mei").privateCloudDatabase
        let saved = try await database.save(zone())
        #expect(saved.encryptionScope == .perZone)
        #expect(saved.capabilities == [.fetchChanges, .atomic, .zoneWideSharing])
        let other = cloud.container("mei").privateCloudDatabase
        #expect(try await other.recordZone(for: Cloud.zoneID).encryptionScope == .perZone)
        #expect(try await other.allRecordZones().first { $0.zoneID == Cloud.zoneID }?.encryptionScope == .perZone)
        #expect(try await other.save(CKRecordZone(zoneID: Cloud.zoneID)).encryptionScope == .perZone)
        let usual = try await other.save(CKRecordZone(zoneName: "Usual"))
        #expect(usual.encryptionScope == .perRecord && usual.capabilities.contains(.sharing))
        usual.encryptionScope = .perZone
        #expect(try await other.save(usual).encryptionScope == .perRecord)
    }

    @Test(arguments: [true, false]) func `one key seals all values, every device opens them, and no record has a key`(
        escrows: Bool
    ) async throws {
        let cloud = try Cloud(escrows: escrows)
        defer { cloud.removeKeys() }
        let owner = cloud.container("mei")
        _ = try await owner.privateCloudDatabase.save(zone())
        let root = try await cloud.makeList(owner)
        #expect(try await sealingKey(owner, "milk") == sealingKey(owner, "note"))
        #expect(try await keys(owner, of: ["list", "milk", "note"]).records.isEmpty)
        let other = cloud.container("mei").privateCloudDatabase
        let page = try await other.recordZoneChanges(inZoneWith: Cloud.zoneID, since: nil)
        let texts = try page.modificationResultsByID.values.map {
            try $0.get().record.encryptedValues["text"] as? String
        }
        #expect(Set(texts) == ["Groceries", "Milk", "Mine"])
        let record = try await other.record(for: root.recordID)
        record.encryptedValues["text"] = "Food"
        _ = try await other.save(record)
        #expect(try await text(owner.privateCloudDatabase, "list", in: Cloud.zoneID) == "Food")
        // No hierarchy of it is shared: who had the key could open everything.
        let share = CKShare(rootRecord: record)
        let results = try await other.modifyRecords(saving: [record, share], deleting: []).saveResults
        #expect((results[share.recordID]?.failure as? CKError)?.code == .invalidArguments)
    }

    @Test(arguments: [true, false]) func `a per-zone scope is shared as a whole, and a removal makes a new key`(
        escrows: Bool
    ) async throws {
        let cloud = try Cloud(escrows: escrows)
        defer { cloud.removeKeys() }
        let (owner, ana, bob) = (cloud.container("mei"), cloud.container("ana"), cloud.container("bob"))
        let database = owner.privateCloudDatabase
        _ = try await database.save(zone())
        _ = try await cloud.makeList(owner)
        let share = CKShare(recordZoneID: Cloud.zoneID)
        for name in ["ana", "bob"] {
            let participant = try await owner.shareParticipant(forEmailAddress: "\(name)@localhost")
            participant.permission = .readWrite
            share.addParticipant(participant)
        }
        let saved = try #require(try await database.save(share) as? CKShare)
        for guest in [ana, bob] { try await guest.join(saved.url) }
        let zoneID = try #require(try await ana.sharedCloudDatabase.allRecordZones().first).zoneID
        let eggs = CKRecord(recordType: "Item", recordID: id("eggs", zoneID))
        eggs.encryptedValues["text"] = "Eggs"
        _ = try await ana.sharedCloudDatabase.save(eggs)
        #expect(try await text(bob.sharedCloudDatabase, "eggs", in: zoneID) == "Eggs")
        #expect(try await text(database, "eggs", in: Cloud.zoneID) == "Eggs")
        let before = try await sealingKey(owner, "note")
        #expect(try await sealingKey(owner, "eggs") == before)

        let current = try #require(try await database.record(for: share.recordID) as? CKShare)
        let anasID = try await ana.userRecordID()
        let leaving = try #require(current.participants.first { $0.userIdentity.userRecordID == anasID })
        current.removeParticipant(leaving)
        _ = try await database.save(current)
        let milk = try await bob.sharedCloudDatabase.record(for: id("milk", zoneID))
        milk.encryptedValues["text"] = "Soy milk"
        _ = try await bob.sharedCloudDatabase.save(milk)
        #expect(try await sealingKey(owner, "milk") != before)
        #expect(try await text(cloud.container("mei").privateCloudDatabase, "milk", in: Cloud.zoneID) == "Soy milk")
        #expect(try await text(cloud.container("bob").sharedCloudDatabase, "note", in: zoneID) == "Mine")
    }

    @Test func `a zone that is made again has another key, and a device with the old one notices`() async throws {
        let cloud = try Cloud()
        let (old, new) = (cloud.container("mei"), cloud.container("mei"))
        _ = try await old.privateCloudDatabase.save(zone())
        _ = try await cloud.makeList(old)
        _ = try await new.privateCloudDatabase.deleteRecordZone(withID: Cloud.zoneID)
        _ = try await new.privateCloudDatabase.save(zone())
        _ = try await cloud.makeList(new)
        _ = try await old.privateCloudDatabase.save(Cloud.record("eggs", "Eggs"))
        #expect(try await text(new.privateCloudDatabase, "eggs", in: Cloud.zoneID) == "Eggs")
        #expect(try await text(old.privateCloudDatabase, "milk", in: Cloud.zoneID) == "Milk")
    }

    @Test func `values not sealed by the zone's key are refused, and old values are returned unchanged`() async throws {
        let cloud = try Cloud()
        let owner = cloud.container("mei")
        _ = try await owner.privateCloudDatabase.save(zone())
        _ = try await cloud.makeList(owner)
        let service = owner.session.service
        let answer = try await service.send(
            .lookupRecords, LookupRecordsRequest(records: [.init(recordName: "milk")], zoneID: Self.wireZone), Self.call
        )
        guard case .record(let milk)? = answer.records.first else {
            Issue.record("no record")
            return
        }
        func save(_ name: String, keyID: [UInt8]? = nil) async throws -> RecordResult? {
            var fields = try milk.fields.decoded()
            if let keyID, case .sealed(var value)? = fields["text"]?.value {
                value.bytes.replaceSubrange(1...8, with: keyID)
                fields["text"] = Field(.sealed(value), isEncrypted: true)
            }
            let record = RecordToModify(recordName: name, recordType: "Item", fields: fields)
            return try await service.send(
                .modifyRecords,
                ModifyRecordsRequest(
                    operations: [RecordOperation(operationType: .forceUpdate, record: record)],
                    zoneID: Self.wireZone), Self.call
            ).records.first
        }
        guard case .failure(let error)? = try await save("milk", keyID: RecordKey.random().id) else {
            Issue.record("a value that the zone's key did not seal was accepted")
            return
        }
        #expect(error.needsKeys)
        guard case .record? = try await save("milk") else {
            Issue.record("a value that was returned unchanged was refused")
            return
        }
    }
}
