public import Foundation

/// The domain of CloudKit's errors.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let CKErrorDomain = "CKErrorDomain"
/// The `userInfo` key of a `partialFailure` for the errors of its items, by item ID.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let CKPartialErrorsByItemIDKey = "CKPartialErrors"
/// The `userInfo` key of a `serverRecordChanged` for the version of the record that the client changed.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let CKRecordChangedErrorAncestorRecordKey = "AncestorRecord"
/// The `userInfo` key of a `serverRecordChanged` for the server's version of the record.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let CKRecordChangedErrorServerRecordKey = "ServerRecord"
/// The `userInfo` key of a `serverRecordChanged` for the record that the client tried to save.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let CKRecordChangedErrorClientRecordKey = "ClientRecord"
/// The `userInfo` key for the number of seconds to wait before a retry.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let CKErrorRetryAfterKey = "CKRetryAfter"
/// The `userInfo` key of a `zoneNotFound` that is set if the user reset the account's encrypted data.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let CKErrorUserDidResetEncryptedDataKey = "CKUserDidResetEncryptedData"

/// An error of CloudKit (CKError, Apple's documentation).
///
/// Every error that this module returns or throws is a `CKError` value, including those in `partialErrorsByItemID`.
public struct CKError: _BridgedStoredNSError, Hashable, Sendable {
    public let _nsError: NSError

    public init(_nsError: NSError) { self._nsError = _nsError }

    /// Creates an error with a code and further information.
    public init(_ code: CKError.Code, userInfo: [String: Any] = [:]) {
        self.init(_nsError: DescribedError(domain: CKErrorDomain, code: code.rawValue, userInfo: userInfo))
    }

    // NSError's own hash recurses endlessly without Objective-C.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(_nsError.domain)
        hasher.combine(_nsError.code)
    }

    /// The hash value of the domain and the code, as `Hashable` defines it. Without this property, Foundation's
    /// `hashValue` for bridged errors would apply, which calls `NSError`'s hash.
    public var hashValue: Int {
        var hasher = Hasher()
        hash(into: &hasher)
        return hasher.finalize()
    }

    /// The error's code. A code that this version does not know, as in an error of another domain, is `internalError`;
    /// `errorCode` has it as it is.
    public var code: Code { Code(rawValue: _nsError.code) ?? .internalError }

    /// Further information about the error, by key.
    public var userInfo: [String: Any] { _nsError.userInfo }

    /// The information from which Foundation on Linux describes an `any Error`.
    public var errorUserInfo: [String: Any] {
        userInfo.merging([NSLocalizedDescriptionKey: _nsError.localizedDescription]) { own, _ in own }
    }

    /// The error's `userInfo` as an object. On Apple's platforms, `Error` has a property of this name, and older code
    /// reads it. Foundation's own property is nil on Linux.
    public var _userInfo: AnyObject? { NSDictionary(dictionary: userInfo) }

    public static var _nsErrorDomain: String { CKErrorDomain }
    public static var errorDomain: String { CKErrorDomain }
}

extension CKError: _ObjectiveCBridgeable {
    // Without Objective-C, casts between errors and NSError use this conformance. If it were missing, a CKError would
    // not match `catch let error as NSError`: the compiler assumes that it always matches, and the program crashes. Nor
    // could an NSError of CloudKit's domain be cast to CKError.

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
    /// The errors of a batch's items, by record ID, zone ID or another item ID; nil unless the error is a
    /// `partialFailure`.
    public var partialErrorsByItemID: [AnyHashable: any Error]? {
        userInfo[CKPartialErrorsByItemIDKey] as? [AnyHashable: any Error]
    }

    /// The version of the record that the client changed; nil unless the error is a `serverRecordChanged`. The record
    /// has no fields if they are unknown.
    public var ancestorRecord: CKRecord? { userInfo[CKRecordChangedErrorAncestorRecordKey] as? CKRecord }

    /// The server's version of the record; nil unless the error is a `serverRecordChanged`. Merge your changes into
    /// this record and save it.
    public var serverRecord: CKRecord? { userInfo[CKRecordChangedErrorServerRecordKey] as? CKRecord }

    /// The record that the client tried to save; nil unless the error is a `serverRecordChanged`.
    public var clientRecord: CKRecord? { userInfo[CKRecordChangedErrorClientRecordKey] as? CKRecord }

    /// The number of seconds to wait before a retry; nil if the service requests no delay. Any error can have it.
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
        var codes = "\(_nsError.code)"
        if let underlying = info[NSUnderlyingErrorKey] as? NSError, underlying.domain == InternalError.domain,
            underlying.code != _nsError.code
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

    /// The keys of `userInfo` that Apple's framework uses but does not name in its API.
    enum InfoKey {
        static let description = "CKErrorDescription"
        static let serverDescription = "ServerErrorDescription"
        static let requestUUID = "RequestUUID"
        static let operationID = "OperationID"
        static let containerID = "ContainerID"
    }
}
