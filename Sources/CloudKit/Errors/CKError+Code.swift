public import Foundation

extension CKError {
    /// The code of an error (CKError.Code, Apple's documentation).
    public enum Code: Int, _ErrorCodeProtocol, Hashable, Sendable, BitwiseCopyable {
        public typealias _ErrorType = CKError

        /// The framework or the service is at fault; a retry does not help.
        case internalError = 1
        /// Some items of a batch failed; `partialErrorsByItemID` has their errors.
        case partialFailure = 2
        /// The device has no network connection.
        case networkUnavailable = 3
        /// The device has a network connection, but the request failed.
        case networkFailure = 4
        /// The container is unknown, or does not belong to the app.
        case badContainer = 5
        /// The service cannot answer at the moment.
        case serviceUnavailable = 6
        /// The client sends requests too often.
        case requestRateLimited = 7
        /// The app lacks the entitlement to use CloudKit.
        case missingEntitlement = 8
        /// The device has no account, or the service refused the account's credentials.
        case notAuthenticated = 9
        /// The account has no permission for the operation.
        case permissionFailure = 10
        /// The record, share or subscription does not exist.
        case unknownItem = 11
        /// The request is not valid; the error's description names the defect.
        case invalidArguments = 12
        /// A code that is never reported.
        case resultsTruncated = 13
        /// The record on the server differs from the version that the client changed.
        case serverRecordChanged = 14
        /// The service refused the request.
        case serverRejectedRequest = 15
        /// The file of an asset does not exist.
        case assetFileNotFound = 16
        /// The file of an asset changed while the library uploaded it.
        case assetFileModified = 17
        /// The app's version is older than the container allows.
        case incompatibleVersion = 18
        /// A value that must be unique exists already, or a validating reference refuses the change.
        case constraintViolation = 19
        /// The operation was cancelled.
        case operationCancelled = 20
        /// The change token is too old; fetch from the beginning.
        case changeTokenExpired = 21
        /// Another item of the same atomic batch failed, so this one was not changed.
        case batchRequestFailed = 22
        /// Too many clients change the zone at once.
        case zoneBusy = 23
        /// The database does not support the operation.
        case badDatabase = 24
        /// The storage quota is used up.
        case quotaExceeded = 25
        /// The zone does not exist.
        case zoneNotFound = 26
        /// The request or a record in it is too large; split it.
        case limitExceeded = 27
        /// The zone was deleted because the user removed the app's data. Discard the device's copy too.
        case userDeletedZone = 28
        /// The share has too many participants.
        case tooManyParticipants = 29
        /// The record, or one above or below it in its hierarchy, is in a share already.
        case alreadyShared = 30
        /// The target of a reference does not exist.
        case referenceViolation = 31
        /// The account is managed and has no permission for the operation.
        case managedAccountRestricted = 32
        /// The user is no participant, but can become one by opening the share's link.
        case participantMayNeedVerification = 33
        /// The service executed the request, but its response was lost.
        case serverResponseLost = 34
        /// The file of an asset cannot be read, or assets cannot be sent.
        case assetNotAvailable = 35
        /// The device has an account, but the account is not ready.
        case accountTemporarilyUnavailable = 36
        /// The user was invited already and has to accept that invitation.
        case participantAlreadyInvited = 37
    }
}

