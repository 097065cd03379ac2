import CloudKit
import Foundation
import NephosWire
import Testing

/// The mapping from the service's errors to the app's.
@Suite struct ErrorMappingTests {
    private static let table: [(ServerErrorCode, CKError.Code)] = [
        (.accessDenied, .permissionFailure),
        (.atomicError, .batchRequestFailed),
        (.authenticationFailed, .notAuthenticated),
        (.authenticationRequired, .notAuthenticated),
        (.badRequest, .invalidArguments),
        (.conflict, .serverRecordChanged),
        (.exists, .serverRecordChanged),
        (.internalError, .internalError),
        (.notFound, .unknownItem),
        (.quotaExceeded, .quotaExceeded),
        (.throttled, .requestRateLimited),
        (.tryAgainLater, .serviceUnavailable),
        (.validatingReferenceError, .constraintViolation),
        (.zoneNotFound, .zoneNotFound),
    ]

    @Test func `the table has every server error code`() {
        #expect(Set(Self.table.map(\.0)) == Set(ServerErrorCode.allCases))
    }

    @Test(arguments: table)
    func `a server error code becomes its CKError, for items and for requests`(
        server: ServerErrorCode, code: CKError.Code
    ) async throws {
        let record = CKRecord(recordType: "Artwork")
        let item = ScriptedService(ScriptedService.Script(modify: { _, _ in .failure(.scripted(server)) }))
        await expectFailure(code) { try await item.database.save(record) }
        let whole = ScriptedService(ScriptedService.Script(failure: .refused(.scripted(server))))
        await expectFailure(code) { try await whole.database.save(record) }
    }

    @Test func `the service's own CKError code takes precedence over its server error code's`() async {
        var error = ErrorDictionary.scripted(.badRequest)
        error.clientErrorCode = CKError.Code.limitExceeded.rawValue
        let named = ScriptedService(ScriptedService.Script(failure: .refused(error)))
        await expectFailure(.limitExceeded) { _ = try await named.database.allRecordZones() }
        error.clientErrorCode = 4_711
        let unknown = ScriptedService(ScriptedService.Script(failure: .refused(error)))
        await expectFailure(.invalidArguments) { _ = try await unknown.database.allRecordZones() }
    }

    @Test func `an error has the service's message, and names its source`() async throws {
        var dictionary = ErrorDictionary.scripted(.throttled, "request throttled")
        dictionary.retryAfter = 30
        let service = ScriptedService(ScriptedService.Script(failure: .refused(dictionary)))
        let caught = await expectFailure(.requestRateLimited) { _ = try await service.database.allRecordZones() }
        let error = try #require(caught)
        #expect(error.retryAfterSeconds == 30)
        #expect(error.localizedDescription == "request throttled")
        #expect((error as any Error).localizedDescription == "request throttled")
        let info = (error as NSError).userInfo
        #expect(info["RequestUUID"] as? String == "6b1c0c5e")
        #expect(info["ServerErrorDescription"] as? String == "request throttled")
        #expect(info["ContainerID"] as? String == "iCloud.org.example.Gallery")
        let description = String(describing: error)
        #expect(description.hasPrefix("<CKError 0x"))
        #expect(description.contains("\"Request Rate Limited\" (7/2008); server message = \"request throttled\""))
        #expect(description.contains("uuid = 6b1c0c5e; container ID = \"iCloud.org.example.Gallery\""))
    }

    @Test func `an error's underlying error is CloudKit's internal one, with its code if known`() async throws {
        let table: [(ErrorDictionary, (CKError.Code, Int))] = [
            (.scripted(.notFound, "Record not found"), (.unknownItem, 2003)),
            (.scripted(.conflict, "client oplock error updating record"), (.serverRecordChanged, 2004)),
            (.scripted(.badRequest, "Field 'recordName' is not marked queryable"), (.invalidArguments, 2015)),
            (.scripted(.badRequest, "Cannot create new type A in production schema"), (.invalidArguments, 2006)),
            (.scripted(.accessDenied, "CREATE operation not permitted"), (.permissionFailure, 2007)),
            (.scripted(.atomicError, "Atomic failure"), (.batchRequestFailed, 2024)),
            (.scripted(.badRequest, "client knowledge differs from server knowledge"), (.changeTokenExpired, 2026)),
            (.scripted(.zoneNotFound, "Zone does not exist"), (.zoneNotFound, 2036)),
            (.scripted(.validatingReferenceError, "Reference"), (.constraintViolation, 19)),
        ]
        for (answer, (code, internalCode)) in table {
            let service = ScriptedService(ScriptedService.Script(failure: .refused(answer)))
            let error = try #require(await expectFailure(code) { _ = try await service.database.allRecordZones() })
            let underlying = try #require(error.userInfo[NSUnderlyingErrorKey] as? NSError)
            #expect(underlying.domain == "CKInternalErrorDomain" && underlying.code == internalCode)
            #expect(!((underlying as any Error) is CKError))
            let codes = internalCode == code.rawValue ? "(\(internalCode))" : "(\(code.rawValue)/\(internalCode))"
            #expect(error.description.contains("\" \(codes);"))
        }
        let record = CKRecord(recordType: "Artwork")
        record["size"] = Double.nan
        let operation = CKModifyRecordsOperation(recordsToSave: [record])
        let failure = Box<(any Error)?>(nil)
        let service = ScriptedService()
        await withCheckedContinuation { continuation in
            operation.modifyRecordsResultBlock = { result in
                if case .failure(let error) = result { failure.value = error }
                continuation.resume()
            }
            service.database.add(operation)
        }
        let partial = try #require(failure.value as? CKError)
        #expect(partial.description.contains("\"Partial Failure\" (2/1011)"))
        #expect(partial.description.contains("\"Invalid Arguments\" (12);"), "this side's own has no other code")
    }

    @Test func `without an account only requests that need none are sent`() async throws {
        let service = ScriptedService(hasAccount: false)
        let container = service.container
        await expectFailure(.notAuthenticated) { _ = try await container.privateCloudDatabase.allRecordZones() }
        await expectFailure(.notAuthenticated) { _ = try await container.sharedCloudDatabase.allRecordZones() }
        await expectFailure(.notAuthenticated) { _ = try await container.userRecordID() }
        #expect(try await container.accountStatus() == .noAccount)
        #expect(service.requests.isEmpty)
        _ = try await container.publicCloudDatabase.record(for: CKRecord.ID(recordName: "A"))
        #expect(service.requests.count == 1)
    }
}
