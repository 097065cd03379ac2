import CloudKit
import Testing

/// If Apple's framework raises an exception, the program stops and names the broken rule.
@Suite struct RecordTrapTests {
    /// Whether the program that stopped said so.
    private func said(_ words: String, _ result: ExitTest.Result?) -> Bool {
        result.map { String(decoding: $0.standardErrorContent, as: UTF8.self).contains(words) } ?? false
    }

    @Test func `an empty record name stops the program`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = CKRecord.ID(recordName: "")
        }
        #expect(said("the record name is empty", result))
    }

    @Test func `an empty zone name stops the program`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = CKRecordZone(zoneName: "")
        }
        #expect(said("the zone name is empty", result))
    }

    @Test func `an empty record type stops the program`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = CKRecord(recordType: "")
        }
        #expect(said("the record type is empty", result))
    }

    @Test func `a record type with a space stops the program`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = CKRecord(recordType: "My Type")
        }
        #expect(said("contains invalid characters", result))
    }

    @Test func `a record type that starts with a digit stops the program`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = CKRecord(recordType: "1st")
        }
        #expect(said("contains invalid characters", result))
    }

    @Test func `a field key with a character that is no letter, digit or underscore stops the program`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            CKRecord(recordType: "Note")["a key"] = 1
        }
        #expect(said("\"a key\"", result))
    }

    @Test func `a field key that is the name of metadata stops the program`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            CKRecord(recordType: "Note").setValue("x", forKey: "recordID")
        }
        #expect(said("is reserved", result))
    }

    @Test func `a value of a type that CloudKit does not store stops the program`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            CKRecord(recordType: "Note").setValue(UUID(), forKey: "id")
        }
        #expect(said("a value of type UUID is unsupported", result))
    }

    @Test func `an array in an array stops the program`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            CKRecord(recordType: "Note")["list"] = [["a"]]
        }
        #expect(said("is unsupported", result))
    }

    @Test func `an array of strings and numbers stops the program`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            CKRecord(recordType: "Note")["list"] = NSArray(array: ["a", 1])
        }
        #expect(said("is unsupported", result))
    }

    @Test func `an array of values that CloudKit does not store stops the program`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            CKRecord(recordType: "Note")["list"] = NSArray(array: [UUID()])
        }
        #expect(said("is unsupported", result))
    }

    @Test func `a parent reference whose action is not none stops the program`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            CKRecord(recordType: "Item").parent = CKRecord.Reference(recordID: CKRecord.ID(), action: .deleteSelf)
        }
        #expect(said("must have the action .none", result))
    }

    @Test func `an encrypted asset stops the program`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let asset = CKAsset(fileURL: URL(fileURLWithPath: "/tmp/file"))
            CKRecord(recordType: "Note").encryptedValues["file"] = asset
        }
        #expect(said("cannot be encrypted", result))
    }

    @Test func `an encrypted list of references stops the program`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let reference = CKRecord.Reference(recordID: CKRecord.ID(), action: .none)
            CKRecord(recordType: "Note").encryptedValues["owners"] = [reference]
        }
        #expect(said("cannot be encrypted", result))
    }

    @Test func `an asset that is no file stops the program`() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            if let url = URL(string: "https://example.org/x") { _ = CKAsset(fileURL: url) }
        }
        #expect(said("is no file URL", result))
    }

    @Test func `a share in another zone than its root stops the program`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let zoneID = CKRecordZone.ID(zoneName: "z")
            _ = CKShare(rootRecord: CKRecord(recordType: "List"), shareID: CKRecord.ID(zoneID: zoneID))
        }
        #expect(said("must be in the same zone", result))
    }
}
