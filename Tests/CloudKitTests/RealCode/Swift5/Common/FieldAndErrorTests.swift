import CloudKit
import Testing

@Suite struct RealCodeFieldTests {
    @Test func `every spelling of setting a string sets it`() {
        for record in FieldWriting.spellings(of: "text") {
            #expect(record["k"] == "text")
            #expect(record.allKeys() == ["k"] && record.changedKeys() == ["k"])
        }
    }

    @Test func `every spelling of removing a field removes it`() {
        let removed = FieldWriting.removals {
            let record = CKRecord(recordType: "Note")
            record["k"] = "text"
            return record
        }
        for record in removed { #expect(record.allKeys() == [] && record["k"] == nil) }
    }

    @Test func `every spelling of reading a string finds it`() {
        let record = CKRecord(values: ["title": "text", "stars": 3])
        for (index, text) in FieldReading.strings(record, "title").enumerated() {
            #expect(text == "text", "spelling \(index)")
        }
    }

    @Test(arguments: ["stars", "double", "bool"])
    func `every spelling of reading a number finds it, whatever type was set`(key: String) {
        let record = CKRecord(values: ["stars": 1, "double": 1.0, "bool": true])
        for (index, number) in FieldReading.numbers(record, key).enumerated() {
            #expect(number == 1, "spelling \(index)")
        }
    }

    @Test func `values come back as the types that apps switch over`() {
        let record = CKRecord(recordType: "Everything")
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("asset")
        FieldWriting.everyType(record, file: file)
        let kinds = record.allKeys().map { "\($0): \(FieldReading.kind(of: record[$0]))" }
        #expect(
            kinds == [
                "asNumber: number 42", "asValue: number 42", "asset: asset", "bool: number 1", "boolNumber: number 0",
                "boolValue: number 1", "data: data", "date: date", "dateValue: date", "dates: list 1",
                "double: number 2.5",
                "doubles: list 2", "float: number 0.5", "int: number 42", "int64: number 9223372036854775807",
                "int8: number -8", "ints: list 3", "listValue: strings 2", "location: location", "nsArray: strings 2",
                "nsData: data", "nsDate: date", "number: number 42", "reference: reference", "references: references 1",
                "string: string", "strings: strings 2", "uint64: number 1", "uint8: number 8",
            ])
        #expect(FieldReading.kind(of: record["missing"]) == "none")
        #expect((record["asset"] as? CKAsset)?.fileURL == file)
        #expect((record["location"] as? CLLocation)?.coordinate.latitude == 52.5)
        #expect(record["dates"] as? [Date] == [Date(timeIntervalSince1970: 1)])
        #expect(record["ints"] as? [Int] == [1, 2, 3])
        #expect(record["doubles"] as? [Double] == [0.5, 1])
        #expect(record["bool"] as? Bool == true && record["boolNumber"] as? Bool == false)
    }

    @Test func `values without a static type are field values if Foundation bridges them`() {
        let values: [String: Any] = [
            "list": ["a", "b"] as [Any], "cgFloat": CGFloat(1.5), "decimal": Decimal(2), "bool": true, "none": NSNull(),
            "dictionary": ["a": 1], "url": URL(fileURLWithPath: "/"), "uuid": UUID(),
        ]
        let record = CKRecord(recordType: "Note")
        for (key, value) in values { record[key] = value as? CKRecordValue }
        #expect(record.allKeys() == ["bool", "cgFloat", "decimal", "list"])
        #expect(record["list"] as? [String] == ["a", "b"])
        #expect(record["cgFloat"] as? Double == 1.5 && record["decimal"] as? Int == 2)
    }

    @Test func `an app's own subscript by its keys works beside CloudKit's`() {
        let record = CKRecord(recordType: "Note")
        record[NoteKey.title] = "text"
        record[NoteKey.stars] = 4
        record[NoteKey.body] = nil
        #expect(record[NoteKey.title] as? String == "text")
        #expect(record[NoteKey.stars.rawValue] as? Int == 4)
        #expect(NoteKey.allCases.filter { record[$0] != nil } == [.title, .stars])
    }

    @Test func `fields behind property wrappers read and write the record`() {
        let note = Note()
        note.title = "text"
        note.stars = 5
        note.tags = ["a", "b"]
        #expect(note.record.allKeys() == ["stars", "tags", "title"])
        note.stars = nil
        #expect(note.record["stars"] == nil && note.tags == ["a", "b"] && note.title == "text")
    }

