// swift-format-ignore-file: NeverForceUnwrap

import CloudKit

// Every way that apps were seen to take CloudKit's errors apart.

enum Diagnosis {
    static func retryDelay(_ error: Error) -> Double? {
        guard let error = error as? CKError else { return nil }
        switch error {
        case CKError.requestRateLimited, CKError.serviceUnavailable, CKError.zoneBusy:
            return error.retryAfterSeconds ?? 3
        default:
            return error.userInfo[CKErrorRetryAfterKey] as? Double
        }
    }

    static func retryDelayFromFoundation(_ error: Error) -> [Double?] {
        let nsError = error as NSError
        return [
            nsError.userInfo[CKErrorRetryAfterKey] as? Double, nsError.userInfo[CKErrorRetryAfterKey] as? TimeInterval,
            (nsError.userInfo[CKErrorRetryAfterKey] as? NSNumber)?.doubleValue,
            (error as? CKError)?.retryAfterSeconds, (error as? CKError)?.errorUserInfo[CKErrorRetryAfterKey] as? Double,
        ]
    }

    static func name(_ error: Error?) -> String {
        switch (error as? CKError)?.code {
        case .zoneNotFound?, .userDeletedZone?: "zone"
        case .some(.unknownItem): "unknown"
        case .none: "not CloudKit's"
        case .some(let code): "code \(code.rawValue)"
        }
    }

    static func catching(_ body: () throws -> Void) -> String {
        do {
            try body()
            return "nothing"
        } catch CKError.unknownItem {
            return "unknown"
        } catch CKError.serverRecordChanged, CKError.batchRequestFailed {
            return "conflict"
        } catch let error as CKError where error.code == .zoneNotFound || error.code == .userDeletedZone {
            return "zone"
        } catch let error as CKError {
            return "code \(error.errorCode)"
        } catch let error as NSError where error.domain == "mine" {
            return "mine"
        } catch {
            return "other"
        }
    }

    static func isCloudKit(_ error: Error, _ code: CKError.Code) -> [Bool] {
        let nsError = error as NSError
        return [
            nsError.domain == CKErrorDomain && nsError.code == code.rawValue,
            nsError.domain == CKError.errorDomain, CKError.Code(rawValue: nsError.code) == code,
            (error as? CKError)?.code == code, (error as! CKError).code == code, (nsError as? CKError)?.code == code,
            CKError(_nsError: nsError).code == code, code ~= error, (error as? CKError)?.errorCode == code.rawValue,
            (error as NSError?)?.code == code.rawValue,
        ]
    }

    /// The items of a `partialFailure`, by every cast that is in use: each gives the names of the records.
    static func partialErrors(_ error: Error) -> [[String]] {
        let info = (error as NSError).userInfo
        let byProperty = (error as? CKError)?.partialErrorsByItemID ?? [:]
        return [
            ((error as? CKError)?.userInfo[CKPartialErrorsByItemIDKey] as? [CKRecord.ID: Error])?.keys.map(
                \.recordName),
            (info[CKPartialErrorsByItemIDKey] as? [CKRecord.ID: Error])?.keys.map(\.recordName),
            (info[CKPartialErrorsByItemIDKey] as? [AnyHashable: Error])?.keys.compactMap {
                ($0 as? CKRecord.ID)?.recordName
            },
            (info[CKPartialErrorsByItemIDKey] as? [AnyHashable: Any])?.keys.compactMap {
                ($0.base as? CKRecord.ID)?.recordName
            },
            (info[CKPartialErrorsByItemIDKey] as? [CKRecord.ID: NSError])?.keys.map(\.recordName),
            (info[CKPartialErrorsByItemIDKey] as? [CKRecord.ID: CKError])?.keys.map(\.recordName),
            (info[CKPartialErrorsByItemIDKey] as? NSDictionary)?.allKeys.compactMap {
                ($0 as? CKRecord.ID)?.recordName
            },
            (byProperty as? [CKRecord.ID: CKError])?.keys.map(\.recordName),
            byProperty.compactMap { key, value in value is CKError ? (key as? CKRecord.ID)?.recordName : nil },
            byProperty.map { ($0.key as! CKRecord.ID).recordName },
        ].map { ($0 ?? ["the cast failed"]).sorted() }
    }

