import CloudKit
import Testing

/// Participants of a share and their permissions.
@Suite struct ParticipantTests {
    private func withShare(
        _ permission: CKShare.ParticipantPermission = .readWrite,
        publicly publicPermission: CKShare.ParticipantPermission = .none,
        _ body: (Cloud, SharedList, CKShare) async throws -> Void
    ) async throws {
        try await Cloud.with(.inProcess) { cloud in
            let list = try await SharedList(cloud.container("alice"))
            let share = try await list.share(
                with: publicPermission == .none ? "bob@localhost" : nil, permission, publicly: publicPermission)
            try await body(cloud, list, share)
        }
    }

    private func current(_ share: CKShare, _ database: CKDatabase) async throws -> CKShare {
        try #require(try await database.record(for: share.recordID) as? CKShare)
    }

    @Test func `accepting twice succeeds without effect, and an owner accepts nothing`() async throws {
        try await withShare { cloud, list, share in
            let guest = cloud.container("bob")
            let first = try await guest.join(share.url)
            let second = try await guest.join(share.url)
            #expect(first.recordChangeTag == second.recordChangeTag)
            let metadata = try await list.owner.shareMetadata(for: try #require(share.url))
            let error = await #expect(throws: CKError.self) { try await list.owner.accept(metadata) }
            #expect(error?.code == .invalidArguments)
            #expect("\(try #require(error))".contains("owner participant tried to accept share"))
            let results = try await list.owner.accept([metadata])
            #expect(throws: CKError.self) { try results[metadata]?.get() }
            #expect(metadata.participantRole == .owner && metadata.participantStatus == .accepted)
        }
    }

    @Test func `a share that the account may not see answers as an unknown URL`() async throws {
        try await withShare { cloud, list, share in
            let stranger = cloud.container("mallory")
            let url = try #require(share.url)
            let unknown = url.deletingLastPathComponent().appendingPathComponent("0aaaaaaaaaaaaaaaaaaaaa")
            for url in [url, unknown] {
                do {
                    _ = try await stranger.shareMetadata(for: url)
                    Issue.record("a stranger learnt of the share")
                } catch let error as CKError {
                    #expect(error.code == .unknownItem || error.code == .participantMayNeedVerification)
                }
            }
            // Bob is an address without an account until bob signs in: that is all that the other answer tells.
            _ = try await cloud.container("bob").userRecordID()
            _ = list
        }
    }

    @Test func `an invitation waits for the account of its address`() async throws {
        try await Cloud.with(.inProcess) { cloud in
            let list = try await SharedList(cloud.container("alice"))
            let share = try await list.share(with: "carol@example.org", .readOnly)
            #expect(share.participants.last?.userIdentity.hasiCloudAccount == false)
            let stranger = cloud.container("mallory")
            await #expect(
                codeOf { _ = try await stranger.shareMetadata(for: try #require(share.url)) }
                    == .participantMayNeedVerification)
            await #expect(codeOf { try await stranger.join(share.url) } == .participantMayNeedVerification)
            let guest = cloud.container("carol@example.org")
            let joined = try await guest.join(share.url)
            #expect(joined.currentUserParticipant?.permission == .readOnly)
        }
    }

    @Test func `any account joins a public share, with its current permission`() async throws {
        try await withShare(publicly: .readOnly) { cloud, list, share in
            let guest = cloud.container("bob")
            let metadata = try await guest.shareMetadata(for: try #require(share.url))
            #expect(metadata.participantRole == .publicUser && metadata.participantStatus == .pending)
            try await guest.accept(metadata)
            let database = list.owner.privateCloudDatabase
            let shared = guest.sharedCloudDatabase
            let zoneID = try #require(try await shared.allRecordZones().first).zoneID
            let item = try await shared.record(for: CKRecord.ID(recordName: "milk", zoneID: zoneID))
            item["title"] = "Oat milk"
            await #expect(shared.codeOfSaving(item) == .permissionFailure)
            let open = try await current(share, database)
            #expect(open.participants.count == 2)
            open.publicPermission = .readWrite
            try await database.saveAll([open])
            try await shared.saveAll([item])
            open.publicPermission = .none
            try await database.saveAll([open])
            #expect(open.participants.count == 1)
            #expect(try await shared.allRecordZones().isEmpty)
            await #expect(codeOf { try await guest.join(share.url) } == .unknownItem)
        }
    }

    @Test(arguments: ["email", "user record", "participant"])
    func `who joined by the URL is kept if invited as the share is closed, and accepts once more`(way: String)
        async throws
    {
        try await withShare(publicly: .readWrite) { cloud, list, share in
            let (bob, dan) = (cloud.container("bob"), cloud.container("dan"))
            for guest in [bob, dan] { try await guest.join(share.url) }
            let database = list.owner.privateCloudDatabase
            let fresh = try await current(share, database)
            let bobID = try await bob.userRecordID()
            let joined = try #require(fresh.participants.first { $0.userIdentity.userRecordID == bobID })
            fresh.publicPermission = .none
            let invited =
                switch way {
                case "email": try await list.owner.shareParticipant(forEmailAddress: "bob@localhost")
                case "user record": try await list.owner.shareParticipant(forUserRecordID: bobID)
                default: joined
                }
            invited.role = .privateUser
            invited.permission = .readOnly
            fresh.addParticipant(invited)
            try await database.saveAll([fresh])
            for seen in [fresh, try await current(share, database)] {
                #expect(seen.participants.map(\.role) == [.owner, .privateUser])
                #expect(seen.participants.last?.acceptanceStatus == .pending)
            }
            #expect(try await bob.sharedCloudDatabase.allRecordZones().isEmpty)
            try await bob.join(share.url)
            #expect(try await bob.sharedCloudDatabase.allRecordZones().count == 1)
            #expect(try await dan.sharedCloudDatabase.allRecordZones().isEmpty)
            await #expect(codeOf { try await dan.join(share.url) } == .unknownItem)
        }
    }

    @Test(arguments: [false, true])
    func `adding a participant again changes the permission alone`(byUserRecord: Bool) async throws {
        try await withShare { cloud, list, share in
            let bob = cloud.container("bob")
            try await bob.join(share.url)
            let database = list.owner.privateCloudDatabase
            let fresh = try await current(share, database)
            let former = try #require(fresh.participants.last)
            let (id, identity) = (former.participantID, former.userIdentity)
            let again =
                byUserRecord
                ? try await list.owner.shareParticipant(forUserRecordID: try await bob.userRecordID())
                : try await list.owner.shareParticipant(forEmailAddress: "bob@localhost")
            #expect(again.userIdentity == identity)
            again.permission = .readOnly
            fresh.addParticipant(again)
            fresh.publicPermission = .readOnly
            #expect(fresh.participants.map(\.participantID).last == id)
            try await database.saveAll([fresh])
            let bobs = try #require(fresh.participants.last)
            #expect(bobs.participantID == id && bobs.acceptanceStatus == .accepted && bobs.permission == .readOnly)
            #expect(bobs.userIdentity.userRecordID == identity.userRecordID)
            #expect(bobs.userIdentity.lookupInfo == identity.lookupInfo)
            #expect(try await bob.sharedCloudDatabase.allRecordZones().count == 1)
        }
    }

    @Test func `opening a share removes pending invitations, and keeps participants`() async throws {
        try await withShare { cloud, list, share in
            let database = list.owner.privateCloudDatabase
            try await cloud.container("bob").join(share.url)
            let fresh = try await current(share, database)
            fresh.addParticipant(try await list.owner.shareParticipant(forEmailAddress: "carol@localhost"))
            try await database.saveAll([fresh])
            #expect(fresh.participants.count == 3)
            fresh.publicPermission = .readOnly
            try await database.saveAll([fresh])
            #expect(fresh.participants.map(\.role) == [.owner, .privateUser])
            #expect(fresh.participants.last?.permission == .readWrite)
        }
    }

    @Test func `a permission of none revokes access, and another restores it`() async throws {
        try await withShare { cloud, list, share in
            let guest = cloud.container("bob")
            try await guest.join(share.url)
            let shared = guest.sharedCloudDatabase
            let token = try await shared.databaseChanges(since: nil).changeToken
            let database = list.owner.privateCloudDatabase
            let fresh = try await current(share, database)
            let part = try #require(fresh.participants.last)
            part.permission = .none
            try await database.saveAll([fresh])
            #expect(try await shared.allRecordZones().isEmpty)
            let gone = try await shared.databaseChanges(since: token)
            #expect(gone.deletions.count == 1)
            fresh.participants.last?.permission = .readOnly
            try await database.saveAll([fresh])
            #expect(try await shared.databaseChanges(since: gone.changeToken).modifications.count == 1)
            let zoneID = try #require(try await shared.allRecordZones().first).zoneID
            #expect(try await shared.changes(in: zoneID).names.count == 3)
        }
    }

    @Test func `a participant who leaves needs a new invitation, and others lose nothing`() async throws {
        try await withShare { cloud, list, share in
            let database = list.owner.privateCloudDatabase
            let fresh = try await current(share, database)
            fresh.addParticipant(try await list.owner.shareParticipant(forEmailAddress: "carol@localhost"))
            try await database.saveAll([fresh])
            let (bob, carol) = (cloud.container("bob"), cloud.container("carol"))
            try await bob.join(share.url)
            try await carol.join(share.url)
            let zoneID = try #require(try await bob.sharedCloudDatabase.allRecordZones().first).zoneID
            let shareID = CKRecord.ID(recordName: share.recordID.recordName, zoneID: zoneID)
            try await bob.sharedCloudDatabase.saveAll([], deleting: [shareID])
            #expect(try await bob.sharedCloudDatabase.allRecordZones().isEmpty)
            #expect(try await carol.sharedCloudDatabase.allRecordZones().count == 1)
            await #expect(codeOf { try await bob.join(share.url) } == .unknownItem)
            // Deleting the zone leaves as well.
            try await carol.sharedCloudDatabase.deleteRecordZone(withID: zoneID)
            #expect(try await carol.sharedCloudDatabase.allRecordZones().isEmpty)
            #expect(try await database.record(for: list.root.recordID)["title"] == "Groceries")
            let end = try await current(share, database)
            #expect(end.participants.count == 1 && end.recordChangeTag != share.recordChangeTag)
            end.addParticipant(try await list.owner.shareParticipant(forEmailAddress: "bob@localhost"))
            try await database.saveAll([end])
            try await bob.join(share.url)
            #expect(try await bob.sharedCloudDatabase.allRecordZones().count == 1)
        }
    }

    @Test func `an account under two addresses is one participant`() async throws {
        try await withShare { cloud, list, share in
            let database = list.owner.privateCloudDatabase
            let bob = cloud.container("bob")
            let fresh = try await current(share, database)
            fresh.addParticipant(try await list.owner.shareParticipant(forUserRecordID: try await bob.userRecordID()))
            try await database.saveAll([fresh])
            #expect(fresh.participants.count == 2)
        }
    }

    @Test func `a share has at most 100 participants`() async throws {
        try await withShare { _, list, share in
            let database = list.owner.privateCloudDatabase
            for number in 1...100 {
                share.addParticipant(
                    try await list.owner.shareParticipant(forEmailAddress: "p\(number)@example.org"))
            }
            await #expect(database.codeOfSaving(share) == .tooManyParticipants)
            share.removeParticipant(try #require(share.participants.last))
            try await database.saveAll([share])
            #expect(share.participants.count == 101)
        }
    }

    @Test func `an administrator changes participants, but neither the owner nor itself`() async throws {
        try await withShare { cloud, list, share in
            let database = list.owner.privateCloudDatabase
            let bob = cloud.container("bob")
            try await bob.join(share.url)
            let zoneID = try #require(try await bob.sharedCloudDatabase.allRecordZones().first).zoneID
            let shareID = CKRecord.ID(recordName: share.recordID.recordName, zoneID: zoneID)
            let plain = try #require(try await bob.sharedCloudDatabase.record(for: shareID) as? CKShare)
            plain[CKShare.SystemFieldKey.title] = "Bob's"
            await #expect(bob.sharedCloudDatabase.codeOfSaving(plain) == .permissionFailure)

            let own = try await current(share, database)
            own.participants.last?.role = .administrator
            try await database.saveAll([own])
            let administered = try #require(try await bob.sharedCloudDatabase.record(for: shareID) as? CKShare)
            #expect(administered.currentUserParticipant?.role == .administrator)
            let carol = try await bob.shareParticipant(forEmailAddress: "carol@localhost")
            administered.addParticipant(carol)
            try await bob.sharedCloudDatabase.saveAll([administered])
            #expect(administered.participants.count == 3)
            administered.participants.first { $0.role == .administrator }?.role = .privateUser
            await #expect(bob.sharedCloudDatabase.codeOfSaving(administered) == .permissionFailure)
            try await cloud.container("carol").join(share.url)
        }
    }

    @Test func `participants see accepted participants, and no addresses`() async throws {
        try await withShare { cloud, list, share in
            let database = list.owner.privateCloudDatabase
            let fresh = try await current(share, database)
            fresh.addParticipant(try await list.owner.shareParticipant(forEmailAddress: "carol@example.org"))
            try await database.saveAll([fresh])
            #expect(fresh.participants.compactMap(\.userIdentity.lookupInfo?.emailAddress).count == 2)
            let bob = cloud.container("bob")
            let joined = try await bob.join(share.url)
            #expect(joined.participants.map(\.role) == [.owner, .privateUser])
            #expect(joined.participants.allSatisfy { $0.userIdentity.lookupInfo == nil })
            #expect(joined.owner.userIdentity.userRecordID == (try await list.owner.userRecordID()))
            try await cloud.container("carol@example.org").join(share.url)
            let zoneID = joined.recordID.zoneID
            let later = try await bob.sharedCloudDatabase.record(for: joined.recordID) as? CKShare
            #expect(later?.participants.count == 3 && zoneID.ownerName != CKCurrentUserDefaultName)
        }
    }

    @Test func `a one-time URL is used up by the first who accepts`() async throws {
        try await Cloud.with(.inProcess) { cloud in
            let list = try await SharedList(cloud.container("alice"))
            let share = CKShare(rootRecord: list.root)
            let once = CKShare.Participant.oneTimeURLParticipant()
            once.permission = .readWrite
            share.addParticipant(once)
            #expect(share.oneTimeURL(for: once.participantID) == nil)
            try await list.owner.privateCloudDatabase.saveAll([list.root, share])
            let url = try #require(share.oneTimeURL(for: once.participantID))
            #expect(url != share.url)
            let (bob, carol) = (cloud.container("bob"), cloud.container("carol"))
            let seen = try await carol.shareMetadata(for: url)
            #expect(seen.participantStatus == .pending && seen.participantPermission == .readWrite)
            try await bob.join(url)
            await #expect(codeOf { try await carol.accept(seen) } == .unknownItem)
            await #expect(codeOf { _ = try await carol.shareMetadata(for: url) } == .unknownItem)
            // To the account that used it, it is the share's URL from then on.
            for url in [share.url, url] { try await bob.join(url) }
            #expect(try await bob.shareMetadata(for: url).participantStatus == .accepted)
            #expect(try await bob.sharedCloudDatabase.allRecordZones().count == 1)
        }
    }

    @Test func `archived metadata of a one-time URL can be accepted`() async throws {
        try await Cloud.with(.inProcess) { cloud in
            let list = try await SharedList(cloud.container("alice"))
            let share = CKShare(rootRecord: list.root)
            let once = CKShare.Participant.oneTimeURLParticipant()
            share.addParticipant(once)
            try await list.owner.privateCloudDatabase.saveAll([list.root, share])
            let bob = cloud.container("bob")
            let url = try #require(share.oneTimeURL(for: once.participantID))
            let seen = try await bob.shareMetadata(for: url)
            let data = try NSKeyedArchiver.archivedData(withRootObject: seen, requiringSecureCoding: true)
            let opened = try #require(
                try NSKeyedUnarchiver.unarchivedObject(ofClass: CKShare.Metadata.self, from: data))
            #expect(try await bob.accept(opened).recordID.recordName == share.recordID.recordName)
            #expect(try await bob.sharedCloudDatabase.allRecordZones().count == 1)
        }
    }

    @Test func `access requests have one answer, reach the owner, and can be answered`() async throws {
        try await withShare { cloud, list, share in
            let database = list.owner.privateCloudDatabase
            let url = try #require(share.url)
            let (carol, dave) = (cloud.container("carol"), cloud.container("dave"))
            let unknown = url.deletingLastPathComponent().appendingPathComponent("nothing")
            let answers = try await carol.requestShareAccess(for: [url, unknown])
            #expect(answers.values.allSatisfy { $0.error == nil } && answers.count == 2)
            #expect(try await current(share, database).requesters.isEmpty)

            let open = try await current(share, database)
            open.allowsAccessRequests = true
            try await database.saveAll([open])
            for guest in [carol, dave, carol] { _ = try await guest.requestShareAccess(for: [url]) }
            let asked = try await current(share, database)
            #expect(asked.allowsAccessRequests && asked.requesters.count == 2)
            let requester = try #require(asked.requesters.first)
            let found = try await list.owner.shareParticipants(for: [requester.participantLookupInfo])
            asked.addParticipant(try #require(found.values.first).get())
            try await database.saveAll([asked])
            #expect(asked.requesters.count == 1)
            #expect(asked.participants.contains { $0.isApprovedRequester })
            asked.blockRequesters(asked.requesters)
            try await database.saveAll([asked])
            #expect(asked.requesters.isEmpty && asked.blockedIdentities.count == 1)
            _ = try await dave.requestShareAccess(for: [url])
            #expect(try await current(share, database).requesters.isEmpty)
            try await carol.join(url)
            let invited = try await carol.requestShareAccess(for: [url])
            #expect((invited[url]?.error as? CKError)?.code == .participantAlreadyInvited)
        }
    }
}
