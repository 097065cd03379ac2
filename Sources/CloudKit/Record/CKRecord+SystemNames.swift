extension CKRecord {
    /// The record types that CloudKit itself defines.
    public enum SystemType {
        public static let userRecord: CKRecord.RecordType = "Users"
        public static let share: CKRecord.RecordType = "cloudkit.share"
    }

    /// The names by which predicates and sort descriptors speak of a record's metadata.
    public enum SystemFieldKey {
        public static let parent: CKRecord.FieldKey = "___parent"
        public static let share: CKRecord.FieldKey = "___share"
        public static var recordID: CKRecord.FieldKey { "___recordID" }
        public static var creationDate: CKRecord.FieldKey { "___createTime" }
        public static var creatorUserRecordID: CKRecord.FieldKey { "___createdBy" }
        public static var modificationDate: CKRecord.FieldKey { "___modTime" }
        public static var lastModifiedUserRecordID: CKRecord.FieldKey { "___modifiedBy" }
    }
}
