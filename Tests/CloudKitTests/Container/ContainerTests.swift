import CloudKit
import NephosWire
import Testing

@Suite struct ContainerTests {
    @Test func `each database is always the same object`() {
        let container = CKContainer(identifier: "iCloud.org.example.Gallery")
        #expect(container.containerIdentifier == "iCloud.org.example.Gallery")
        #expect(container.privateCloudDatabase === container.privateCloudDatabase)
        #expect(container.database(with: .private) === container.privateCloudDatabase)
        #expect(container.database(with: .public) === container.publicCloudDatabase)
        #expect(container.database(with: .shared) === container.sharedCloudDatabase)
        #expect(container.privateCloudDatabase.databaseScope == .private)
        #expect(container.publicCloudDatabase.databaseScope == .public)
        #expect(container.sharedCloudDatabase.databaseScope == .shared)
    }

    @Test func `containers and databases describe themselves`() {
        let container = CKContainer(identifier: "iCloud.org.example.Gallery")
        #expect("\(container)".contains("; containerIdentifier=iCloud.org.example.Gallery>"))
        let description = "\(container.sharedCloudDatabase)"
        #expect(description.contains("; databaseScope=shared, containerIdentifier=iCloud.org.example.Gallery>"))
    }

    @Test func `a database outlives its container`() async throws {
        let service = ScriptedService()
        let database = CKContainer(identifier: "iCloud.org.example.Gallery", service: service).privateCloudDatabase
        #expect(try await database.allRecordZones() == [])
        #expect(service.requests.count == 1)
    }

    @Test(
        arguments: [
            (nil, CKAccountStatus.available, nil), (.authenticationRequired, .temporarilyUnavailable, nil),
            (.authenticationFailed, .temporarilyUnavailable, nil),
            (.tryAgainLater, .couldNotDetermine, .serviceUnavailable),
        ] as [(ServerErrorCode?, CKAccountStatus, CKError.Code?)])
    func `the account status is the service's`(
        server: ServerErrorCode?, status: CKAccountStatus, failure: CKError.Code?
    ) async throws {
        let service = ScriptedService(
            ScriptedService.Script(failure: server.map { .refused(.scripted($0)) }))
        let container = service.container
        let (handled, error) = await withCheckedContinuation { continuation in
            container.accountStatus { continuation.resume(returning: ($0, $1)) }
        }
        #expect(handled == status)
        #expect((error as? CKError)?.code == failure)
        if let failure {
            await expectFailure(failure) { _ = try await container.accountStatus() }
        } else {
            #expect(try await container.accountStatus() == status)
        }
    }

    @Test(arguments: [CKError.Code.networkUnavailable, .networkFailure])
    func `without a network a signed-in account is available`(code: CKError.Code) async throws {
        let offline = ScriptedService(ScriptedService.Script(failure: .transport(code, "no network"))).container
        #expect(try await offline.accountStatus() == .available)
        await expectFailure(code) { _ = try await offline.userRecordID() }
    }

    @Test func `the user record ID is the service's name for the account`() async throws {
        let container = ScriptedService().container
        #expect(try await container.userRecordID().recordName == ScriptedService.userRecordName)
        let (recordID, error) = await withCheckedContinuation { continuation in
            container.fetchUserRecordID { continuation.resume(returning: ($0, $1)) }
        }
        #expect(recordID?.recordName == ScriptedService.userRecordName)
        #expect(recordID?.zoneID == .default)
        #expect(error == nil)
    }

    @Test func `application permissions cannot be requested`() async throws {
        let (status, code) = try await olderAPI.permissions(of: ScriptedService().container)
        #expect(status == 0)
        #expect(code == CKError.Code.serverRejectedRequest.rawValue)
    }

    @Test func `no operation outlives the process`() async throws {
        let container = ScriptedService().container
        #expect(try await container.allLongLivedOperationIDs() == [])
        #expect(try await container.longLivedOperation(for: "0123456789ABCDEF") == nil)
    }

    @Test func `enumerations have Apple's numbers`() {
        #expect(CKAccountStatus.available.rawValue == 1)
        #expect(CKAccountStatus.temporarilyUnavailable.rawValue == 4)
        #expect(CKDatabase.Scope.public.rawValue == 1)
        #expect(CKDatabase.Scope.shared.rawValue == 3)
        #expect(CKModifyRecordsOperation.RecordSavePolicy.allKeys.rawValue == 2)
        #expect(CKOperationGroup.TransferSize.hundredsOfGigabytes.rawValue == 7)
        #expect(Notification.Name.CKAccountChanged.rawValue == "CKAccountChangedNotification")
    }
}
