import Foundation
import NephosWire

// The one place where what the service answers becomes a CKError.

/// What the errors of an operation say about where they come from.
struct ErrorContext: Sendable {
    var containerID: String?
    var operationID: CKOperation.ID?
}

extension CKError.Code {
    /// The code for an error of the service's: the one the service names, or the one its server error code stands for.
    init(_ error: ErrorDictionary) {
        if let raw = error.clientErrorCode, let code = CKError.Code(rawValue: raw) {
            self = code
        } else if error.reason == Self.expiredTokenReason {
            self = .changeTokenExpired
        } else {
            self.init(error.serverErrorCode)
        }
    }

    /// By this reason alone a `BAD_REQUEST` says that a change token has expired (CloudKit Web Services, changes/zone).
    private static let expiredTokenReason = "client knowledge differs from server knowledge"

    /// The code a server error code stands for (CloudKit Web Services, error codes).
    init(_ code: ServerErrorCode) {
        self =
            switch code {
            case .accessDenied: .permissionFailure
            case .atomicError: .batchRequestFailed
            case .authenticationFailed, .authenticationRequired: .notAuthenticated
            case .badRequest: .invalidArguments
            case .conflict, .exists: .serverRecordChanged
            case .internalError: .internalError
            case .notFound: .unknownItem
            case .quotaExceeded: .quotaExceeded
            case .throttled: .requestRateLimited
            case .tryAgainLater: .serviceUnavailable
            case .validatingReferenceError: .constraintViolation
            case .zoneNotFound: .zoneNotFound
            }
    }
}

extension CKError {
    /// An error of the service's, about a whole request or about one item of it; `info` is put beside what it says.
    init(_ error: ErrorDictionary, _ context: ErrorContext, adding info: [String: Any] = [:]) {
        var userInfo = context.userInfo
        userInfo[InfoKey.serverDescription] = error.nativeReason
        userInfo.describe(error.nativeDescription)
        userInfo[InfoKey.requestUUID] = error.uuid
        userInfo[CKErrorRetryAfterKey] = error.retryAfter
        if error.userDidResetEncryptedData { userInfo[CKErrorUserDidResetEncryptedDataKey] = true }
        userInfo.merge(info) { _, new in new }
        self.init(CKError.Code(error), userInfo: userInfo)
    }

    /// The error of a whole request.
    init(_ failure: ServiceFailure, _ context: ErrorContext) {
        switch failure {
        case .refused(let error):
            self.init(error, context)
        case .transport(let code, let message, let retryAfter):
            self.init(code, message, context, adding: retryAfter.map { [CKErrorRetryAfterKey: $0] } ?? [:])
        case .cancelled:
            self = .cancelled(context.operationID)
        }
    }

    /// An error that this side found.
    init(
        _ code: CKError.Code, _ message: String, _ context: ErrorContext = ErrorContext(),
        adding info: [String: Any] = [:]
    ) {
        var userInfo = context.userInfo
        userInfo.describe(message)
        userInfo.merge(info) { _, new in new }
        self.init(code, userInfo: userInfo)
    }

    /// What an operation that was cancelled reports.
    static func cancelled(_ operationID: CKOperation.ID?) -> CKError {
        CKError(.operationCancelled, "The operation was cancelled.", ErrorContext(operationID: operationID))
    }

    /// What the older completion blocks report where some items failed; the keys are the items' IDs.
    static func partialFailure(_ errors: [AnyHashable: any Error], _ context: ErrorContext) -> CKError {
        CKError(
            .partialFailure, "Some items failed: partialErrorsByItemID says which and why.", context,
            adding: [CKPartialErrorsByItemIDKey: errors])
    }
}

extension ErrorDictionary {
    // The words of Apple's framework, by which apps recognise a subscription that asks for the same as another. Web
    // Services call that an internal error, and say neither.

    fileprivate var nativeReason: String {
        duplicateOf.map { "subscription is duplicate of '\($0)'" } ?? reason
    }

    fileprivate var nativeDescription: String {
        guard duplicateOf != nil, let subscriptionID else { return nativeReason }
        return "Error saving record subscription with id \(subscriptionID) to server: \(nativeReason)"
    }
}

extension [String: Any] {
    /// Puts what an error says where Foundation looks for it, and where Apple's framework keeps it too.
    fileprivate mutating func describe(_ message: String) {
        self[NSLocalizedDescriptionKey] = message
        self[CKError.InfoKey.description] = message
    }
}

extension ErrorContext {
    fileprivate var userInfo: [String: Any] {
        var info: [String: Any] = [:]
        info[CKError.InfoKey.containerID] = containerID
        info[CKError.InfoKey.operationID] = operationID
        return info
    }
}
