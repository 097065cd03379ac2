import Foundation
import NephosWire

// The only code that converts the service's errors to CKError.

/// The context of an operation that its errors report.
struct ErrorContext: Sendable {
    var containerID: String?
    var operationID: CKOperation.ID?
    /// The scope of the requested database; nil if the operation has no database.
    var scope: CKDatabase.Scope?
    /// The advice on how to sign in; nil if there is an account.
    var signInAdvice: String?
    /// Whether the environment is production, where the schema changes only by deployment.
    var isProduction = false
}

extension ErrorContext {
    /// Creates the context for a request to a database.
    init(_ session: AccountSession, scope: CKDatabase.Scope, operationID: CKOperation.ID?) {
        let service = session.service
        self.init(
            containerID: session.identifier, operationID: operationID, scope: scope,
            signInAdvice: service.hasAccount ? nil : service.signInAdvice,
            isProduction: service.environmentName == .production)
    }
}

extension CKError.Code {
    /// Returns the code for an error of the service: the code that the error names, or else the code to which its
    /// server error code maps.
    init(_ error: ErrorDictionary) {
        if let raw = error.clientErrorCode, let code = CKError.Code(rawValue: raw) {
            self = code
        } else if error.reason == Self.expiredTokenReason {
            self = .changeTokenExpired
        } else {
            self.init(error.serverErrorCode)
        }
    }

    /// The reason of the `BAD_REQUEST` that reports an expired change token (CloudKit Web Services, changes/zone). Only
    /// this reason identifies such an error.
    private static let expiredTokenReason = "client knowledge differs from server knowledge"

    /// Returns the code to which a server error code maps (CloudKit Web Services, error codes).
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
    /// Creates the error for an error of the service, which concerns a whole request or one of its items. Adds `info`
    /// to the new error's `userInfo`.
    init(_ error: ErrorDictionary, _ context: ErrorContext, adding info: [String: Any] = [:]) {
        var userInfo = context.userInfo
        userInfo[InfoKey.serverDescription] = error.nativeReason
        userInfo.describe(error.nativeDescription(context))
        userInfo[InfoKey.requestUUID] = error.uuid
        userInfo[CKErrorRetryAfterKey] = error.retryAfter
        if error.userDidResetEncryptedData { userInfo[CKErrorUserDidResetEncryptedDataKey] = true }
        userInfo.merge(info) { _, new in new }
        InternalError(CKError.Code(error), reason: error.reason).put(in: &userInfo)
        self.init(CKError.Code(error), userInfo: userInfo)
    }

    /// Creates the error for the failure of a whole request.
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

    /// Creates the error for a failure that this library detected.
    init(
        _ code: CKError.Code, _ message: String, _ context: ErrorContext = ErrorContext(),
        adding info: [String: Any] = [:]
    ) {
        var userInfo = context.userInfo
        userInfo.describe(message)
        userInfo.merge(info) { _, new in new }
        InternalError(code, reason: nil).put(in: &userInfo)
        self.init(code, userInfo: userInfo)
    }

    /// Returns the error for a request by a share's URL. If the service does not know the share and the URL does not
    /// begin with the service's `root`, the description says so.
    func ofShare(at url: URL, root: String) -> CKError {
        guard code == .unknownItem, !root.isEmpty, !url.absoluteString.hasPrefix(root) else { return self }
        var info = userInfo
        info.describe("\(_nsError.localizedDescription): the URL is none of this service's, which begin with \(root)")
        return CKError(code, userInfo: info)
    }

    /// Creates the error of a cancelled operation.
    static func cancelled(_ operationID: CKOperation.ID?) -> CKError {
        CKError(.operationCancelled, "The operation was cancelled.", ErrorContext(operationID: operationID))
    }

    /// Creates the error of an operation of which some items failed. The keys of `errors` are the items' IDs.
    static func partialFailure(_ errors: [AnyHashable: any Error], _ context: ErrorContext) -> CKError {
        CKError(
            .partialFailure, "Some items failed: partialErrorsByItemID says which and why.", context,
            adding: [CKPartialErrorsByItemIDKey: errors])
    }

    /// Creates the error of `partialFailure(_:_:)`; nil if no item failed.
    static func partialFailure(ifAny errors: [AnyHashable: any Error], _ context: ErrorContext) -> CKError? {
        errors.isEmpty ? nil : partialFailure(errors, context)
    }
}

