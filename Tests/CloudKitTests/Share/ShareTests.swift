import CloudKit
import CloudKitLocal
import Testing

/// Shares as apps build them before a save, and the service's answers about shares.
@Suite struct ShareTests {
    private let root = CKRecord(
        recordType: "List", recordID: CKRecord.ID(recordName: "root", zoneID: .init(zoneName: "Z")))

    private func participant(_ email: String) async throws -> CKShare.Participant {
        try await CKContainer.local().shareParticipant(forEmailAddress: email)
    }

    @Test func `a new share has its owner as its only participant`() throws {
        let share = CKShare(rootRecord: root)
        #expect(share.participants.count == 1 && share.owner == share.participants[0])
        #expect(share.currentUserParticipant == share.owner)
        #expect(share.owner.role == .owner && share.owner.permission == .readWrite)
        #expect(share.owner.acceptanceStatus == .accepted && share.owner.userIdentity.hasiCloudAccount)
        #expect(share.publicPermission == .none && share.url == nil)
        let zoneWide = CKShare(recordZoneID: root.recordID.zoneID)
        #expect(zoneWide.recordID.recordName == CKRecordNameZoneWideShare && zoneWide.participants.count == 1)
    }

    @Test func `participants are added once, changed and removed`() async throws {
        let share = CKShare(rootRecord: root)
        let guest = try await participant("guest@example.org")
        #expect(guest.role == .privateUser && guest.permission == .readOnly && guest.acceptanceStatus == .pending)
        #expect(guest.userIdentity.lookupInfo?.emailAddress == "guest@example.org")
        #expect(!guest.userIdentity.hasiCloudAccount && guest.userIdentity.userRecordID == nil)
        share.addParticipant(guest)
        let again = try await participant("guest@example.org")
        again.permission = .readWrite
        share.addParticipant(again)
        share.addParticipant(CKShare.Participant.oneTimeURLParticipant())
        share.addParticipant(CKShare.Participant.oneTimeURLParticipant())
        #expect(share.participants.map(\.permission) == [.readWrite, .readWrite, .readOnly, .readOnly])
        #expect(Set(share.participants.map(\.participantID)).count == 4)
        share.removeParticipant(guest)
        share.removeParticipant(share.owner)
        #expect(share.participants.map(\.role) == [.owner, .privateUser, .privateUser])
    }

    @Test func `participants of one person are equal`() async throws {
        let (guest, again) = (try await participant("guest@example.org"), try await participant("guest@example.org"))
        let other = try await participant("other@example.org")
        again.permission = .readWrite
        #expect(guest.participantID != again.participantID)
        #expect(guest == again && guest.hash == again.hash && guest != other)
        #expect([other, guest].firstIndex(of: again) == 1)
        #expect(CKShare(rootRecord: root).owner == CKShare(rootRecord: root).owner)
        #expect(CKShare.Participant.oneTimeURLParticipant() != CKShare.Participant.oneTimeURLParticipant())
    }

    @Test func `access requests are allowed by the owner`() throws {
        let share = CKShare(rootRecord: root)
        #expect(!share.allowsAccessRequests && share.requesters.isEmpty && share.blockedIdentities.isEmpty)
        share.allowsAccessRequests = true
        let data = try NSKeyedArchiver.archivedData(withRootObject: share, requiringSecureCoding: true)
        let opened = try NSKeyedUnarchiver.unarchivedObject(ofClass: CKShare.self, from: data)
        #expect(opened?.allowsAccessRequests == true)
        #expect((share.copy() as? CKShare)?.allowsAccessRequests == true)
        let options = CKAllowedSharingOptions.standard
        #expect(!options.allowsAccessRequests && !options.allowsParticipantsToInviteOthers)
        options.allowsParticipantsToInviteOthers = true
        #expect((options.copy() as? CKAllowedSharingOptions)?.allowsParticipantsToInviteOthers == true)
    }

