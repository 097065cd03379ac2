/// The record types that the system makes (`CKRecord.SystemType`).
enum SystemRecordType {
    static let user = "Users"
    static let share = "cloudkit.share"
}
