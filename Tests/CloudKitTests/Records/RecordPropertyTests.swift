import CloudKit
import NephosTesting
import NephosWire
import Testing

/// Random records come back the same through an archive and through the protocol.
@Suite struct RecordPropertyTests {
    private func randomRecord(seed: UInt64) -> CKRecord {
        let zoneID = CKRecordZone.ID(zoneName: "z")
        var values = RandomValues(generator: SeededGenerator(seed: seed), zoneID: zoneID)
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n\(seed)", zoneID: zoneID))
        for number in 0..<Int.random(in: 0..<12, using: &values.generator) {
            let value = values.value()
            if Bool.random(using: &values.generator), !holdsReference(value) {
                record.encryptedValues["k\(number)"] = value
            } else {
                record["k\(number)"] = value
            }
        }
        return record
    }

    private func holdsReference(_ value: Any) -> Bool {
        value is CKRecord.Reference || (value as? NSArray)?.firstObject is CKRecord.Reference
    }

    private func expectSameFields(_ one: CKRecord, _ other: CKRecord, seed: UInt64) {
        #expect(one.allKeys() == other.allKeys(), "seed \(seed)")
        #expect(one.encryptedValues.allKeys() == other.encryptedValues.allKeys(), "seed \(seed)")
        for key in one.allKeys() {
            let values = [one, other].map { $0[key] ?? $0.encryptedValues[key] }
            #expect(comparable(values[0]) == comparable(values[1]), "seed \(seed), key \(key)")
            #expect(values[0] != nil, "seed \(seed), key \(key)")
        }
    }

    /// Truth values are numbers to the service, so they are compared as numbers.
    private func comparable(_ value: Any?) -> NSObject? {
        if let list = value as? NSArray { return NSArray(array: list.compactMap { comparable($0) }) }
        if let flag = value as? Bool { return NSNumber(value: flag ? 1 : 0) }
        return value as? NSObject
    }

    @Test func `fields round-trip through an archive`() throws {
        let first: UInt64 = 1
        print("RecordPropertyTests, archive: seeds from \(first)")
        for seed in first..<first + 150 {
            let record = randomRecord(seed: seed)
            let data = try NSKeyedArchiver.archivedData(withRootObject: record, requiringSecureCoding: true)
            let copy = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data))
            #expect(copy == record)
            #expect(copy.changedKeys() == record.changedKeys())
            expectSameFields(record, copy, seed: seed)
        }
    }

    @Test func `fields round-trip through the protocol`() {
        let first: UInt64 = 1
        print("RecordPropertyTests, protocol: seeds from \(first)")
        for seed in first..<first + 300 {
            let record = randomRecord(seed: seed)
            let fields = record.fieldsToSend(.changed)
            let fetched = CKRecord.record(
                wire: RecordDictionary(
                    recordName: record.recordID.recordName, recordType: "Note", recordChangeTag: "1"),
                zoneID: record.recordID.zoneID, fields: fields)
            #expect(fetched.changedKeys() == [])
            #expect(fetched.fieldsToSend(.all) == fields, "seed \(seed)")
            expectSameFields(record, fetched, seed: seed)
        }
    }
}
