import CloudKitLocal
import Foundation
import NephosWire
import Testing

@testable import CloudKit

/// Refused values, and values that do not open.
@Suite struct EncryptedValueErrorTests {
    private func codes(_ results: [CKRecord.ID: Result<CKRecord, any Error>]) -> [String: CKError.Code?] {
        Dictionary(
            uniqueKeysWithValues: results.map { id, result in
                guard case .failure(let error as CKError) = result else { return (id.recordName, nil) }
                return (id.recordName, error.code)
            })
    }

    @Test func `the public database refuses encrypted fields at their item, and gets no value`() async throws {
        let database = try LocalCloud().container(account: "mei").publicCloudDatabase
        let secret = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "secret"))
        secret.encryptedValues["x"] = "s"
        let open = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "open"))
        let results = try await database.modifyRecords(saving: [secret, open], deleting: []).saveResults
        #expect(codes(results) == ["secret": .invalidArguments, "open": nil])
        let error = results[secret.recordID]?.failure as? CKError
        #expect(error?.localizedDescription.contains("not supported in the public database") == true)
    }

    @Test func `only new fields can be encrypted, and a field stays clear or encrypted`() async throws {
        let cloud = try await EncryptedCloud().makingZone()
        let clear = CKRecord(recordType: "Note", recordID: EncryptedCloud.recordID("clear"))
        clear["old"] = "clear"
        _ = try await cloud.device().save(clear)
        let sealed = EncryptedCloud.note("a", ["old": "secret"])
        await expectFailure(.invalidArguments) { _ = try await cloud.device().save(sealed) }
        _ = try await cloud.device().save(EncryptedCloud.note("b", ["new": "secret"]))
        clear["new"] = "clear"
        await expectFailure(.invalidArguments) { _ = try await cloud.device().save(clear) }
    }

    @Test func `encrypted fields cannot be queried, and sorting by one has no effect`() async throws {
        let cloud = try await EncryptedCloud().makingZone()
        _ = try await cloud.device().save(EncryptedCloud.note("a", ["text": "secret"]))
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "text == %@", "secret"))
        await expectFailure(.invalidArguments) {
            _ = try await cloud.device().records(matching: query, inZoneWith: EncryptedCloud.zoneID)
        }
        let sorted = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
        sorted.sortDescriptors = [NSSortDescriptor(key: "text", ascending: true)]
        let found = try await cloud.device().records(matching: sorted, inZoneWith: EncryptedCloud.zoneID)
        #expect(found.matchResults.count == 1)
    }

    @Test func `a Web client's clear value is refused, and bytes that it returns unchanged are accepted`()
        async throws
    {
        let cloud = try await EncryptedCloud().makingZone()
        _ = try await cloud.device().save(EncryptedCloud.note("a", ["text": "secret"]))
        guard case .failure(let error)? = try await cloud.overwrite("a", ["text": .string("clear")]) else {
            Issue.record("a clear value was saved")
            return
        }
        #expect(error.clientErrorCode == CKError.Code.invalidArguments.rawValue)
        let bytes = try await cloud.sealed("a", "text")
        guard case .record? = try await cloud.overwrite("a", ["text": .sealed(bytes)]) else {
            Issue.record("a value that was returned unchanged was refused")
            return
        }
        let record = try await cloud.device().record(for: EncryptedCloud.recordID("a"))
        #expect(record.encryptedValues["text"] as? String == "secret")
    }

    /// The tampering that the store allows without keys.
    enum Tampering: CaseIterable, Sendable {
        case flipsContent, flipsNonce, flipsCommitment, flipsKeyID, truncates, appends, swapsFields, retypes

        func change(_ value: SealedFieldValue, other: SealedFieldValue) -> SealedFieldValue {
            var value = value
            switch self {
            case .flipsContent: value.bytes[70] ^= 1
            case .flipsNonce: value.bytes[9] ^= 1
            case .flipsCommitment: value.bytes[40] ^= 1
            case .flipsKeyID: value.bytes[1] ^= 1
            case .truncates: value.bytes.removeLast()
            case .appends: value.bytes.append(0)
            case .swapsFields: value.bytes = other.bytes
            case .retypes: value.type = .bytes
            }
            return value
        }
    }

    @Test(arguments: Tampering.allCases)
    func `a tampered value fails its record in every request, the rest arrives, and none is nil`(
        _ tampering: Tampering
    ) async throws {
        let cloud = try await EncryptedCloud().makingZone()
        try await cloud.device().saveAll([
            EncryptedCloud.note("bad", ["text": "one secret", "more": "another one"]),
            EncryptedCloud.note("good", ["text": "fine"]),
        ])
        let more = try await cloud.sealed("bad", "more")
        let changed = tampering.change(try await cloud.sealed("bad", "text"), other: more)
        let service = HostileService(cloud.cloud.container(account: "mei"))
        service.changingRecords.value = { name, fields in
            if name == "bad" { fields["text"] = Field(.sealed(changed), isEncrypted: true) }
        }
        let database = service.container.privateCloudDatabase
        let ids = ["bad", "good"].map(EncryptedCloud.recordID)

        let fetched = try await database.records(for: ids)
        expectOneBad(fetched, "fetch")
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
        let found = try await database.records(matching: query, inZoneWith: EncryptedCloud.zoneID)
        expectOneBad(Dictionary(uniqueKeysWithValues: found.matchResults), "query")
        let page = try await database.recordZoneChanges(inZoneWith: EncryptedCloud.zoneID, since: nil)
        expectOneBad(page.modificationResultsByID.mapValues { $0.map(\.record) }, "feed")

        // A conflict: a value that does not open is not passed to the app's merge.
        let mine = EncryptedCloud.note("bad", ["text": "mine"])
        await expectFailure(.internalError) { _ = try await database.save(mine) }
    }

    private func expectOneBad(_ results: [CKRecord.ID: Result<CKRecord, any Error>], _ way: Comment) {
        let bad = results[EncryptedCloud.recordID("bad")]?.failure as? CKError
        #expect(bad?.code == .internalError, way)
        #expect(bad?.localizedDescription.contains("field 'text'") == true, way)
        let good = try? results[EncryptedCloud.recordID("good")]?.get()
        #expect(good?.encryptedValues["text"] as? String == "fine", way)
    }

    @Test func `a clear value in an encrypted field does not open`() async throws {
        let cloud = try await EncryptedCloud().makingZone()
        try await cloud.device().saveAll([
            EncryptedCloud.note("bad", ["text": "secret"]), EncryptedCloud.note("good", ["text": "fine"]),
        ])
        let service = HostileService(cloud.cloud.container(account: "mei"))
        service.changingRecords.value = { name, fields in
            if name == "bad" { fields["text"] = Field(.string("put there"), isEncrypted: true) }
        }
        let database = service.container.privateCloudDatabase
        let results = try await database.records(for: ["bad", "good"].map(EncryptedCloud.recordID))
        expectOneBad(results, "fetch")
    }

    @Test func `a value of another record, and a record's key under another's name, do not open`() async throws {
        let cloud = try await EncryptedCloud().makingZone()
        try await cloud.device().saveAll([
            EncryptedCloud.note("bad", ["text": "one"]), EncryptedCloud.note("good", ["text": "fine"]),
        ])
        let good = try await cloud.sealed("good", "text")
        let service = HostileService(cloud.cloud.container(account: "mei"))
        service.changingRecords.value = { name, fields in
            if name == "bad" { fields["text"] = Field(.sealed(good), isEncrypted: true) }
        }
        service.changingKeys.value = { answer in
            var answer = answer
            guard let key = answer.records.first(where: { $0.recordName == "good" })?.keys else { return answer }
            for index in answer.records.indices { answer.records[index].keys += key }
            return answer
        }
        let database = service.container.privateCloudDatabase
        let results = try await database.records(for: ["bad", "good"].map(EncryptedCloud.recordID))
        expectOneBad(results, "fetch")
    }

    @Test func `a value that does not open is overwritten only when the app sets it`() async throws {
        let cloud = try await EncryptedCloud().makingZone()
        let record = EncryptedCloud.note("bad", ["text": "one", "more": "two"])
        _ = try await cloud.device().save(record)
        let more = try await cloud.sealed("bad", "more")
        _ = try await cloud.overwrite("bad", ["text": .sealed(SealedFieldValue(type: .string, bytes: more.bytes))])
        await expectFailure(.internalError) { _ = try await cloud.device().record(for: record.recordID) }
        let set = CKRecord(recordType: "Note", recordID: record.recordID)
        set["other"] = "clear"
        try await cloud.device().saveAll([set], savePolicy: .changedKeys)
        #expect(try await cloud.sealed("bad", "text").bytes == more.bytes)
        set.encryptedValues["text"] = "three"
        try await cloud.device().saveAll([set], savePolicy: .changedKeys)
        let last = try await cloud.device().record(for: record.recordID)
        #expect(last.encryptedValues["text"] as? String == "three" && last.encryptedValues["more"] as? String == "two")
    }

    @Test func `a participant reads encrypted values of shared records, and saves its own`() async throws {
        let cloud = try LocalCloud()
        let owner = cloud.container(account: "mei")
        let list = try await SharedList(owner)
        list.item.encryptedValues["secret"] = "s"
        _ = try await owner.privateCloudDatabase.save(list.item)
        let share = try await list.share(publicly: .readWrite)
        let guest = cloud.container(account: "tom")
        try await guest.join(share.url)
        let zoneID = CKRecordZone.ID(zoneName: "Lists", ownerName: try await owner.userRecordID().recordName)
        let database = guest.sharedCloudDatabase
        let ids = ["list", "milk"].map { CKRecord.ID(recordName: $0, zoneID: zoneID) }
        let records = try await database.records(for: ids)
        #expect(try records[ids[0]]?.get()["title"] == "Groceries")
        #expect(try records[ids[1]]?.get().encryptedValues["secret"] as? String == "s")
        let mine = try #require(try records[ids[0]]?.get())
        mine.encryptedValues["mine"] = "m"
        _ = try await database.save(mine)
        let there = try await owner.privateCloudDatabase.record(
            for: CKRecord.ID(recordName: "list", zoneID: CKRecordZone.ID(zoneName: "Lists")))
        #expect(there.encryptedValues["mine"] as? String == "m")
    }
}
