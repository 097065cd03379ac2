/// Apple's server error codes (CloudKit Web Services, error codes).
package enum ServerErrorCode: String, Hashable, Sendable, CaseIterable {
    case accessDenied = "ACCESS_DENIED"
    case atomicError = "ATOMIC_ERROR"
    case authenticationFailed = "AUTHENTICATION_FAILED"
    case authenticationRequired = "AUTHENTICATION_REQUIRED"
    case badRequest = "BAD_REQUEST"
    case conflict = "CONFLICT"
    case exists = "EXISTS"
    case internalError = "INTERNAL_ERROR"
    case notFound = "NOT_FOUND"
    case quotaExceeded = "QUOTA_EXCEEDED"
    case throttled = "THROTTLED"
    case tryAgainLater = "TRY_AGAIN_LATER"
    case validatingReferenceError = "VALIDATING_REFERENCE_ERROR"
    case zoneNotFound = "ZONE_NOT_FOUND"
}

/// An error as the whole answer of a request, or as one item of its result array
/// (CloudKit Web Services, Record Fetch Error Dictionary).
package struct ErrorDictionary: Hashable, Sendable {
    package var uuid: String
    package var serverErrorCode: ServerErrorCode
    package var reason: String
    /// The seconds to wait before a retry; nil if the service requests no delay.
    package var retryAfter: Double?
    package var redirectURL: String?
    package var recordName: String?
    package var zoneID: ZoneIDDictionary?
    package var subscriptionID: String?
    /// Our addition, `nephosErrorCode` on the wire: the raw value of a `CKError.Code` that describes the error better
    /// than the code derived from `serverErrorCode`.
    package var clientErrorCode: Int?
    /// Our addition, `nephosUserDidResetEncryptedData` on the wire: whether the zone was deleted because its user reset
    /// the encrypted data.
    package var userDidResetEncryptedData = false
    /// Our addition, `nephosNeedsKeys` on the wire: whether the save was refused because a record's wrapped key is
    /// missing, or is wrapped under a key that is not current.
    package var needsKeys = false
    /// Our addition, `nephosKeyGroup` on the wire: the name of the share whose key has to wrap the record's key; empty
    /// for the zone's key.
    package var keyGroup: String?
    /// Our addition, `nephosNeedsFile` on the wire: whether the save was refused because the field's record does not have
    /// the asset's file.
    package var needsFile = false
    /// Our addition, `nephosDuplicateOf` on the wire: the ID of the equivalent subscription; nil if there is none.
    package var duplicateOf: String?
    /// Our addition, `serverRecord` on the wire: the server's record of a conflict, for clients that request it.
    /// Contains at most one record.
    package var serverRecord: [RecordDictionary]

    package init(
        uuid: String, serverErrorCode: ServerErrorCode, reason: String, retryAfter: Double? = nil,
        redirectURL: String? = nil, recordName: String? = nil, zoneID: ZoneIDDictionary? = nil,
        subscriptionID: String? = nil, clientErrorCode: Int? = nil, serverRecord: RecordDictionary? = nil
    ) {
        self.uuid = uuid
        self.serverErrorCode = serverErrorCode
        self.reason = reason
        self.retryAfter = retryAfter
        self.redirectURL = redirectURL
        self.recordName = recordName
        self.zoneID = zoneID
        self.subscriptionID = subscriptionID
        self.clientErrorCode = clientErrorCode
        self.serverRecord = serverRecord.map { [$0] } ?? []
    }
}