    static func itemCodes(_ error: Error) -> [[CKError.Code]] {
        let info = (error as NSError).userInfo
        let properties = (error as? CKError)?.partialErrorsByItemID ?? [:]
        return [
            properties.values.compactMap { ($0 as? CKError)?.code },
            properties.values.compactMap { CKError.Code(rawValue: ($0 as NSError).code) },
            (info[CKPartialErrorsByItemIDKey] as? NSDictionary)?.allValues.compactMap { ($0 as? CKError)?.code } ?? [],
            (info[CKPartialErrorsByItemIDKey] as? NSDictionary)?.allValues.compactMap { ($0 as? NSError)?.code }
                .compactMap(CKError.Code.init(rawValue:)) ?? [],
        ].map { $0.sorted { $0.rawValue < $1.rawValue } }
    }

    static func conflict(_ error: Error) -> [CKRecord?] {
        let info = (error as NSError).userInfo
        return [
            info[CKRecordChangedErrorServerRecordKey] as? CKRecord, (error as? CKError)?.serverRecord,
            info[CKRecordChangedErrorClientRecordKey] as? CKRecord, (error as? CKError)?.clientRecord,
            info[CKRecordChangedErrorAncestorRecordKey] as? CKRecord, (error as? CKError)?.ancestorRecord,
        ]
    }
}

extension CKError {
    static let recoverable: Set<CKError.Code> = [.networkFailure, .networkUnavailable, .zoneBusy, .serviceUnavailable]

    var isRecoverable: Bool { CKError.recoverable.contains(code) }

    func isOrHolds(_ code: CKError.Code) -> Bool {
        if self.code == code { return true }
        guard self.code == .partialFailure, let errors = partialErrorsByItemID else { return false }
        return errors.values.contains { ($0 as? CKError)?.isOrHolds(code) == true }
    }

    var allMergeRecords: [(client: CKRecord?, server: CKRecord?)] {
        switch code {
        case .serverRecordChanged: [(clientRecord, serverRecord)]
        case .partialFailure:
            (partialErrorsByItemID ?? [:]).values.compactMap { $0 as? CKError }.flatMap(\.allMergeRecords)
        default: []
        }
    }
}

// Apple's enumerations cannot list their cases, so apps have them do it.

extension CKError.Code: CaseIterable {
    public static let allCases = (1...37).compactMap(CKError.Code.init)
}

extension CKDatabase.Scope: CaseIterable {
    public static let allCases: [CKDatabase.Scope] = [.private, .shared]
}

extension CKError.Code {
    /// As apps name them in their messages: every code once.
    var diagnosticName: String {
        switch self {
        case .internalError: "internalError"
        case .partialFailure: "partialFailure"
        case .networkUnavailable: "networkUnavailable"
        case .networkFailure: "networkFailure"
        case .badContainer: "badContainer"
        case .serviceUnavailable: "serviceUnavailable"
        case .requestRateLimited: "requestRateLimited"
        case .missingEntitlement: "missingEntitlement"
        case .notAuthenticated: "notAuthenticated"
        case .permissionFailure: "permissionFailure"
        case .unknownItem: "unknownItem"
        case .invalidArguments: "invalidArguments"
        case .resultsTruncated: "resultsTruncated"
        case .serverRecordChanged: "serverRecordChanged"
        case .serverRejectedRequest: "serverRejectedRequest"
        case .assetFileNotFound: "assetFileNotFound"
        case .assetFileModified: "assetFileModified"
        case .incompatibleVersion: "incompatibleVersion"
        case .constraintViolation: "constraintViolation"
        case .operationCancelled: "operationCancelled"
        case .changeTokenExpired: "changeTokenExpired"
        case .batchRequestFailed: "batchRequestFailed"
        case .zoneBusy: "zoneBusy"
        case .badDatabase: "badDatabase"
        case .quotaExceeded: "quotaExceeded"
        case .zoneNotFound: "zoneNotFound"
        case .limitExceeded: "limitExceeded"
        case .userDeletedZone: "userDeletedZone"
        case .tooManyParticipants: "tooManyParticipants"
        case .alreadyShared: "alreadyShared"
        case .referenceViolation: "referenceViolation"
        case .managedAccountRestricted: "managedAccountRestricted"
        case .participantMayNeedVerification: "participantMayNeedVerification"
        case .serverResponseLost: "serverResponseLost"
        case .assetNotAvailable: "assetNotAvailable"
        case .accountTemporarilyUnavailable: "accountTemporarilyUnavailable"
        case .participantAlreadyInvited: "participantAlreadyInvited"
        @unknown default: "unknown"
        }
    }
}
