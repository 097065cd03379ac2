public import Foundation

/// The domain of CloudKit's errors.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let CKErrorDomain = "CKErrorDomain"
/// The key under which a `partialFailure` keeps the errors of its items, by their IDs.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let CKPartialErrorsByItemIDKey = "CKPartialErrors"
/// The key under which a `serverRecordChanged` keeps the record that the client started from.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let CKRecordChangedErrorAncestorRecordKey = "AncestorRecord"
/// The key under which a `serverRecordChanged` keeps the record that the server has.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let CKRecordChangedErrorServerRecordKey = "ServerRecord"
/// The key under which a `serverRecordChanged` keeps the record that the client tried to save.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let CKRecordChangedErrorClientRecordKey = "ClientRecord"
/// The key under which an error says after how many seconds to try again.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let CKErrorRetryAfterKey = "CKRetryAfter"
/// The key under which a `zoneNotFound` says that the user reset the encrypted data of the account.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let CKErrorUserDidResetEncryptedDataKey = "CKUserDidResetEncryptedData"

/// An error of CloudKit's (CKError, Apple's documentation).
///
/// Every error that this module hands out is a `CKError` value, those inside `partialErrorsByItemID` included.
public struct CKError: _BridgedStoredNSError, Hashable, Sendable {
    public let _nsError: NSError

    public init(_nsError: NSError) { self._nsError = _nsError }

    /// An error with a code and what is known about it.
    public init(_ code: CKError.Code, userInfo: [String: Any] = [:]) {
        self.init(_nsError: DescribedError(domain: CKErrorDomain, code: code.rawValue, userInfo: userInfo))
    }

    // NSError's own hash calls itself without end where there is no Objective-C.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(_nsError.domain)
        hasher.combine(_nsError.code)
    }

    /// Made of the domain and the code (`Hashable`). Without this, Foundation's for bridged errors would be found,
    /// which asks the `NSError`.
    public var hashValue: Int {
        var hasher = Hasher()
        hash(into: &hasher)
        return hasher.finalize()
    }

    /// What is known about the error.
    public var userInfo: [String: Any] { _nsError.userInfo }

    /// What Foundation on Linux describes an `any Error` by.
    public var errorUserInfo: [String: Any] {
        userInfo.merging([NSLocalizedDescriptionKey: _nsError.localizedDescription]) { own, _ in own }
    }

    /// `userInfo` as a dictionary object, as the `Error` of Apple's standard library has it under this name, which
    /// older code reads; Foundation's own is nil on Linux.
    public var _userInfo: AnyObject? { NSDictionary(dictionary: userInfo) }

    public static var _nsErrorDomain: String { CKErrorDomain }
    public static var errorDomain: String { CKErrorDomain }
}

extension CKError: _ObjectiveCBridgeable {
    // Where there is no Objective-C, casts between errors and NSError go by this. Without it `catch let error as
    // NSError` does not match a CKError (the compiler holds that it always does: the program crashes), and an NSError
    // of CloudKit's domain cannot be cast to CKError.

    public func _bridgeToObjectiveC() -> NSError { _nsError }

    public static func _forceBridgeFromObjectiveC(_ source: NSError, result: inout CKError?) {
        _ = _conditionallyBridgeFromObjectiveC(source, result: &result)
    }

    @discardableResult
    public static func _conditionallyBridgeFromObjectiveC(_ source: NSError, result: inout CKError?) -> Bool {
        result = source.domain == CKErrorDomain ? CKError(_nsError: source) : nil
        return result != nil
    }

    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSError?) -> CKError {
        source.map { CKError(_nsError: $0) } ?? CKError(.internalError)
    }
}

extension CKError {
    /// The errors of the items of a batch, by record ID, zone ID or whatever else names an item. Only a
    /// `partialFailure` has them.
    public var partialErrorsByItemID: [AnyHashable: any Error]? {
        userInfo[CKPartialErrorsByItemIDKey] as? [AnyHashable: any Error]
    }

    /// Of a `serverRecordChanged`: the record that the client started from. It has no fields where that is not known.
    public var ancestorRecord: CKRecord? { userInfo[CKRecordChangedErrorAncestorRecordKey] as? CKRecord }

    /// Of a `serverRecordChanged`: the record that the server has. Merge into this one and save it.
    public var serverRecord: CKRecord? { userInfo[CKRecordChangedErrorServerRecordKey] as? CKRecord }

    /// Of a `serverRecordChanged`: the record that the client tried to save.
    public var clientRecord: CKRecord? { userInfo[CKRecordChangedErrorClientRecordKey] as? CKRecord }

    /// After how many seconds to try again; any error may say so.
    public var retryAfterSeconds: Double? {
        switch userInfo[CKErrorRetryAfterKey] {
        case let seconds as Double: seconds
        case let seconds as Int: Double(seconds)
        case let seconds as NSNumber: seconds.doubleValue
        default: nil
        }
    }
}

extension CKError: CustomStringConvertible, CustomDebugStringConvertible {
    /// `<CKError 0x…: "Unknown Item" (11/2003); server message = "…"; op = …; uuid = …; container ID = "…">`
    public var description: String {
        let info = userInfo
        var codes = "\(code.rawValue)"
        if let underlying = info[NSUnderlyingErrorKey] as? NSError, underlying.domain == InternalError.domain,
            underlying.code != code.rawValue
        {
            codes += "/\(underlying.code)"
        }
        var parts = ["<CKError \(address(of: _nsError)): \"\(code.title)\" (\(codes))"]
        if let message = info[InfoKey.serverDescription] {
            parts.append("server message = \"\(message)\"")
            if let more = info[NSLocalizedDescriptionKey] as? String, more != message as? String {
                parts.append("description = \"\(more)\"")
            }
        } else if let message = info[NSLocalizedDescriptionKey] {
            parts.append("\"\(message)\"")
        }
        if let operation = info[InfoKey.operationID] { parts.append("op = \(operation)") }
        if let uuid = info[InfoKey.requestUUID] { parts.append("uuid = \(uuid)") }
        if let container = info[InfoKey.containerID] { parts.append("container ID = \"\(container)\"") }
        if let seconds = retryAfterSeconds { parts.append("retry after \(seconds) seconds") }
        if let partial = partialErrorsByItemID {
            let items = partial.map { "\($0.key) = \($0.value)" }.sorted().joined(separator: ", ")
            parts.append("partial errors: {\(items)}")
        }
        return parts.joined(separator: "; ") + ">"
    }

    public var debugDescription: String { description }

    /// The keys of `userInfo` that Apple's framework uses without naming them in its API.
    enum InfoKey {
        static let description = "CKErrorDescription"
        static let serverDescription = "ServerErrorDescription"
        static let requestUUID = "RequestUUID"
        static let operationID = "OperationID"
        static let containerID = "ContainerID"
    }
}
