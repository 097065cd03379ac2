import CloudKit

/// Someone's name and telephone number.
struct Contact: Codable, Sendable {
    /// Names the contact's record, too.
    var id: UUID
    var name: String
    var phone: String
    /// When somebody edited the contact last: of two edits the later one wins.
    var edited: Date
    /// What is known of the record besides its fields; to be sent again with the next edit.
    var systemFields: Data?

    static let recordType = "Contact"
    static let zoneID = CKRecordZone.ID(zoneName: "Contacts")

    var recordID: CKRecord.ID { CKRecord.ID(recordName: id.uuidString, zoneID: Self.zoneID) }

    /// The record to save.
    var record: CKRecord {
        let record = lastKnownRecord ?? CKRecord(recordType: Self.recordType, recordID: recordID)
        record["name"] = name
        record["phone"] = phone
        record["edited"] = edited
        return record
    }

    private var lastKnownRecord: CKRecord? {
        guard let systemFields, let coder = try? NSKeyedUnarchiver(forReadingFrom: systemFields) else { return nil }
        coder.requiresSecureCoding = true
        defer { coder.finishDecoding() }
        return CKRecord(coder: coder)
    }

    /// Keeps what the server says of the record besides its fields.
    mutating func keep(_ record: CKRecord) {
        let coder = NSKeyedArchiver(requiringSecureCoding: true)
        record.encodeSystemFields(with: coder)
        coder.finishEncoding()
        systemFields = coder.encodedData
    }

    init(id: UUID = UUID(), name: String, phone: String, edited: Date) {
        self.id = id
        self.name = name
        self.phone = phone
        self.edited = edited
    }

    /// A contact that another device made.
    init?(_ record: CKRecord) {
        guard let id = UUID(uuidString: record.recordID.recordName), let name = record["name"] as? String else {
            return nil
        }
        self.init(
            id: id, name: name, phone: record["phone"] as? String ?? "",
            edited: record["edited"] as? Date ?? .distantPast)
        keep(record)
    }

    /// Takes over what the server has, unless what is here was edited later. Says whether it did.
    mutating func merge(_ record: CKRecord) -> Bool {
        keep(record)
        let theirs = record["edited"] as? Date ?? .distantPast
        guard theirs > edited else { return false }
        name = record["name"] as? String ?? name
        phone = record["phone"] as? String ?? phone
        edited = theirs
        return true
    }
}