extension ErrorDictionary {
    // The wording of Apple's framework, by which apps recognise a duplicate subscription. CloudKit Web Services report
    // a duplicate as an internal error without that wording.

    fileprivate var nativeReason: String {
        duplicateOf.map { "subscription is duplicate of '\($0)'" } ?? reason
    }

    fileprivate func nativeDescription(_ context: ErrorContext) -> String {
        if duplicateOf != nil, let subscriptionID {
            return "Error saving record subscription with id \(subscriptionID) to server: \(nativeReason)"
        }
        return advice(context).map { "\(reason): \($0)" } ?? reason
    }

    /// The meaning of the error for its item, and a remedy, in addition to the service's reason; nil if there is none
    /// to add.
    private func advice(_ context: ErrorContext) -> String? {
        switch CKError.Code(self) {
        case .unknownItem: return adviceOnUnknownItem(context)
        case .serverRecordChanged:
            guard let recordName else { return nil }
            let merge = "merge into the error's serverRecord and save that"
            return serverErrorCode == .exists
                ? "'\(recordName)' exists already; \(merge), or save under another name"
                : "'\(recordName)' was changed since it was fetched; \(merge)"
        case .invalidArguments where reason.hasSuffix("in production schema"):
            // Where the schema of development is a file's, no save extends it.
            return context.isProduction
                ? "save it in development, then `nephos schema deploy`" : "add it to the file that the schema is from"
        case .invalidArguments where context.isProduction && reason.contains("' is not marked "):
            return "import that in development, then `nephos schema deploy`"
        case .invalidArguments where reason.hasPrefix(Self.typeMismatch) && !reason.contains(";"):
            return context.isProduction
                ? "a field that was deployed keeps its type; use another name"
                : "save such a value under another name, or \(drop)"
        case .invalidArguments where reason.hasPrefix(Self.encryptedInClear):
            return context.isProduction
                ? "set it by record[key], or use another name" : "set it by record[key], or \(drop)"
        case .invalidArguments where reason.contains(Self.clearInEncrypted) && !context.isProduction:
            return "or \(drop)"
        case .invalidArguments where reason.hasSuffix(" in the public database"):
            return "save such values in the clear, or the record in the private database"
        case .notAuthenticated:
            return context.signInAdvice
        case .changeTokenExpired:
            return "fetch from the beginning, without a token"
        case .batchRequestFailed:
            return "the error of that one says why"
        case .userDeletedZone:
            return "discard the device's copy of it, or save the zone again"
        default:
            return nil
        }
    }

    private func adviceOnUnknownItem(_ context: ErrorContext) -> String? {
        if reason.hasPrefix(Self.unknownType) {
            // The service's reason can already suggest a type.
            return reason.hasSuffix("?")
                ? nil
                : "a type exists from the first record of it that is saved in development, or once the schema's file has it"
        }
        if let subscriptionID { return "no subscription of the account has the ID '\(subscriptionID)'" }
        guard let recordName else { return nil }
        if reason == Self.tagWithoutRecord {
            return "'\(recordName)' was deleted since it was fetched; to make it again, save a new CKRecord with its ID"
        }
        return "there is no '\(recordName)' in the \(place(in: context.scope))"
    }

    private func place(in scope: CKDatabase.Scope?) -> String {
        let zone = "zone '\(zoneID?.zoneName ?? CKRecordZone.ID.defaultZoneName)'"
        return scope.map { "\(zone) of the \($0) database" } ?? zone
    }

    /// The command that drops the field. The service's reason names the field first and then the record type.
    private var drop: String {
        let names = reason.split(separator: "'", omittingEmptySubsequences: false)
        guard names.count > 3 else { return "drop the field from the schema" }
        return "run `nephos schema drop \(names[3]) \(names[1])`, which erases the field's values"
    }

    private static let typeMismatch = "invalid attempt to set value type "
    private static let encryptedInClear = "Attempt to save encrypted data in non encrypted field"
    private static let clearInEncrypted = "; send it with isEncrypted"
    private static let unknownType = "Did not find record type"
    private static let tagWithoutRecord = "recordChangeTag specified, but record not found"
}

extension [String: Any] {
    /// Sets the description under the keys of Foundation and of Apple's framework.
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
