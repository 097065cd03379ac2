import CloudKit
import NephosWire
import Testing

@Suite struct RecordEncryptionTests {
    @Test func `encryptedValues is a live view of the record`() {
        let record = CKRecord(recordType: "Property")
        let values = record.encryptedValues
        values["ownerName"] = "Maria Ruiz"
        #expect(record.encryptedValues["ownerName"] == "Maria Ruiz")
        record.encryptedValues["ownerName"] = nil
        #expect(values["ownerName"] == nil)
    }

    @Test func `encryptedValues lists only encrypted fields, and the record lists all`() {
        let record = CKRecord(recordType: "Property")
        record["address"] = "1 Main Street"
        record.encryptedValues["ownerName"] = "Maria Ruiz"
        #expect(record.encryptedValues.allKeys() == ["ownerName"])
        #expect(record.encryptedValues.changedKeys() == ["ownerName"])
        #expect(record.encryptedValues["address"] == nil)
        #expect(record.allKeys() == ["address", "ownerName"])
        #expect(record.changedKeys() == ["address", "ownerName"])
        #expect(record["ownerName"] == nil && record.value(forKey: "ownerName") == nil)
        #expect(record.map(\.0) == ["address"])
        #expect(record.allTokens() == ["1", "main", "street"])
    }

    @Test func `encrypted fields are sent as encrypted, also removed ones`() {
        let record = CKRecord.record(
            wire: RecordDictionary(recordName: "n", recordType: "Property", recordChangeTag: "1"),
            fields: RecordFields([
                .init(name: "pin", field: Field(.string("1"), isEncrypted: true)),
                .init(name: "gone", field: Field(.string("1"), isEncrypted: true)),
            ]))
        #expect(record.encryptedValues.allKeys() == ["gone", "pin"])
        record.encryptedValues["pin"] = "2"
        record.encryptedValues["gone"] = nil
        #expect(record.encryptedValues.changedKeys() == ["gone", "pin"])
        #expect(
            record.fieldsToSend(.changed).entries == [
                .init(name: "gone", field: Field(nil, isEncrypted: true)),
                .init(name: "pin", field: Field(.string("2"), isEncrypted: true)),
            ])
    }

    @Test func `an encrypted field set through the record is not sent in the clear`() {
        let record = CKRecord(recordType: "Property")
        record.encryptedValues["pin"] = "1"
        record["pin"] = "2"
        #expect(record.fieldsToSend(.all)["pin"] == Field(.string("2"), isEncrypted: true))
    }

    @Test func `values of any data type can be encrypted, except assets and references`() {
        let record = CKRecord(recordType: "Property")
        let location = CLLocation(latitude: 1, longitude: 2)
        record.encryptedValues["string"] = "s"
        record.encryptedValues["int"] = 1
        record.encryptedValues["double"] = 1.5
        record.encryptedValues["date"] = Date(timeIntervalSince1970: 0)
        record.encryptedValues["data"] = Data([1])
        record.encryptedValues["location"] = location
        record.encryptedValues["list"] = ["a"]
        #expect(record.encryptedValues.allKeys().count == 7)
        #expect(record.encryptedValues["location"] == location)
        #expect(record.encryptedValues["list"] == ["a"])
    }
}
