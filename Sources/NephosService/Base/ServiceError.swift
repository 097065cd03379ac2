package import NephosWire

/// The refusal of a request or of one of its items: Apple's server error code, the `CKError.Code` that a native client
/// reports, and a reason on which a person can act.
package struct ServiceError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The `CKError.Code` that a native client reports (`CKError`, Apple's documentation), with its raw value.
    package enum ClientCode: Int, Hashable, Sendable {
        case internalError = 1
        case badContainer = 5
        case serviceUnavailable = 6
        case requestRateLimited = 7
        case notAuthenticated = 9
        case permissionFailure = 10
        case unknownItem = 11
        case invalidArguments = 12
        case serverRecordChanged = 14
        case serverRejectedRequest = 15
        case changeTokenExpired = 21
        case batchRequestFailed = 22
        case zoneBusy = 23
        case badDatabase = 24
        case quotaExceeded = 25
        case zoneNotFound = 26
        case limitExceeded = 27
        case userDeletedZone = 28
        case tooManyParticipants = 29
        case alreadyShared = 30
        case referenceViolation = 31
        case participantMayNeedVerification = 33
        case assetNotAvailable = 35
        case participantAlreadyInvited = 37
    }

    package var code: ServerErrorCode
    package var clientCode: ClientCode
    package var reason: String
    /// The error in the log.
    package var description: String { "\(code.rawValue): \(reason)" }
    /// The number of seconds until the client may retry; nil for no advice.
    package var retryAfter: Double?
    /// Whether the zone was deleted because its user reset the encrypted data (`CKErrorUserDidResetEncryptedDataKey`).
    package var userDidResetEncryptedData = false
    /// Whether a save lacks the record's wrapped key, or has one that is wrapped under an outdated key.
    package var needsKeys = false
    /// The share whose key must wrap the record's key; empty for the zone's key; nil if the error concerns no key.
    package var keyGroup: String?
    /// Whether a save has an asset whose file is neither uploaded nor that of the stored field.
    package var needsFile = false
    /// The ID of the existing subscription that the refused subscription duplicates; nil for other errors.
    package var duplicateOf: String?
    /// The code that a client reports instead of `clientCode`, if a fault was asked for; nil for the service's own errors.
    package var fault: FaultCode?

    package init(_ code: ServerErrorCode, _ clientCode: ClientCode, _ reason: String, retryAfter: Double? = nil) {
        self.code = code
        self.clientCode = clientCode
        self.reason = reason
        self.retryAfter = retryAfter
    }

    /// Returns the error in the form of a request's whole response.
    package func dictionary(requestID: String) -> ErrorDictionary {
        var dictionary = ErrorDictionary(
            uuid: requestID, serverErrorCode: code, reason: reason, retryAfter: retryAfter,
            clientErrorCode: fault?.rawValue ?? clientCode.rawValue)
        dictionary.userDidResetEncryptedData = userDidResetEncryptedData
        dictionary.needsKeys = needsKeys
        dictionary.keyGroup = keyGroup
        dictionary.needsFile = needsFile
        dictionary.duplicateOf = duplicateOf
        return dictionary
    }
}

extension ServiceError {
    static func invalid(_ reason: String) -> ServiceError {
        ServiceError(.badRequest, .invalidArguments, reason)
    }

    static func limitExceeded(_ reason: String) -> ServiceError {
        ServiceError(.badRequest, .limitExceeded, reason)
    }

    static func badDatabase(_ reason: String) -> ServiceError {
        ServiceError(.badRequest, .badDatabase, reason)
    }

    /// Apps compare Apple's text.
    static let zonePurged = ServiceError(.zoneNotFound, .userDeletedZone, "Zone was purged by user")

    static func zoneNotFound(_ zoneName: String) -> ServiceError {
        ServiceError(.zoneNotFound, .zoneNotFound, "Zone '\(zoneName)' does not exist")
    }

    static func referenceViolation(_ reason: String) -> ServiceError {
        ServiceError(.validatingReferenceError, .referenceViolation, reason)
    }

    static func notPermitted(_ permission: String, _ recordType: String, _ remedy: String) -> ServiceError {
        ServiceError(
            .accessDenied, .permissionFailure,
            "\(permission) operation not permitted on records of type '\(recordType)': \(remedy)")
    }
    /// The error for a record of which the caller may learn neither the content nor the type.
    static func notPermitted(_ permission: String) -> ServiceError {
        ServiceError(
            .accessDenied, .permissionFailure,
            "\(permission) operation not permitted: the schema does not grant READ of this record")
    }

    /// The error for a save of another account's user record: "A user can modify their own user record only"
    /// (`CKRecord.SystemType.userRecord`).
    static let anothersUserRecord = ServiceError(
        .accessDenied, .permissionFailure, "WRITE operation not permitted: a user record is its user's own")
    static let authenticationRequired = ServiceError(
        .authenticationRequired, .notAuthenticated, "request needs authorization")
    static let recordNotFound = ServiceError(.notFound, .unknownItem, "Record not found")
    /// The error for an update of a missing record, in the words of Apple's service.
    static let changeTagWithoutRecord = ServiceError(
        .notFound, .unknownItem, "recordChangeTag specified, but record not found")
    static let staleChangeTag = ServiceError(
        .conflict, .serverRecordChanged, "client oplock error updating record")
    static let recordExists = ServiceError(.exists, .serverRecordChanged, "record to insert already exists")
    static let changeTokenExpired = ServiceError(
        .badRequest, .changeTokenExpired, "client knowledge differs from server knowledge")
    static let defaultZoneHasNoChanges = ServiceError.invalid("cannot get changes in default zone")
    /// The error of the items of an atomic batch that did not themselves fail.
    static let atomicFailure = ServiceError(
        .atomicError, .batchRequestFailed, "Atomic failure: another operation of the same zone failed")
    static let internalError = ServiceError(
        .internalError, .internalError, "Internal error; the server's log has the details")
    /// The error for a damaged record. The store's log names the record.
    static let damagedRecord = ServiceError(
        .internalError, .internalError,
        "The record is damaged in the service's store; it can be had again from a backup of the store")
    /// The error of a service that is shutting down. Another server may have started by the time of the retry.
    static let unavailable = ServiceError(
        .tryAgainLater, .serviceUnavailable, "The service is shutting down", retryAfter: 5)
    /// The error of a request that was accepted before its container was deleted. Until the retry the server reads whether
    /// there is a container of that name again.
    static let containerDeleted = ServiceError(
        .tryAgainLater, .serviceUnavailable, "The container was deleted, or is being deleted", retryAfter: 5)
    static let busy = ServiceError(.tryAgainLater, .zoneBusy, "The database is busy", retryAfter: 1)
    package static let noRoom = ServiceError(
        .tryAgainLater, .zoneBusy, "The service holds as much for its clients as it may: ask again, for less at a time",
        retryAfter: 2)
    /// The error for a commit with an unknown outcome. A retry with the request's idempotency key is safe.
    static let unknownOutcome = ServiceError(
        .tryAgainLater, .serviceUnavailable, "It is not known whether the database committed the request", retryAfter: 1
    )
    /// The error for unusable storage. A client keeps its changes and retries, because a full disk has free bytes again
    /// once an operator frees some.
    static let diskFailure = ServiceError(
        .tryAgainLater, .serviceUnavailable, "The service cannot use its storage; its log has the details",
        retryAfter: 30)
}
