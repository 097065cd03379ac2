// swift-format-ignore-file: NeverForceUnwrap

import CloudKit

// Every way that apps were seen to read and write the fields of a record.

enum NoteKey: String, CaseIterable {
    case title, body, stars, done
}

extension CKRecord {
    subscript<Key: RawRepresentable>(key: Key) -> Any? where Key.RawValue == String {
        get { self[key.rawValue] }
        set { self[key.rawValue] = newValue as? CKRecordValue }
    }

    convenience init(values: [String: Any], type: String = "Note") {
        self.init(recordType: type)
        setValuesForKeys(values)
    }

    func typedValue<T>(_ field: String, as _: T.Type = T.self) -> T? {
        guard let raw = self[field] else { return nil }
        return raw as? T
    }
}

extension CKRecord.ID {
    static func random(in zone: CKRecordZone = .default()) -> CKRecord.ID { CKRecord.ID(zoneID: zone.zoneID) }
}

enum FieldWriting {
    /// One value in every spelling: all of these records hold the same.
    static func spellings(of text: String) -> [CKRecord] {
        let optional: String? = text
        let anything: Any = text
        return [
            written { $0["k"] = text },
            written { $0["k"] = text as CKRecordValue },
            written { $0["k"] = text as NSString },
            written { $0["k"] = text as CKRecordValueProtocol },
            written { $0["k"] = text as __CKRecordObjCValue },
            written { $0["k"] = NSString(string: text) },
            written { $0["k"] = optional },
            written { $0["k"] = optional as CKRecordValue? },
            written { $0["k"] = optional as NSString? },
            written { $0["k"] = optional.map { $0 as CKRecordValue } },
            written { $0["k"] = optional ?? "" },
            written { $0["k"] = anything as? CKRecordValue },
            written { $0["k"] = anything as! CKRecordValue? },
            written { $0["k"] = (anything as! CKRecordValue) },
            written { $0["k"] = anything as? String },
            written { $0.setObject(text as CKRecordValue, forKey: "k") },
            written { $0.setObject(text as NSString, forKey: "k") },
            written { $0.setObject(anything as? CKRecordValue, forKey: "k") },
            written { $0.setValue(text, forKey: "k") },
            written { $0.setValue(optional, forKey: "k") },
            written { $0.setValue(text as NSString, forKey: "k") },
            written { $0.setValuesForKeys(["k": text]) },
            written { generic(text, $0) },
            written { genericProtocol(text, $0) },
            written { existential(text as CKRecordValue, $0) },
            written { record in for (key, value) in ["k": text as CKRecordValue] { record[key] = value } },
            written { record in for (key, value) in ["k": text as CKRecordValueProtocol] { record[key] = value } },
        ]
    }

    static func removals(of record: () -> CKRecord) -> [CKRecord] {
        let nothing: String? = nil
        let removals: [(CKRecord) -> Void] = [
            { $0["k"] = nil }, { $0["k"] = nothing }, { $0["k"] = nothing as CKRecordValue? },
            { $0.setObject(nil, forKey: "k") }, { $0.setValue(nil, forKey: "k") },
            { $0.setNilValueForTests("k") }, { existential(nil, $0) },
        ]
        return removals.map { remove in
            let record = record()
            remove(record)
            return record
        }
    }

    private static func written(_ write: (CKRecord) -> Void) -> CKRecord {
        let record = CKRecord(recordType: "Note")
        write(record)
        return record
    }

    static func generic<T: CKRecordValue>(_ value: T, _ record: CKRecord) { record.setObject(value, forKey: "k") }
    static func genericProtocol<T: CKRecordValueProtocol>(_ value: T, _ record: CKRecord) { record["k"] = value }
    static func existential(_ value: CKRecordValue?, _ record: CKRecord) { record["k"] = value }

