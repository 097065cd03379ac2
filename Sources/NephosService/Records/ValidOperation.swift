import NephosWire

/// An operation that is well-formed: everything about it that can be known without looking at the store.
struct ValidOperation: Equatable {
    var operationType: RecordOperation.OperationType
    var recordName: String
    /// Nil only where the stored record says it.
    var recordType: String?
    var recordChangeTag: String?
    var fields: RecordFields
    var parent: ReferenceChange
    /// What a share is to be.
    var share: ShareToModify?
    /// Whether the answer is to have what the URL of a share of the record ends in.
    var createsShortGUID = false
    /// The wrapped keys of its encrypted values.
    var keys: [WrappedRecordKey] = []
    /// Fields that a replacement leaves as they are, unless it has them.
    var keep: [String] = []

    var isOfShare: Bool { recordType == SystemRecordType.share }
}