    @Test func `a blocked account is no longer a participant`() async throws {
        let guest = try await participant("guest@example.org")
        var archive = AppleArchive()
        let lookupInfo = archive.add(
            "CKUserIdentityLookupInfo", values: ["EmailAddress": archive.add("guest@example.org")])
        let identity = archive.add("CKUserIdentity", values: ["LookupInfo": lookupInfo])
        let root = archive.add("CKShareAccessRequester", values: ["UserIdentity": identity])
        let data = try archive.data(top: ["root": root])
        let requester = try #require(
            try NSKeyedUnarchiver.unarchivedObject(ofClass: CKShare.AccessRequester.self, from: data))
        #expect(requester.participantLookupInfo.emailAddress == "guest@example.org")
        let share = CKShare(rootRecord: self.root)
        share.addParticipant(guest)
        share.denyRequesters([requester])
        #expect(share.participants.contains(guest))
        share.blockRequesters([requester])
        share.blockRequesters([requester])
        #expect(share.participants == [share.owner])
        #expect(share.blockedIdentities.map(\.userIdentity) == [guest.userIdentity])
        share.unblockIdentities(share.blockedIdentities)
        #expect(share.blockedIdentities.isEmpty)
    }

    @Test func `opening a share to everyone removes pending invitations`() async throws {
        let share = CKShare(rootRecord: root)
        share.addParticipant(try await participant("guest@example.org"))
        share.publicPermission = .readOnly
        #expect(share.participants.map(\.role) == [.owner] && share.publicPermission == .readOnly)
    }

    @Test func `a copy of a share and its archive have participants of their own`() async throws {
        let share = CKShare(rootRecord: root)
        share[CKShare.SystemFieldKey.title] = "List"
        share.addParticipant(try await participant("guest@example.org"))
        let copy = try #require(share.copy() as? CKShare)
        let data = try NSKeyedArchiver.archivedData(withRootObject: share, requiringSecureCoding: true)
        let restored = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKShare.self, from: data))
        for other in [copy, restored] {
            #expect(other.participants == share.participants && other[CKShare.SystemFieldKey.title] == "List")
            #expect(other.participants.map(\.userIdentity) == share.participants.map(\.userIdentity))
            other.participants[1].permission = .readWrite
        }
        #expect(share.participants[1].permission == .readOnly && copy.owner.role == .owner)
    }

    @Test func `a public share has no invited participants`() async throws {
        await #expect(processExitsWith: .failure) {
            let share = CKShare(recordZoneID: .init(zoneName: "Z"))
            share.publicPermission = .readOnly
            share.addParticipant(CKShare.Participant.oneTimeURLParticipant())
        }
        await #expect(processExitsWith: .failure) {
            let share = CKShare(recordZoneID: .init(zoneName: "Z"))
            share.addParticipant(share.owner)
        }
    }
}

@Suite struct SharingServiceTests {
    private func failure<Value>(_ result: Result<Value, any Error>?) -> CKError.Code? {
        guard case .failure(let error as CKError) = result else { return nil }
        return error.code
    }

    @Test func `participants are fetched by address and by user of the container, each with its own result`()
        async throws
    {
        let cloud = try LocalCloud()
        let container = cloud.container(account: "me")
        let other = try await cloud.container(account: "other").userRecordID()
        let missing = CKRecord.ID(recordName: "_" + String(repeating: "0", count: 32))
        let users = try await container.shareParticipants(forUserRecordIDs: [other, missing])
        let found = try #require(try users[other]?.get())
        #expect(found.userIdentity.userRecordID == other && found.userIdentity.hasiCloudAccount)
        #expect(failure(users[missing]) == .unknownItem)
        let emails = try await container.shareParticipants(forEmailAddresses: ["a@example.org", "nobody"])
        #expect(try emails["a@example.org"]?.get() != nil)
        #expect(failure(emails["nobody"]) == .invalidArguments)
        #expect(try await container.shareParticipant(forPhoneNumber: "+49 30 1234").permission == .readOnly)
    }

    @Test func `an unknown URL has no share`() async throws {
        let container = try CKContainer.local()
        let url = try #require(URL(string: "https://www.icloud.com/share/0"))
        await expectFailure(.unknownItem) { _ = try await container.shareMetadata(for: url) }
        let results = try await container.shareMetadatas(for: [url])
        #expect(results.count == 1)
        let requests = try await container.requestShareAccess(for: [url])
        // An access request does not reveal whether the share exists.
        #expect(requests.mapValues { failure($0) } == [url: nil])
        let operation = CKFetchShareMetadataOperation(shareURLs: [url])
        let completion: (any Error)? = await withCheckedContinuation { continuation in
            olderAPI.setCompletion(operation) { continuation.resume(returning: $0) }
            container.add(operation)
        }
        let error = try #require(completion as? CKError)
        #expect(error.code == .partialFailure)
        #expect((error.partialErrorsByItemID?[url] as? CKError)?.code == .unknownItem)
    }

