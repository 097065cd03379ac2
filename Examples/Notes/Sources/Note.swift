import CloudKit

/// A note, as the user sees it.
public struct Note: Codable, Hashable, Sendable, Identifiable {
    /// Names the note's record, too.
    public let id: String
    public var text: String
    /// When the text was edited, in milliseconds since 1970: of two edits the later one wins.
    public var edited: Int
}

/// How notes are stored in iCloud.
extension Note {
    static let recordType = "Note"
    static let zoneID = CKRecordZone.ID(zoneName: "Notes")

    static func recordID(_ id: String) -> CKRecord.ID { CKRecord.ID(recordName: id, zoneID: zoneID) }

    /// A note of another device; nil for a record that is none.
    init?(_ record: CKRecord) {
        guard record.recordType == Self.recordType, let text = record.encryptedValues["text"] as? String else {
            return nil
        }
        self.init(id: record.recordID.recordName, text: text, edited: record["edited"] as? Int ?? 0)
    }

    func write(to record: CKRecord) {
        record.encryptedValues["text"] = text
        record["edited"] = edited
    }
}

extension CKRecord {
    /// Everything but the fields: what the service needs to know which version of the record an edit began with.
    var systemFields: Data {
        let coder = NSKeyedArchiver(requiringSecureCoding: true)
        encodeSystemFields(with: coder)
        coder.finishEncoding()
        return coder.encodedData
    }

    convenience init?(systemFields: Data) {
        guard let coder = try? NSKeyedUnarchiver(forReadingFrom: systemFields) else { return nil }
        coder.requiresSecureCoding = true
        defer { coder.finishDecoding() }
        self.init(coder: coder)
    }
}
