/// The system's record types (`CKRecord.SystemType`).
enum SystemRecordType {
    static let user = "Users"
    static let share = "cloudkit.share"

    /// The system fields of shares, with their types (CloudKit Web Services, Record Dictionary).
    static let shareFields = [
        "cloudkit.title": SchemaType(.string), "cloudkit.type": SchemaType(.string),
        "cloudkit.thumbnailImageData": SchemaType(.bytes),
    ]

    /// The type of a field that no save defines; nil for an app's field.
    static func type(ofField name: String, of recordType: String) -> SchemaType? {
        recordType == share ? shareFields[name] : nil
    }
}
