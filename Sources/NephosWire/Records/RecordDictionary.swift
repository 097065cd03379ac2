/// The user and time of a record's creation or modification, in milliseconds since 1970 (CloudKit Web Services, Record
/// Dictionary).
package struct TimestampDictionary: Hashable, Sendable {
    package var timestamp: Int64
    package var userRecordName: String
    package var deviceID: String?

    package init(timestamp: Int64, userRecordName: String, deviceID: String? = nil) {
        self.timestamp = timestamp
        self.userRecordName = userRecordName
        self.deviceID = deviceID
    }

    /// The device ID that the service sends for every device, because the service does not distinguish devices. Clients
    /// of CloudKit Web Services treat a dictionary without a `deviceID` as malformed.
    package static let anyDevice = "2"
}

/// A record in responses (CloudKit Web Services, Record Dictionary).
package struct RecordDictionary: Hashable, Sendable {
    package var recordName: String
    package var recordType: String
    package var recordChangeTag: String
    /// The zone of the record; nil for the zone that the request named.
    package var zoneID: ZoneIDDictionary?
    package var fields: EncodedFields
    package var created: TimestampDictionary?
    package var modified: TimestampDictionary?
    package var parent: ReferenceValue?
    package var share: ReferenceValue?
    /// The additional members of a share's record; nil for a record that is not a share.
    package var shareDetails: ShareDictionary?
    /// The last component of the URL of the record's share; nil unless a save requested it. For a share's own record,
    /// see `shareDetails`.
    package var shortGUID: String?

    package init(
        recordName: String, recordType: String, recordChangeTag: String, zoneID: ZoneIDDictionary? = nil,
        fields: EncodedFields = .empty, created: TimestampDictionary? = nil, modified: TimestampDictionary? = nil,
        parent: ReferenceValue? = nil, share: ReferenceValue? = nil, shareDetails: ShareDictionary? = nil
    ) {
        self.recordName = recordName
        self.recordType = recordType
        self.recordChangeTag = recordChangeTag
        self.zoneID = zoneID
        self.fields = fields
        self.created = created
        self.modified = modified
        self.parent = parent
        self.share = share
        self.shareDetails = shareDetails
    }

    /// The record type of shares (`CKRecord.SystemType.share`).
    package static let shareType = "cloudkit.share"
}

/// A deleted record in responses.
package struct DeletedRecord: Hashable, Sendable {
    package var recordName: String
    package var recordType: String?
    package var zoneID: ZoneIDDictionary?

    package init(recordName: String, recordType: String? = nil, zoneID: ZoneIDDictionary? = nil) {
        self.recordName = recordName
        self.recordType = recordType
        self.zoneID = zoneID
    }
}

/// An element of a `records` array of a response.
package enum RecordResult: Hashable, Sendable {
    case record(RecordDictionary)
    case deleted(DeletedRecord)
    case failure(ErrorDictionary)

    package var isFailure: Bool { if case .failure = self { true } else { false } }
}
