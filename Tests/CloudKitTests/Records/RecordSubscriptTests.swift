import CloudKit
import Testing

/// Every form in which code for Apple's CloudKit sets and gets a field. Compiling is half of each test.
@Suite struct RecordSubscriptTests {
    let record = CKRecord(recordType: "Note")

    @Test func `literals are set by subscript`() {
        record["text"] = "text"
        record["int"] = 5
        record["double"] = 5.5
        record["flag"] = true
        record["list"] = ["a", "b"]
        record["numbers"] = [1, 2, 3]
        #expect(record["text"] as? String == "text")
        #expect(record["int"] as? Int == 5)
        #expect(record["double"] as? Double == 5.5)
        #expect(record["flag"] as? Bool == true)
        #expect(record["flag"] as? Int == 1)
        #expect(record["list"] as? [String] == ["a", "b"])
        #expect(record["numbers"] as? [Int] == [1, 2, 3])
    }

    @Test func `values compare as objects, whatever they were set from`() throws {
        record["one"] = 1
        record["same"] = 1.0
        record["text"] = "1"
        record["list"] = ["a"]
        let one = try #require(record["one"])
        #expect(one.isEqual(record["same"]) && one.isEqual(1) && one.hash == record["same"]?.hash)
        #expect(!one.isEqual(record["text"]) && !one.isEqual(record["absent"]) && !one.isEqual(NSNull()))
        #expect(record["list"]?.isEqual(["a"]) == true && record["list"]?.isEqual(["b"]) == false)
        #expect("text".hash == NSString(string: "text").hash)
    }

    @Test func `a field reads as a CGFloat on request`() {
        record["width"] = CGFloat(1.5)
        let width: CGFloat? = record["width"]
        #expect(width == 1.5 && (record["width"] as? Double) == 1.5)
    }

    @Test func `values of every Swift type are set by subscript and read by a cast`() {
        let date = Date(timeIntervalSince1970: 1_700_000_000.5)
        record["date"] = date
        record["data"] = Data([1, 2, 3])
        record["int8"] = Int8(-8)
        record["uint64"] = UInt64.max
        record["int64"] = Int64.min
        record["float"] = Float(1.25)
        record["dates"] = [date]
        record["blobs"] = [Data([1]), Data()]
        #expect(record["date"] as? Date == date)
        #expect(record["date"] as? NSDate == date as NSDate)
        #expect(record["data"] as? Data == Data([1, 2, 3]))
        #expect(record["data"] as? NSData == NSData(data: Data([1, 2, 3])))
        #expect(record["int8"] as? Int8 == -8)
        #expect(record["int8"] as? Int == -8)
        #expect(record["uint64"] as? UInt64 == .max)
        #expect(record["int64"] as? Int64 == .min)
        #expect(record["float"] as? Float == 1.25)
        #expect(record["float"] as? Double == 1.25)
        #expect(record["dates"] as? [Date] == [date])
        #expect(record["blobs"] as? [Data] == [Data([1]), Data()])
    }

    @Test func `CloudKit's own objects are set by subscript`() {
        let reference = CKRecord.Reference(recordID: CKRecord.ID(recordName: "target"), action: .deleteSelf)
        let asset = CKAsset(fileURL: URL(fileURLWithPath: "/tmp/file"))
        let location = CLLocation(latitude: 52.5, longitude: 13.4)
        record["reference"] = reference
        record["references"] = [reference, reference]
        record["asset"] = asset
        record["location"] = location
        #expect(record["reference"] as? CKRecord.Reference == reference)
        #expect(record["references"] as? [CKRecord.Reference] == [reference, reference])
        #expect(record["asset"] as? CKAsset === asset)
        #expect((record["asset"] as! CKAsset).fileURL?.path == "/tmp/file")
        #expect(record["location"] as? CLLocation == location)
    }

    @Test func `nil and optional values are set by subscript`() {
        let some: String? = "text"
        let none: String? = nil
        let date: Date? = Date()
        record["text"] = some
        record["date"] = date
        #expect(record["text"] == some)
        #expect(record["date"] == date)
        record["text"] = none
        #expect(record["text"] == nil)
        record["date"] = nil
        #expect(record["date"] == nil)
        #expect(record.allKeys().isEmpty)
    }