    @Test func `a new share is saved with its root or not at all`() async throws {
        let database = try CKContainer.local().privateCloudDatabase
        let zone = try await database.save(CKRecordZone(zoneName: "Z"))
        let root = CKRecord(recordType: "List", recordID: CKRecord.ID(zoneID: zone.zoneID))
        let share = CKShare(rootRecord: root)
        await expectFailure(.invalidArguments) { _ = try await database.save(share) }
        let results = try await database.modifyRecords(saving: [root, share], deleting: []).saveResults
        #expect(try results[root.recordID]?.get().share?.recordID == share.recordID)
        #expect(try (results[share.recordID]?.get() as? CKShare)?.url != nil)
    }

    @Test func `an access request does not reveal whether the share exists`() async throws {
        let container = try CKContainer.local()
        let url = try #require(URL(string: "https://www.icloud.com/share/0"))
        let asked = CallLog()
        func ask(_ urls: [URL]?, _ container: CKContainer) async -> Result<Void, any Error> {
            let operation = CKShareRequestAccessOperation(shareURLs: [])
            operation.shareURLs = urls
            operation.perShareAccessRequestResultBlock = { url, result in
                asked.note("\(url.lastPathComponent) \(failure(result) == nil)")
            }
            return await withCheckedContinuation { continuation in
                operation.shareAccessRequestResultBlock = { continuation.resume(returning: $0) }
                container.add(operation)
            }
        }
        #expect(failure(await ask([url, url], container)) == nil && asked.lines == ["0 true"])
        #expect(failure(await ask(nil, container)) == nil && asked.lines.count == 1)
        #expect(failure(await ask([url], try CKContainer.local(account: nil))) == .notAuthenticated)
        let observer = CKSystemSharingUIObserver(container: container)
        observer.systemSharingUIDidSaveShareBlock = { id, _ in asked.note(id.recordName) }
        observer.systemSharingUIDidStopSharingBlock = { id, _ in asked.note(id.recordName) }
        #expect(observer.systemSharingUIDidSaveShareBlock != nil && observer.systemSharingUIDidStopSharingBlock != nil)
    }

    @Test @available(*, deprecated) func `a web authentication token is the account's`() async throws {
        func fetch(_ apiToken: String?, account: String?) async throws -> [String] {
            let operation = CKFetchWebAuthTokenOperation()
            operation.apiToken = apiToken
            operation.database = try CKContainer.local(account: account).privateCloudDatabase
            let results = Box<[String]>([])
            func code(_ error: (any Error)?) -> String { "\((error as? CKError)?.code ?? .internalError)" }
            operation.fetchWebAuthTokenResultBlock = { result in
                switch result {
                case .success(let token): results.value.append(token)
                case .failure(let error): results.value.append(code(error))
                }
            }
            operation.fetchWebAuthTokenCompletionBlock = { results.value.append($0 ?? code($1)) }
            await withCheckedContinuation { continuation in
                operation.completionBlock = { continuation.resume() }
                operation.database?.add(operation)
            }
            return results.value
        }
        #expect(try await fetch("api", account: "me") == ["dev:me", "dev:me"])
        #expect(try await fetch(nil, account: "me") == ["invalidArguments", "invalidArguments"])
        #expect(try await fetch("api", account: nil) == ["notAuthenticated", "notAuthenticated"])
        #expect(CKFetchWebAuthTokenOperation(apiToken: "api").apiToken == "api")
    }

    @Test func `sharing operations fail without an account`() async throws {
        let container = try CKContainer.local(account: nil)
        let url = try #require(URL(string: "https://www.icloud.com/share/0"))
        let calls: [@Sendable () async throws -> Void] = [
            { _ = try await container.shareMetadatas(for: [url]) },
            { _ = try await container.shareParticipants(forEmailAddresses: ["a@example.org"]) },
            { _ = try await container.shareParticipant(forPhoneNumber: "1") },
        ]
        for call in calls { await expectFailure(.notAuthenticated, call) }
    }

    @Test func `discovery finds no user, and fails without an account`() async throws {
        #expect(try await olderAPI.discoveries(in: CKContainer.local()) == [0, 0, 0, 0])
        let nobody = try CKContainer.local(account: nil)
        await expectFailure(.notAuthenticated) { _ = try await olderAPI.discoveries(in: nobody) }
    }
}