    @Test func `records and IDs are keys of dictionaries and members of sets, and sort and group`() {
        let zone = CKRecordZone(zoneName: "Z")
        let ids = [
            CKRecord.ID(recordName: "a"), CKRecord.ID(recordName: "a", zoneID: zone.zoneID),
            CKRecord.ID(recordName: "a"),
        ]
        #expect(Set(ids).count == 2)
        let records = ids.map { CKRecord(recordType: "Note", recordID: $0) }
        #expect(Set(records).count == 2 && Set([zone, CKRecordZone(zoneName: "Z")]).count == 1)
        #expect(
            Dictionary(grouping: records, by: { $0.recordID.zoneID }).mapValues(\.count) == [
                .default: 2, zone.zoneID: 1,
            ])
        #expect(NSSet(array: records).count == 2 && NSDictionary(object: 1, forKey: ids[0])[ids[2]] as? Int == 1)
        #expect(ids[0].isEqual(ids[2]) && ids[0] == ids[2] && ids[0] !== ids[2] && ids[0] != ids[1])
        #expect(
            ids[0].hash == ids[2].hash && ids[0].hashValue == ids[2].hashValue && records[0] as NSObject == records[2])
        #expect(ids[0].copy() as? CKRecord.ID == ids[0] && (records[0].copy() as! CKRecord) !== records[0])
        #expect(
            "\(ids[1])".contains("a") && ids[1].debugDescription.contains("Z")
                && String(describing: records[0]).contains("Note"))
        let sorted = records.sorted { $0.modificationDate ?? .distantPast > $1.modificationDate ?? .distantPast }
        #expect(sorted.map(\.recordID.recordName) == ["a", "a", "a"])
    }

    @Test func `encrypted values replace a record in code that only sets keys`() {
        func fill(_ target: CKRecordKeyValueSetting) {
            target["a"] = 5
            target["b"] = "text" as CKRecordValue
            target.setObject(2 as NSNumber, forKey: "c")
        }
        let record = CKRecord(recordType: "Note")
        fill(record)
        fill(record.encryptedValues)
        let number: Int? = record.encryptedValues["a"]
        #expect(number == 5 && record.encryptedValues["b"] as? String == "text")
        #expect(record.encryptedValues.allKeys() == ["a", "b", "c"] && record.encryptedValues.changedKeys().count == 3)
    }
}

@Suite struct RealCodeErrorTests {
    private let ids = ["a", "b"].map { CKRecord.ID(recordName: $0) }

    private var partial: CKError {
        CKError(
            .partialFailure,
            userInfo: [
                CKPartialErrorsByItemIDKey: [ids[0]: CKError(.unknownItem), ids[1]: CKError(.batchRequestFailed)]
                    as [AnyHashable: any Error]
            ])
    }

    @Test func `enumerations have the cases that apps name`() {
        #expect(CKError.Code.allCases.count == 37 && CKDatabase.Scope.allCases == [.private, .shared])
    }

    @Test func `codes match in switches, catches and Foundation's errors`() {
        for code in CKError.Code.allCases {
            let error: any Error = CKError(code)
            #expect(!Diagnosis.isCloudKit(error, code).contains(false), "\(code)")
            #expect(code.diagnosticName == "\(code)")
            #expect(Diagnosis.isCloudKit(NSError(domain: CKErrorDomain, code: code.rawValue), code).contains(true))
        }
        #expect(Diagnosis.catching { throw CKError(.unknownItem) } == "unknown")
        #expect(Diagnosis.catching { throw CKError(.batchRequestFailed) } == "conflict")
        #expect(Diagnosis.catching { throw CKError(.userDeletedZone) } == "zone")
        #expect(Diagnosis.catching { throw CKError(.quotaExceeded) } == "code 25")
        #expect(Diagnosis.catching { throw NSError(domain: CKErrorDomain, code: 25) } == "code 25")
        #expect(Diagnosis.catching { throw NSError(domain: "mine", code: 25) } == "mine")
        #expect(Diagnosis.catching { throw CancellationError() } == "other")
        #expect(Diagnosis.name(CKError(.zoneNotFound)) == "zone" && Diagnosis.name(nil) == "not CloudKit's")
    }

    @Test func `retryAfterSeconds is found under every name`() {
        let error = CKError(.zoneBusy, userInfo: [CKErrorRetryAfterKey: 2.5])
        #expect(Diagnosis.retryDelay(error) == 2.5)
        #expect(Diagnosis.retryDelay(CKError(.zoneBusy)) == 3 && Diagnosis.retryDelay(CKError(.unknownItem)) == nil)
        for (index, delay) in Diagnosis.retryDelayFromFoundation(error).enumerated() {
            #expect(delay == 2.5, "spelling \(index)")
        }
    }

    @Test func `the items of a partial failure are found by every cast in use`() {
        for (index, names) in Diagnosis.partialErrors(partial).enumerated() {
            #expect(names == ["a", "b"], "cast \(index)")
        }
        for (index, codes) in Diagnosis.itemCodes(partial).enumerated() {
            #expect(codes == [.unknownItem, .batchRequestFailed], "cast \(index)")
        }
        #expect(partial.isOrHolds(.batchRequestFailed) && !partial.isOrHolds(.zoneBusy) && !partial.isRecoverable)
    }

    @Test func `the three records of a conflict are found under every name`() {
        let server = CKRecord(recordType: "Note")
        let client = CKRecord(recordType: "Note")
        let ancestor = CKRecord(recordType: "Note")
        let error = CKError(
            .serverRecordChanged,
            userInfo: [
                CKRecordChangedErrorServerRecordKey: server, CKRecordChangedErrorClientRecordKey: client,
                CKRecordChangedErrorAncestorRecordKey: ancestor,
            ])
        #expect(Diagnosis.conflict(error) == [server, server, client, client, ancestor, ancestor])
        let whole = CKError(.partialFailure, userInfo: [CKPartialErrorsByItemIDKey: [ids[0]: error]])
        #expect(whole.allMergeRecords.map(\.server) == [server] && whole.allMergeRecords.map(\.client) == [client])
    }
}
