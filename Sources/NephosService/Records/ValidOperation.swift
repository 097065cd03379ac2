import NephosWire

/// A well-formed operation: it passed all checks that do not need the store.
struct ValidOperation: Equatable {
    var operationType: RecordOperation.OperationType
    var recordName: String
    /// Nil only if the stored record determines it.
    var recordType: String?
    var recordChangeTag: String?
    var fields: RecordFields
    var parent: ReferenceChange
    /// The requested state of a share.
    var share: ShareToModify?
    /// Whether the response must have the last part of the URL of a share of the record.
    var createsShortGUID = false
    /// The wrapped keys of its encrypted values.
    var keys: [WrappedRecordKey] = []
    /// Fields that a replacement keeps unless it sets them.
    var keep: [String] = []

    var isOfShare: Bool { recordType == SystemRecordType.share }
}
