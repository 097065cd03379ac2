import NephosWire

/// A well-formed operation, which has passed all checks that do not need the store.
struct ValidOperation: Equatable {
    var operationType: RecordOperation.OperationType
    var recordName: String
    /// The record's type; nil only if the stored record determines it.
    var recordType: String?
    var recordChangeTag: String?
    var fields: RecordFields
    var parent: ReferenceChange
    /// The requested state of a share; nil if the operation does not change a share.
    var share: ShareToModify?
    /// Whether the response must contain the last part of the URL of the record's present or future share.
    var createsShortGUID = false
    /// The wrapped keys of the operation's encrypted values.
    var keys: [WrappedRecordKey] = []
    /// The names of the fields that a replacement keeps unless it sets them.
    var keep: [String] = []

    var isOfShare: Bool { recordType == SystemRecordType.share }
}