// The codes on the error type itself, so that `catch CKError.unknownItem` reads as it does on Apple's platforms.
extension CKError {
    /// The framework or the service is at fault; a retry does not help.
    public static var internalError: CKError.Code { .internalError }
    /// Some items of a batch failed; `partialErrorsByItemID` has their errors.
    public static var partialFailure: CKError.Code { .partialFailure }
    /// The device has no network connection.
    public static var networkUnavailable: CKError.Code { .networkUnavailable }
    /// The device has a network connection, but the request failed.
    public static var networkFailure: CKError.Code { .networkFailure }
    /// The container is unknown, or does not belong to the app.
    public static var badContainer: CKError.Code { .badContainer }
    /// The service cannot answer at the moment.
    public static var serviceUnavailable: CKError.Code { .serviceUnavailable }
    /// The client sends requests too often.
    public static var requestRateLimited: CKError.Code { .requestRateLimited }
    /// The app lacks the entitlement to use CloudKit.
    public static var missingEntitlement: CKError.Code { .missingEntitlement }
    /// The device has no account, or the service refused the account's credentials.
    public static var notAuthenticated: CKError.Code { .notAuthenticated }
    /// The account has no permission for the operation.
    public static var permissionFailure: CKError.Code { .permissionFailure }
    /// The record, share or subscription does not exist.
    public static var unknownItem: CKError.Code { .unknownItem }
    /// The request is not valid; the error's description names the defect.
    public static var invalidArguments: CKError.Code { .invalidArguments }
    /// A code that is never reported.
    public static var resultsTruncated: CKError.Code { .resultsTruncated }
    /// The record on the server differs from the version that the client changed.
    public static var serverRecordChanged: CKError.Code { .serverRecordChanged }
    /// The service refused the request.
    public static var serverRejectedRequest: CKError.Code { .serverRejectedRequest }
    /// The file of an asset does not exist.
    public static var assetFileNotFound: CKError.Code { .assetFileNotFound }
    /// The file of an asset changed while the library uploaded it.
    public static var assetFileModified: CKError.Code { .assetFileModified }
    /// The app's version is older than the container allows.
    public static var incompatibleVersion: CKError.Code { .incompatibleVersion }
    /// A value that must be unique exists already, or a validating reference refuses the change.
    public static var constraintViolation: CKError.Code { .constraintViolation }
    /// The operation was cancelled.
    public static var operationCancelled: CKError.Code { .operationCancelled }
    /// The change token is too old; fetch from the beginning.
    public static var changeTokenExpired: CKError.Code { .changeTokenExpired }
    /// Another item of the same atomic batch failed, so this one was not changed.
    public static var batchRequestFailed: CKError.Code { .batchRequestFailed }
    /// Too many clients change the zone at once.
    public static var zoneBusy: CKError.Code { .zoneBusy }
    /// The database does not support the operation.
    public static var badDatabase: CKError.Code { .badDatabase }
    /// The storage quota is used up.
    public static var quotaExceeded: CKError.Code { .quotaExceeded }
    /// The zone does not exist.
    public static var zoneNotFound: CKError.Code { .zoneNotFound }
    /// The request or a record in it is too large; split it.
    public static var limitExceeded: CKError.Code { .limitExceeded }
    /// The zone was deleted because the user removed the app's data. Discard the device's copy too.
    public static var userDeletedZone: CKError.Code { .userDeletedZone }
    /// The share has too many participants.
    public static var tooManyParticipants: CKError.Code { .tooManyParticipants }
    /// The record, or one above or below it in its hierarchy, is in a share already.
    public static var alreadyShared: CKError.Code { .alreadyShared }
    /// The target of a reference does not exist.
    public static var referenceViolation: CKError.Code { .referenceViolation }
    /// The account is managed and has no permission for the operation.
    public static var managedAccountRestricted: CKError.Code { .managedAccountRestricted }
    /// The user is no participant, but can become one by opening the share's link.
    public static var participantMayNeedVerification: CKError.Code { .participantMayNeedVerification }
    /// The service executed the request, but its response was lost.
    public static var serverResponseLost: CKError.Code { .serverResponseLost }
    /// The file of an asset cannot be read, or assets cannot be sent.
    public static var assetNotAvailable: CKError.Code { .assetNotAvailable }
    /// The device has an account, but the account is not ready.
    public static var accountTemporarilyUnavailable: CKError.Code { .accountTemporarilyUnavailable }
    /// The user was invited already and has to accept that invitation.
    public static var participantAlreadyInvited: CKError.Code { .participantAlreadyInvited }
}

extension CKError.Code {
    /// The code's name in Apple's descriptions: `Unknown Item`.
    var title: String {
        var words = ""
        for character in String(describing: self) {
            if character.isUppercase { words += " " }
            words += words.isEmpty ? character.uppercased() : String(character)
        }
        return words
    }
}
