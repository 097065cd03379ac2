import CloudKit
import Foundation
import Testing

/// `CKError` as apps use it.
@Suite struct ErrorTests {
    private func fail(_ code: CKError.Code, _ userInfo: [String: Any] = [:]) throws {
        throw CKError(code, userInfo: userInfo)
    }

    @Test func `an error is caught by its code`() {
        do {
            try fail(.unknownItem)
        } catch CKError.zoneNotFound {
            Issue.record("caught by another code")
        } catch CKError.unknownItem {
            // As it should be.
        } catch {
            Issue.record("not caught by its code")
        }
    }

    @Test func `an error is caught by its type`() {
        do {
            try fail(.zoneBusy, [CKErrorRetryAfterKey: 3])
        } catch let error as CKError where error.code == .zoneBusy {
            #expect(error.retryAfterSeconds == 3)
            #expect(error.errorCode == 23)
        } catch {
            Issue.record("not caught by its type")
        }
    }

    @Test func `an error is caught as an NSError`() {
        do {
            try fail(.quotaExceeded)
        } catch let error as NSError {
            #expect(error.domain == "CKErrorDomain")
            #expect(error.code == 25)
        }
        let error: (any Error)? = CKError(.quotaExceeded)
        #expect((error as NSError?)?.code == 25)
    }

    @Test func `an NSError of CloudKit's domain is a CKError, and no other is`() {
        let stored: any Error = NSError(domain: CKErrorDomain, code: 11)
        #expect((stored as? CKError)?.code == .unknownItem)
        do {
            throw stored
        } catch CKError.unknownItem {
            // As it should be.
        } catch {
            Issue.record("not caught by its code")
        }
        let foreign: any Error = NSError(domain: NSCocoaErrorDomain, code: 11)
        #expect(!(foreign is CKError))
    }

    @Test func `an error made from an NSError equals it`() {
        let error = CKError(_nsError: NSError(domain: CKErrorDomain, code: 11, userInfo: ["key": "value"]))
        #expect(error.code == .unknownItem)
        #expect(error.userInfo["key"] as? String == "value")
        #expect(error.errorUserInfo["key"] as? String == "value")
        #expect(CKError.errorDomain == "CKErrorDomain")
        #expect(CKError(.unknownItem) == CKError(.unknownItem))
        #expect(CKError(.unknownItem) != CKError(.zoneNotFound))
        #expect(Set([CKError(.unknownItem), CKError(.unknownItem)]).count == 1)
    }

    @Test func `the codes have Apple's numbers`() {
        #expect((-1...40).compactMap(CKError.Code.init).map(\.rawValue) == Array(1...37))
        let some: [(CKError.Code, Int)] = [
            (.internalError, 1), (.partialFailure, 2), (.notAuthenticated, 9), (.unknownItem, 11),
            (.serverRecordChanged, 14), (.operationCancelled, 20), (.changeTokenExpired, 21), (.batchRequestFailed, 22),
            (.zoneNotFound, 26), (.limitExceeded, 27), (.referenceViolation, 31), (.accountTemporarilyUnavailable, 36),
            (.participantAlreadyInvited, 37),
        ]
        for (code, number) in some { #expect(code.rawValue == number) }
    }

    @Test func `the keys of userInfo have Apple's values`() {
        #expect(CKPartialErrorsByItemIDKey == "CKPartialErrors")
        #expect(CKRecordChangedErrorAncestorRecordKey == "AncestorRecord")
        #expect(CKRecordChangedErrorServerRecordKey == "ServerRecord")
        #expect(CKRecordChangedErrorClientRecordKey == "ClientRecord")
        #expect(CKErrorRetryAfterKey == "CKRetryAfter")
        #expect(CKErrorUserDidResetEncryptedDataKey == "CKUserDidResetEncryptedData")
    }

    @Test func `records and partial errors are read from userInfo`() {
        let record = CKRecord(recordType: "Artwork")
        let error = CKError(
            .serverRecordChanged,
            userInfo: [
                CKRecordChangedErrorServerRecordKey: record, CKRecordChangedErrorClientRecordKey: record,
                CKRecordChangedErrorAncestorRecordKey: record,
                CKPartialErrorsByItemIDKey: [record.recordID: CKError(.zoneNotFound)],
                CKErrorRetryAfterKey: NSNumber(value: 1.5),
            ])
        #expect(error.serverRecord === record)
        #expect(error.clientRecord === record)
        #expect(error.ancestorRecord === record)
        #expect((error.partialErrorsByItemID?[record.recordID] as? CKError)?.code == .zoneNotFound)
        #expect(error.retryAfterSeconds == 1.5)
        let empty = CKError(.unknownItem)
        #expect(empty.serverRecord == nil)
        #expect(empty.partialErrorsByItemID == nil)
        #expect(empty.retryAfterSeconds == nil)
        #expect(!empty.localizedDescription.isEmpty)
    }

    @Test func `an error with another domain's or a newer system's code is an internal error, and keeps the code`() {
        for error in [
            NSError(domain: NSCocoaErrorDomain, code: 0), URLError(.timedOut) as NSError,
            NSError(domain: CKErrorDomain, code: 999),
        ] {
            let made = CKError(_nsError: error)
            #expect(made.code == .internalError && made.errorCode == error.code)
            #expect("\(made)".contains("(\(error.code))"))
            let isDefault =
                switch made.code {
                case .networkFailure, .zoneBusy: false
                default: true
                }
            #expect(isDefault)
        }
        #expect((NSError(domain: CKErrorDomain, code: 38) as? CKError)?.errorCode == 38)
    }

    @Test func `errors can be hashed, kept in sets and archived`() throws {
        let busy = CKError(.zoneBusy, userInfo: [CKErrorRetryAfterKey: 3])
        let errors = [busy, CKError(.zoneBusy), CKError(.unknownItem)]
        #expect(errors[1].hashValue == CKError(.zoneBusy).hashValue)
        #expect(Set(errors).count == 3 && Set(errors.map(\.code)).count == 2)
        #expect(Set(errors.map { $0 as NSError }).count == 3)
        let data = try NSKeyedArchiver.archivedData(withRootObject: busy as NSError, requiringSecureCoding: true)
        let copy = try #require(
            try NSKeyedUnarchiver.unarchivedObject(ofClasses: [NSError.self, NSString.self, NSNumber.self], from: data)
                as? NSError)
        #expect(CKError(_nsError: copy).code == .zoneBusy && CKError(_nsError: copy).retryAfterSeconds == 3)
    }
}
