/// The record types of the system (`CKRecord.SystemType`).
enum SystemRecordType {
    static let user = "Users"
    static let share = "cloudkit.share"

    /// The system fields of shares and their types (CloudKit Web Services, Record Dictionary).
    static let shareFields = [
        "cloudkit.title": SchemaType(.string), "cloudkit.type": SchemaType(.string),
        "cloudkit.thumbnailImageData": SchemaType(.bytes),
    ]

    /// The type of a field that the system defines and no save adds; nil for an app's field.
    static func type(ofField name: String, of recordType: String) -> SchemaType? {
        recordType == share ? shareFields[name] : nil
    }
}
