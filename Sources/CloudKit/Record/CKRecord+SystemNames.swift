extension CKRecord {
    /// The record types that CloudKit itself defines.
    public enum SystemType {
        /// The type of an account's own record in a container: `Users`.
        public static let userRecord: CKRecord.RecordType = "Users"
        /// The type of a ``CKShare``.
        public static let share: CKRecord.RecordType = "cloudkit.share"
    }

    /// The names by which predicates and sort descriptors speak of a record's metadata.
    public enum SystemFieldKey {
        /// The reference of `CKRecord.parent`, for predicates.
        public static let parent: CKRecord.FieldKey = "___parent"
        /// The reference of `CKRecord.share`, for predicates.
        public static let share: CKRecord.FieldKey = "___share"
        /// The record's name, for predicates and orders.
        public static var recordID: CKRecord.FieldKey { "___recordID" }
        /// When the record was saved first, for predicates and orders.
        public static var creationDate: CKRecord.FieldKey { "___createTime" }
        /// Which account saved the record first, for predicates.
        public static var creatorUserRecordID: CKRecord.FieldKey { "___createdBy" }
        /// When the record was saved last, for predicates and orders.
        public static var modificationDate: CKRecord.FieldKey { "___modTime" }
        /// Which account saved the record last, for predicates.
        public static var lastModifiedUserRecordID: CKRecord.FieldKey { "___modifiedBy" }
    }
}