    @Test func `values are set as any CKRecordValue and as Foundation objects`() {
        let text = "text"
        let numbers = [1, 2]
        let any: Any = "any"
        record["a"] = text as any CKRecordValue
        record["b"] = text as (any CKRecordValue)?
        record["c"] = text as NSString
        record["d"] = 5 as any CKRecordValue
        record["e"] = Date(timeIntervalSince1970: 0) as NSDate as any CKRecordValue
        record["f"] = numbers as any CKRecordValue
        record["g"] = (any as! any CKRecordValue)
        record["h"] = any as? any CKRecordValue
        record["i"] = NSNumber(value: 7)
        record["j"] = NSNumber(value: true) as any CKRecordValue
        record["k"] = ["x"] as NSArray
        record["l"] = NSData(data: Data([1]))
        record["m"] = false as NSNumber
        #expect(record["a"] as? String == "text")
        #expect(record["b"] as? String == "text")
        #expect(record["c"] as? String == "text")
        #expect(record["d"] as! Int == 5)
        #expect(record["e"] as? Date == Date(timeIntervalSince1970: 0))
        #expect(record["f"] as? [Int] == [1, 2])
        #expect(record["g"] as? String == "any")
        #expect(record["h"] as? String == "any")
        #expect(record["i"] as? NSNumber == 7)
        #expect(record["j"] as? Bool == true)
        #expect(record["k"] as? [String] == ["x"])
        #expect(record["l"] as? Data == Data([1]))
        #expect(record["m"] as? Bool == false)
    }

    @Test func `values are set through the protocols' existential types and generic code`() {
        func set<Value: CKRecordValueProtocol>(_ value: Value, _ key: String) { record[key] = value }
        func get<Value: CKRecordValueProtocol>(_ key: String) -> Value? { record[key] }
        let existential: any CKRecordValueProtocol = "x"
        let optional: (any CKRecordValueProtocol)? = 4
        set("text", "a")
        set([1, 2], "b")
        record["c"] = existential
        record["d"] = optional
        #expect(get("a") == "text")
        #expect(get("b") == [1, 2])
        #expect(get("c") == "x")
        #expect(get("d") == 4)
    }

