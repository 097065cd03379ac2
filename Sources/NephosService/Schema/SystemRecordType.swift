/// The record types that the system makes (`CKRecord.SystemType`).
enum SystemRecordType {
    static let user = "Users"
    static let share = "cloudkit.share"

    /// The fields of shares that are the system's, with their types (CloudKit Web Services, Record Dictionary).
    static let shareFields = [
        "cloudkit.title": SchemaType(.string), "cloudkit.type": SchemaType(.string),
        "cloudkit.thumbnailImageData": SchemaType(.bytes),
    ]

    /// The type of a field that no save defines; nil for those of apps.
    static func type(ofField name: String, of recordType: String) -> SchemaType? {
        recordType == share ? shareFields[name] : nil
    }
}
