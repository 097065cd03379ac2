import CloudKit

// Every way that apps were seen to keep records and IDs on disk.

extension CKRecord {
    var encodedSystemFields: Data {
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        encodeSystemFields(with: archiver)
        archiver.finishEncoding()
        return archiver.encodedData
    }

    convenience init?(archivedData: Data) {
        do {
            let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archivedData)
            unarchiver.requiresSecureCoding = true
            self.init(coder: unarchiver)
        } catch {
            return nil
        }
    }

    static func decoded(from data: Data) throws -> CKRecord? {
        let coder = try NSKeyedUnarchiver(forReadingFrom: data)
        coder.requiresSecureCoding = true
        defer { coder.finishDecoding() }
        return CKRecord(coder: coder)
    }

    var archived: Data? { try? NSKeyedArchiver.archivedData(withRootObject: self, requiringSecureCoding: true) }

    static func unarchived(_ data: Data) -> CKRecord? {
        try? NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data)
    }
}

extension CKSubscription {
    convenience init?(archivedData: Data) {
        guard let unarchiver = try? NSKeyedUnarchiver(forReadingFrom: archivedData) else { return nil }
        unarchiver.requiresSecureCoding = true
        self.init(coder: unarchiver)
    }

    var encoded: Data {
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        encode(with: archiver)
        return archiver.encodedData
    }
}

/// A record behind `Codable`.
struct RecordMetadata: Codable {
    @CodedByArchiver var recordID: CKRecord.ID
    var systemFields: Data
    var zone: CodableZoneID

    init(_ record: CKRecord) {
        _recordID = CodedByArchiver(wrappedValue: record.recordID)
        systemFields = record.encodedSystemFields
        zone = CodableZoneID(record.recordID.zoneID)
    }
}

struct CodableZoneID: Codable, Hashable {
    let zoneName: String
    let ownerName: String

    init(_ id: CKRecordZone.ID) {
        zoneName = id.zoneName
        ownerName = id.ownerName
    }

    var zoneID: CKRecordZone.ID { CKRecordZone.ID(zoneName: zoneName, ownerName: ownerName) }
}

@propertyWrapper struct CodedByArchiver<Value: NSObject & NSSecureCoding>: Codable {
    var wrappedValue: Value

    init(wrappedValue: Value) { self.wrappedValue = wrappedValue }

    init(from decoder: Decoder) throws {
        let data = try decoder.singleValueContainer().decode(Data.self)
        guard let value = try NSKeyedUnarchiver.unarchivedObject(ofClass: Value.self, from: data) else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "no \(Value.self)"))
        }
        wrappedValue = value
    }

    func encode(to encoder: Encoder) throws {
        let data = try NSKeyedArchiver.archivedData(withRootObject: wrappedValue, requiringSecureCoding: true)
        var container = encoder.singleValueContainer()
        try container.encode(data)
    }
}

/// Values of a record from and into a `Codable` type, by way of its properties.
struct RecordEncoder {
    func encode<Value: Encodable>(_ value: Value, as type: String, zone: CKRecordZone = .default()) throws -> CKRecord {
        let record = CKRecord(recordType: type, recordID: CKRecord.ID(zoneID: zone.zoneID))
        let object = try JSONSerialization.jsonObject(with: JSONEncoder().encode(value)) as? [String: Any] ?? [:]
        for (key, value) in object {
            guard let value = value as? CKRecordValue else { throw CocoaError(.coderInvalidValue) }
            record[key] = value
        }
        return record
    }

    func decode<Value: Decodable>(_ type: Value.Type, from record: CKRecord) throws -> Value {
        var object: [String: Any] = [:]
        for key in record.allKeys() { object[key] = record[key] }
        return try JSONDecoder().decode(type, from: JSONSerialization.data(withJSONObject: object))
    }
}
