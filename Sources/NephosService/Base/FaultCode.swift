import NephosWire

/// The codes of `CKError` (Apple's documentation) by their raw values: those that the service reports, and those that
/// only a network, a device or Apple's capacity causes. A fault has a client report any of them.
package enum FaultCode: Int, Hashable, Sendable, CaseIterable {
    case internalError = 1
    case partialFailure, networkUnavailable, networkFailure, badContainer, serviceUnavailable, requestRateLimited
    case missingEntitlement, notAuthenticated, permissionFailure, unknownItem, invalidArguments, resultsTruncated
    case serverRecordChanged, serverRejectedRequest, assetFileNotFound, assetFileModified, incompatibleVersion
    case constraintViolation, operationCancelled, changeTokenExpired, batchRequestFailed, zoneBusy, badDatabase
    case quotaExceeded, zoneNotFound, limitExceeded, userDeletedZone, tooManyParticipants, alreadyShared
    case referenceViolation, managedAccountRestricted, participantMayNeedVerification, serverResponseLost
    case assetNotAvailable, accountTemporarilyUnavailable, participantAlreadyInvited

    /// The code's name in `CKError.Code`.
    package var name: String { String(describing: self) }

    /// Creates the code with a name of `CKError.Code`; nil for another text.
    package init?(name: some StringProtocol) {
        guard let code = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = code
    }

    /// Whether Apple's framework reports the code for single items, in the `partialFailure` of a batch. It reports the
    /// others for a whole operation.
    var isOfItems: Bool {
        switch self {
        case .partialFailure, .permissionFailure, .unknownItem, .invalidArguments, .serverRecordChanged,
            .assetFileNotFound, .assetFileModified, .assetNotAvailable, .constraintViolation, .changeTokenExpired,
            .batchRequestFailed, .zoneBusy, .quotaExceeded, .zoneNotFound, .userDeletedZone, .tooManyParticipants,
            .alreadyShared, .referenceViolation, .participantMayNeedVerification, .participantAlreadyInvited:
            true
        default: false
        }
    }

    /// The seconds that a client is asked to wait unless the fault says how long. Apps really wait, so it is short.
    var retryAfter: Double? {
        switch self {
        case .serviceUnavailable, .requestRateLimited, .zoneBusy: 0.1
        default: nil
        }
    }

    /// The server error code that goes with the code over HTTP.
    var serverCode: ServerErrorCode {
        switch self {
        case .networkUnavailable, .networkFailure, .serviceUnavailable, .serverResponseLost, .zoneBusy,
            .accountTemporarilyUnavailable:
            .tryAgainLater
        case .requestRateLimited: .throttled
        case .notAuthenticated: .authenticationFailed
        case .permissionFailure, .missingEntitlement, .managedAccountRestricted: .accessDenied
        case .unknownItem, .assetFileNotFound: .notFound
        case .serverRecordChanged: .conflict
        case .constraintViolation, .referenceViolation: .validatingReferenceError
        case .batchRequestFailed: .atomicError
        case .quotaExceeded: .quotaExceeded
        case .zoneNotFound, .userDeletedZone: .zoneNotFound
        case .internalError: .internalError
        default: .badRequest
        }
    }
}
