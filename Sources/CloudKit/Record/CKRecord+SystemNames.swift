extension CKRecord {
    /// The record types that CloudKit itself defines.
    public enum SystemType {
        /// The type of an account's own record in a container: `Users`.
        public static let userRecord: CKRecord.RecordType = "Users"
        /// The type of a ``CKShare``.
        public static let share: CKRecord.RecordType = "cloudkit.share"
    }

    /// The keys of a record's metadata in predicates and sort descriptors.
    public enum SystemFieldKey {
        /// The key of ``CKRecord/parent``, for predicates.
        public static let parent: CKRecord.FieldKey = "___parent"
        /// The key of ``CKRecord/share``, for predicates.
        public static let share: CKRecord.FieldKey = "___share"
        /// The key of the record's name, for predicates and sort descriptors.
        public static var recordID: CKRecord.FieldKey { "___recordID" }
        /// The key of the date of the first save, for predicates and sort descriptors.
        public static var creationDate: CKRecord.FieldKey { "___createTime" }
        /// The key of the user who first saved the record, for predicates.
        public static var creatorUserRecordID: CKRecord.FieldKey { "___createdBy" }
        /// The key of the date of the last save, for predicates and sort descriptors.
        public static var modificationDate: CKRecord.FieldKey { "___modTime" }
        /// The key of the user who last saved the record, for predicates.
        public static var lastModifiedUserRecordID: CKRecord.FieldKey { "___modifiedBy" }
    }
}