    @Test func `fields are read into typed variables`() throws {
        record["text"] = "text"
        record["count"] = 3
        record["date"] = Date(timeIntervalSince1970: 1)
        let text: String? = record["text"]
        let count: Int? = record["count"]
        let value: (any CKRecordValue)? = record["text"]
        let wide: (any CKRecordValueProtocol)? = record["text"]
        #expect(text == "text")
        #expect(count == 3)
        #expect(value as? String == "text")
        #expect(wide as? String == "text")
        if let text: String = record["text"] { #expect(text == "text") } else { Issue.record("no text") }
        guard let date = record["date"] as? Date else {
            Issue.record("no date")
            return
        }
        #expect(date == Date(timeIntervalSince1970: 1))
        let implicit = record["text"] as! String
        #expect(implicit.count == 4)
        #expect(try #require(record["count"] as Int?) == 3)
    }

    @Test func `fields are compared with nil and fall back to a default`() {
        record["text"] = "text"
        #expect(record["missing"] == nil)
        #expect(record["text"] != nil)
        let present: String = record["text"] ?? "default"
        let absent: String = record["missing"] ?? "default"
        #expect(present == "text")
        #expect(absent == "default")
        #expect(record["missing"] ?? 7 == 7)
        #expect((record["missing"] as? String ?? "default") == "default")
    }

    @Test func `a field of another type reads as nil`() {
        record["text"] = "text"
        record["number"] = 5
        let number: Int? = record["text"]
        #expect(number == nil)
        #expect(record["text"] as? Date == nil)
        #expect(record["number"] as? String == nil)
        #expect(record["number"] as? Bool == nil)
        #expect(record["number"] as? [Int] == nil)
    }

    @Test func `fields are set and read with key-value coding's methods`() {
        record.setValue("x", forKey: "k")
        record.setValue(5, forKey: "n")
        record.setValue(Date(timeIntervalSince1970: 5), forKey: "d")
        record.setObject("y" as NSString, forKey: "s")
        record.setObject("z" as (any CKRecordValue)?, forKey: "t")
        record.setObject(["a"] as NSArray, forKey: "list")
        #expect(record.value(forKey: "k") as? String == "x")
        #expect(record.value(forKey: "n") as? Int == 5)
        #expect(record.value(forKey: "d") as? Date == Date(timeIntervalSince1970: 5))
        #expect(record.object(forKey: "s") as? String == "y")
        #expect(record.object(forKey: "t") as? NSString == "z")
        #expect(record.object(forKey: "list") as? [String] == ["a"])
        record.setValue(nil, forKey: "k")
        record.setObject(nil, forKey: "s")
        #expect(record.value(forKey: "k") == nil)
        #expect(record.object(forKey: "s") == nil)
    }

    @Test func `keys may be an enumeration's raw values`() {
        enum Key: String { case title, count }
        record[Key.title.rawValue] = "a title"
        record[Key.count.rawValue] = 2
        #expect(record[Key.title.rawValue] as? String == "a title")
        #expect(record.allKeys() == ["count", "title"])
    }

    @Test func `a record is a sequence of its keys and values`() {
        record["b"] = 1
        record["a"] = "x"
        var seen: [String: Any] = [:]
        for (key, value) in record { seen[key] = value }
        #expect(Set(seen.keys) == ["a", "b"])
        #expect(seen["a"] as? String == "x")
        #expect(seen["b"] as? Int64 == 1 && seen["b"] as? Double == nil && seen["b"] as? NSNumber == 1)
        #expect(record.map(\.0) == ["a", "b"])
    }

    @Test func `a list of numbers is read as a list of another number type`() {
        let record = CKRecord(recordType: "T")
        record["flags"] = [true, false]
        #expect(record["flags"] as [Int]? == [1, 0] && record["flags"] as [Double]? == [1, 0])
        record["numbers"] = [3.7, 0]
        #expect(record["numbers"] as [Int]? == [3, 0] && record["numbers"] as [Bool]? == [true, false])
        record["texts"] = ["1", "2"]
        #expect(record["texts"] as [Int]? == nil && record["texts"] as [String]? == ["1", "2"])
        record["none"] = [Int]()
        #expect(record["none"] as [Int]? == [] && record["none"] as [String]? == [])
        #expect(record["missing"] as [Int]? == nil)
    }

    @Test func `a numeric field converts to the requested number type`() {
        record["n"] = 3.7
        record["flag"] = 1
        let whole: Int? = record["n"]
        let small: UInt8? = record["n"]
        let truth: Bool? = record["flag"]
        let text: String? = record["n"]
        #expect(whole == 3 && small == 3 && truth == true && text == nil)
        #expect(record["n"] as Float? == 3.7 && record["n"] as NSNumber? == 3.7)
    }

    @Test func `iterated values have Swift types`() {
        record["flag"] = true
        record["list"] = ["a"]
        record["data"] = Data([1]) as NSData
        let values: [String: Any] = Dictionary(uniqueKeysWithValues: record.map { ($0, $1) })
        #expect(values["flag"] as? Int64 == 1 && values["flag"] as? Bool == nil)
        #expect(values["list"] as? [String] == ["a"] && values["data"] is Data)
    }

    @Test func `encrypted values are set and read like the record's other values`() {
        record.encryptedValues["ownerName"] = "Maria Ruiz"
        record.encryptedValues["age"] = 44
        record.encryptedValues["since"] = Date(timeIntervalSince1970: 9) as any CKRecordValue
        let name: String? = record.encryptedValues["ownerName"]
        #expect(name == "Maria Ruiz")
        #expect(record.encryptedValues["ownerName"] as? NSString == "Maria Ruiz")
        #expect(record.encryptedValues["age"] as? Int == 44)
        #expect(record.encryptedValues["since"] as? Date == Date(timeIntervalSince1970: 9))
        record.encryptedValues["age"] = nil
        #expect(record.encryptedValues["age"] == nil)
    }
}