    static func everyType(_ target: CKRecord, file: URL) {
        target["string"] = "text"
        target["int"] = 42
        target["number"] = NSNumber(value: 42)
        target["asNumber"] = 42 as NSNumber
        target["asValue"] = 42 as CKRecordValue
        target["int8"] = Int8(-8)
        target["uint8"] = UInt8(8)
        target["int64"] = Int64.max
        target["uint64"] = UInt64(1)
        target["double"] = 2.5
        target["float"] = Float(0.5)
        target["bool"] = true
        target["boolNumber"] = false as NSNumber
        target["boolValue"] = true as CKRecordValue
        target["date"] = Date(timeIntervalSince1970: 1)
        target["nsDate"] = NSDate(timeIntervalSince1970: 1)
        target["dateValue"] = Date(timeIntervalSince1970: 1) as CKRecordValue
        target["data"] = Data([1, 2])
        target["nsData"] = NSData(data: Data([1, 2]))
        target["location"] = CLLocation(latitude: 52.5, longitude: 13.4)
        target["reference"] = CKRecord.Reference(recordID: CKRecord.ID(recordName: "other"), action: .none)
        target["references"] = [CKRecord.Reference(record: target, action: .none)]
        target["strings"] = ["a", "b"]
        target["nsArray"] = ["a", "b"] as NSArray
        target["listValue"] = ["a", "b"] as CKRecordValue
        target["ints"] = [1, 2, 3]
        target["doubles"] = [0.5, 1]
        target["dates"] = [Date(timeIntervalSince1970: 1)]
        target["asset"] = CKAsset(fileURL: file)
    }
}

extension CKRecord {
    fileprivate func setNilValueForTests(_ key: String) { self[key] = nil as CKRecordValueProtocol? }
}

enum FieldReading {
    /// Every spelling of reading a string, an integer, a truth value and a date: all are found.
    static func strings(_ record: CKRecord, _ key: String) -> [String?] {
        let inferred: String? = record[key]
        let direct: String = record[key] ?? ""
        let foundation: NSString? = record[key]
        var results: [String?] = [
            record[key] as? String, record[key] as! String?, [record[key] as! String].first, inferred, direct,
            record.object(forKey: key) as? String, record.value(forKey: key) as? String,
            (record[key] as? NSString).map(String.init(_:)), foundation.map(String.init(_:)),
            record.typedValue(key), record.typedValue(key, as: String.self), record[key]?.description,
            record.value(forKeyPath: key) as? String, record.dictionaryWithValues(forKeys: [key])[key] as? String,
        ]
        if let text: String = record[key] { results.append(text) }
        if case let text as String = record[key] { results.append(text) }
        switch record[key] {
        case let text as String: results.append(text)
        default: results.append(nil)
        }
        for (name, value) in record where name == key { results.append(value as? String) }
        results.append(record.first { $0.0 == key }?.1 as? String)
        results.append(Dictionary(uniqueKeysWithValues: record.map { ($0, $1) })[key] as? String)
        return results
    }

    static func numbers(_ record: CKRecord, _ key: String) -> [Double?] {
        let int: Int? = record[key]
        let int64: Int64? = record[key]
        let double: Double? = record[key]
        let number: NSNumber? = record[key]
        return [
            int.map(Double.init), int64.map(Double.init), double, number?.doubleValue,
            (record[key] as? Int).map(Double.init), (record[key] as? Int64).map(Double.init),
            (record[key] as? UInt8).map(Double.init), record[key] as? Double,
            (record[key] as? Float).map(Double.init), (record[key] as? NSNumber)?.doubleValue,
            Double((record[key] as? NSNumber)?.intValue ?? -1), Double(record[key] as! Int),
        ]
    }

    static func kind(of value: Any?) -> String {
        switch value {
        case is String: "string"
        case let value as NSNumber: "number \(value)"
        case is Date: "date"
        case is Data: "data"
        case is CLLocation: "location"
        case is CKRecord.Reference: "reference"
        case is CKAsset: "asset"
        case let value as [CKRecord.Reference]: "references \(value.count)"
        case let value as [String]: "strings \(value.count)"
        case let value as [Any]: "list \(value.count)"
        case .none: "none"
        default: "other"
        }
    }
}

/// A field as a property.
@propertyWrapper struct Field<Value: CKRecordValueProtocol> {
    let record: CKRecord
    let key: String
    var wrappedValue: Value? {
        get { record[key] }
        nonmutating set { record[key] = newValue }
    }
}

struct Note {
    let record: CKRecord
    @Field var title: String?
    @Field var stars: Int?
    @Field var tags: [String]?

    init(_ record: CKRecord = CKRecord(recordType: "Note")) {
        self.record = record
        _title = Field(record: record, key: "title")
        _stars = Field(record: record, key: "stars")
        _tags = Field(record: record, key: "tags")
    }
}
