import CloudKitTesting
import Foundation
import NephosWire
import Testing

@testable import CloudKit

/// `encryptedValues` from one device of an account to another.
@Suite struct EncryptedValuesTests {
    private static let date = Date(timeIntervalSinceReferenceDate: 700_000_000.123456)
    private static let place = CLLocation(
        coordinate: CLLocationCoordinate2D(latitude: 52.5, longitude: 13.4), altitude: 34, horizontalAccuracy: 5,
        verticalAccuracy: 3, course: 90, speed: 2, timestamp: date)

    /// Every type that can be encrypted.
    private static func everything() -> [String: any CKRecordValueProtocol] {
        [
            "string": "Grüße \u{0}👋", "empty": "", "int": Int64.min, "double": -0.1, "date": date,
            "data": Data([0, 255]),
            "nothing": Data(), "place": place, "strings": ["a", ""], "numbers": [1.5, 2.5], "ints": [1, 2],
            "dates": [date], "datas": [Data([1]), Data()], "places": [place], "truth": true,
        ]
    }

    private func expectEverything(_ record: CKRecord?, _ comment: Comment) {
        guard let record else {
            Issue.record(comment)
            return
        }
        let values = record.encryptedValues
        #expect(values["string"] as? String == "Grüße \u{0}👋", comment)
        #expect(values["empty"] as? String == "", comment)
        #expect(values["int"] as? Int64 == Int64.min, comment)
        #expect(values["double"] as? Double == -0.1, comment)
        #expect(values["date"] as? Date == Self.date, comment)
        #expect(values["data"] as? Data == Data([0, 255]), comment)
        #expect(values["nothing"] as? Data == Data(), comment)
        #expect((values["place"] as? CLLocation)?.timestamp == Self.date, comment)
        #expect((values["place"] as? CLLocation)?.course == 90, comment)
        #expect(values["strings"] == ["a", ""], comment)
        #expect(values["numbers"] == [1.5, 2.5], comment)
        #expect(values["ints"] == [1, 2], comment)
        #expect(values["dates"] == [Self.date], comment)
        #expect(values["datas"] == [Data([1]), Data()], comment)
        #expect((values["places"] as? NSArray)?.count == 1, comment)
        #expect(values["truth"] as? Bool == true, comment)
        #expect(record["title"] == "clear", comment)
        #expect(values.allKeys().count == Self.everything().count, comment)
        #expect(record.changedKeys().isEmpty, comment)
    }

    @Test func `every type round-trips in every request, and the service sees none of it`() async throws {
        let cloud = try await EncryptedCloud().makingZone()
        let record = EncryptedCloud.note("a", Self.everything())
        record["title"] = "clear"
        _ = try await cloud.device().save(record)
        #expect(record.encryptedValues["string"] as? String == "Grüße \u{0}👋", "the app's own record stays as it is")

        let other = cloud.device()
        expectEverything(try await other.record(for: record.recordID), "fetch")
        let found = try await cloud.device().records(
            matching: CKQuery(recordType: "Note", predicate: NSPredicate(value: true)),
            inZoneWith: EncryptedCloud.zoneID
        )
        expectEverything(try found.matchResults.first?.1.get(), "query")
        let changes = try await cloud.device().recordZoneChanges(inZoneWith: EncryptedCloud.zoneID, since: nil)
        expectEverything(try changes.modificationResultsByID[record.recordID]?.get().record, "feed")

        for entry in try await cloud.stored("a").entries where entry.name != "title" {
            guard case .sealed(let sealed)? = entry.field.value else {
                Issue.record("field \(entry.name) is not encrypted in the service")
                continue
            }
            #expect(!Data(sealed.bytes).contains(Data("Grüße".utf8)))
        }
    }

    @Test func `the default zone has encrypted values too`() async throws {
        let cloud = try EncryptedCloud()
        let record = CKRecord(recordType: "Note")
        record.encryptedValues["secret"] = "s"
        _ = try await cloud.device().save(record)
        #expect(try await cloud.device().record(for: record.recordID).encryptedValues["secret"] as? String == "s")
    }

    @Test func `another device changes one value, removes one and leaves the rest`() async throws {
        let cloud = try await EncryptedCloud().makingZone()
        let record = EncryptedCloud.note("a", ["one": "1", "two": "2", "three": "3"])
        _ = try await cloud.device().save(record)
        let before = try await cloud.sealed("a", "three")
        let fetched = try await cloud.device().record(for: record.recordID)
        fetched.encryptedValues["one"] = "new"
        fetched.encryptedValues["two"] = nil
        // A device that never saw the record, and has no keys yet.
        _ = try await cloud.device().save(fetched)
        let last = try await cloud.device().record(for: record.recordID)
        #expect(last.encryptedValues["one"] as? String == "new")
        #expect(last.encryptedValues["two"] == nil && last.encryptedValues.allKeys() == ["one", "three"])
        #expect(last.encryptedValues["three"] as? String == "3")
        #expect(try await cloud.sealed("a", "three") == before, "what did not change was not sent")
    }

    @Test func `a record keeps its key, and many saves leave one`() async throws {
        let cloud = try await EncryptedCloud().makingZone()
        let device = cloud.device()
        let record = EncryptedCloud.note("a", ["n": 0])
        _ = try await device.save(record)
        let id = try await cloud.sealed("a", "n").bytes[1...8]
        for number in 1...3 {
            record.encryptedValues["n"] = number
            _ = try await device.save(record)
            let last = try await cloud.sealed("a", "n")
            #expect(last.bytes[1...8] == id)
        }
        #expect(try await cloud.device().record(for: record.recordID).encryptedValues["n"] as? Int == 3)
    }

    @Test func `a field accepts integers and fractions in either order`() async throws {
        let cloud = try await EncryptedCloud().makingZone()
        for (name, value) in [("a", 1.5 as any CKRecordValueProtocol), ("b", 2), ("c", 2.5)] {
            _ = try await cloud.device().save(EncryptedCloud.note(name, ["n": value]))
        }
        let number = try await cloud.device().record(for: EncryptedCloud.recordID("b")).encryptedValues["n"]
        #expect(number as? Int == 2)
    }

    @Test func `a conflict's record is decrypted, and a merge into it is saved`() async throws {
        let cloud = try await EncryptedCloud().makingZone()
        let mine = EncryptedCloud.note("a", ["text": "one"])
        _ = try await cloud.device().save(mine)
        let theirs = try await cloud.device().record(for: mine.recordID)
        theirs.encryptedValues["text"] = "two"
        _ = try await cloud.device().save(theirs)

        mine.encryptedValues["text"] = "three"
        let fresh = cloud.device()
        let error = await #expect(throws: CKError.self) { _ = try await fresh.save(mine) }
        let server = try #require(error?.serverRecord)
        #expect(error?.code == .serverRecordChanged && server.encryptedValues["text"] as? String == "two")
        #expect(error?.ancestorRecord?.encryptedValues["text"] as? String == "one")
        server.encryptedValues["text"] = "two and three"
        _ = try await fresh.save(server)
        let last = try await cloud.device().record(for: mine.recordID)
        #expect(last.encryptedValues["text"] as? String == "two and three")
    }

    @Test func `two devices that start concurrently agree on the keys`() async throws {
        let cloud = try await EncryptedCloud().makingZone()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask {
                    _ = try await cloud.device().save(EncryptedCloud.note("n\(number)", ["n": number]))
                }
            }
            try await group.waitForAll()
        }
        let changes = try await cloud.device().recordZoneChanges(inZoneWith: EncryptedCloud.zoneID, since: nil)
        let numbers = try changes.modificationResultsByID.values.map {
            try $0.get().record.encryptedValues["n"] as? Int
        }
        #expect(numbers.compactMap(\.self).sorted() == Array(0..<8))
    }

    @Test func `a zone that is made again has new keys, and a device with the old ones notices`() async throws {
        let cloud = try await EncryptedCloud().makingZone()
        let device = cloud.device()
        _ = try await device.save(EncryptedCloud.note("a", ["n": 1]))
        let other = cloud.device()
        _ = try await other.deleteRecordZone(withID: EncryptedCloud.zoneID)
        _ = try await other.save(CKRecordZone(zoneID: EncryptedCloud.zoneID))
        _ = try await device.save(EncryptedCloud.note("b", ["n": 2]))
        #expect(try await other.record(for: EncryptedCloud.recordID("b")).encryptedValues["n"] as? Int == 2)
    }

    @Test func `a cloud in a directory has its keys beside its data`() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("encrypted-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        let first = try EncryptedCloud(LocalCloud(directory: directory))
        _ = try await first.device().save(CKRecordZone(zoneID: EncryptedCloud.zoneID))
        let texts = (0..<1000).map { "plain text \($0) \(UUID().uuidString)" }
        for start in stride(from: 0, to: 1000, by: 200) {
            let records = texts[start..<start + 200].map { EncryptedCloud.note("r\(UUID().uuidString)", ["text": $0]) }
            try await first.device().saveAll(records)
        }
        await first.cloud.close()
        let files = FileManager.default.enumerator(at: directory, includingPropertiesForKeys: nil)
        var searched = 0
        for case let file as URL in files ?? FileManager.DirectoryEnumerator() {
            guard let content = try? Data(contentsOf: file) else { continue }
            searched += content.count
            #expect(content.range(of: Data("plain text ".utf8)) == nil, "\(file.lastPathComponent)")
        }
        #expect(searched > 100_000)
        let second = try EncryptedCloud(LocalCloud(directory: directory))
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
        let page = try await second.device().records(
            matching: query, inZoneWith: EncryptedCloud.zoneID, resultsLimit: 10)
        let found = try page.matchResults.compactMap { try $0.1.get().encryptedValues["text"] as? String }
        #expect(found.count == 10 && Set(found).isSubset(of: Set(texts)))
        await second.cloud.close()
    }

    @Test func `records without encrypted fields request no key`() async throws {
        let cloud = try await EncryptedCloud().makingZone()
        let asked = cloud.cloud.requests(.keys)
        let database = cloud.cloud.container(account: "mei").privateCloudDatabase
        let record = CKRecord(recordType: "Plain", recordID: EncryptedCloud.recordID("p"))
        record["title"] = "clear"
        _ = try await database.save(record)
        _ = try await database.record(for: record.recordID)
        _ = try await database.recordZoneChanges(inZoneWith: EncryptedCloud.zoneID, since: nil)
        #expect(asked.count == 0)
    }
}
