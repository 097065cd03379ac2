import CloudKit
import Foundation
import Testing

/// The participants that an app adds to a share, and how it finds them again after saves, fetches and in archives.
@Suite struct ParticipantIdentityTests {
    private func current(_ share: CKShare, _ database: CKDatabase) async throws -> CKShare {
        try #require(try await database.record(for: share.recordID) as? CKShare)
    }

    private func archived(_ share: CKShare, onlySystemFields: Bool) throws -> CKShare {
        if !onlySystemFields {
            let data = try NSKeyedArchiver.archivedData(withRootObject: share, requiringSecureCoding: true)
            return try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKShare.self, from: data))
        }
        let coder = NSKeyedArchiver(requiringSecureCoding: true)
        share.encodeSystemFields(with: coder)
        return CKShare(coder: try NSKeyedUnarchiver(forReadingFrom: coder.encodedData))
    }

    @Test(arguments: Transport.allCases)
    func `a participant keeps its identifier in saves and fetches, so the app revokes its one-time URL`(
        transport: Transport
    ) async throws {
        try await Cloud.with(transport) { cloud in
            let tom = cloud.container("tom")
            _ = try await cloud.container("bob").userRecordID()
            let list = try await SharedList(cloud.container("alice"))
            let database = list.owner.privateCloudDatabase
            let share = CKShare(rootRecord: list.root)
            let once = CKShare.Participant.oneTimeURLParticipant()
            let bob = try await list.owner.shareParticipant(forEmailAddress: "bob@localhost")
            for participant in [once, bob] { share.addParticipant(participant) }
            try await database.saveAll([list.root, share])
            let url = try #require(share.oneTimeURL(for: once.participantID))
            share[CKShare.SystemFieldKey.title] = "Ours"
            try await database.saveAll([share])
            for seen in [share, try await current(share, database)] {
                #expect(seen.participants.count == 3)
                #expect(seen.participants.contains { $0.participantID == once.participantID })
                #expect(seen.participants.contains { $0.participantID == bob.participantID })
                #expect(seen.participants.contains(once))
                #expect(seen.oneTimeURL(for: once.participantID) == url)
            }
            #expect(try await tom.shareMetadata(for: url).participantStatus == .pending)
            let fetched = try await current(share, database)
            fetched.removeParticipant(once)
            try await database.saveAll([fetched])
            #expect(fetched.participants.count == 2)
            #expect(fetched.oneTimeURL(for: once.participantID) == nil)
            await #expect(codeOf { _ = try await tom.shareMetadata(for: url) } == .unknownItem)
        }
    }

    @Test(arguments: Transport.allCases)
    func `the case of an invited e-mail address does not matter`(transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let bob = cloud.container("bob@example.org")
            _ = try await bob.userRecordID()
            let list = try await SharedList(cloud.container("alice"))
            let database = list.owner.privateCloudDatabase
            let share = CKShare(rootRecord: list.root)
            let typed = try await list.owner.shareParticipant(forEmailAddress: "Bob@Example.org")
            #expect(typed.userIdentity.hasiCloudAccount)
            share.addParticipant(typed)
            try await database.saveAll([list.root, share])
            let metadata = try await bob.shareMetadata(for: try #require(share.url))
            _ = try await bob.accept(metadata)

            let again = try await list.owner.shareParticipant(forEmailAddress: "BOB@example.org")
            again.permission = .readWrite
            let fetched = try await current(share, database)
            fetched.addParticipant(again)
            try await database.saveAll([fetched])
            let changed = try await current(share, database)
            #expect(changed.participants.map(\.permission) == [.readWrite, .readWrite], "\(changed.participants)")
            #expect(changed.participants.last?.acceptanceStatus == .accepted)
            for participant in changed.participants where participant.role != .owner {
                changed.removeParticipant(participant)
            }
            try await database.saveAll([changed])
            await #expect(codeOf { _ = try await bob.accept(metadata) } == .unknownItem)
        }
    }

    @Test func `a save of one of two devices that add participants at once is a conflict, and loses none`()
        async throws
    {
        try await Cloud.with(.inProcess) { cloud in
            let list = try await SharedList(cloud.container("alice"))
            let share = try await list.share()
            let databases = [list.owner.privateCloudDatabase, cloud.container("alice").privateCloudDatabase]
            let once = [CKShare.Participant.oneTimeURLParticipant(), .oneTimeURLParticipant()]
            let bob = try await list.owner.shareParticipant(forEmailAddress: "bob@localhost")
            let again = try await list.owner.shareParticipant(forEmailAddress: "bob@localhost")
            let seen = [try await current(share, databases[0]), try await current(share, databases[1])]
            for (share, added) in zip(seen, [[once[0], bob], [once[1], again]]) {
                for participant in added { share.addParticipant(participant) }
            }
            try await databases[0].saveAll([seen[0]])
            await #expect(databases[1].codeOfSaving(seen[1]) == .serverRecordChanged)
            let merged = try await current(share, databases[1])
            for participant in [once[1], again] { merged.addParticipant(participant) }
            try await databases[1].saveAll([merged])
            let ids = Set(merged.participants.map(\.participantID))
            #expect(ids.isSuperset(of: [once[0].participantID, once[1].participantID, bob.participantID]))
            #expect(merged.participants.count == 4 && merged.participants.contains(again))
            let urls = once.compactMap { merged.oneTimeURL(for: $0.participantID) }
            #expect(Set(urls).count == 2)
        }
    }

    @Test(arguments: Transport.allCases)
    func `whoever looks up their own user record finds the owner of their shares`(transport: Transport) async throws {
        try await Cloud.with(transport) { cloud in
            let list = try await SharedList(cloud.container("alice"))
            let ownID = try await list.owner.userRecordID()
            for id in [ownID, CKRecord.ID(recordName: CKCurrentUserDefaultName)] {
                let own = try await list.owner.shareParticipant(forUserRecordID: id)
                let share = CKShare(rootRecord: list.root)
                #expect(own == share.owner)
                #expect(own.userIdentity.userRecordID?.recordName == CKCurrentUserDefaultName)
                share.addParticipant(own)
                #expect(share.participants.map(\.role) == [.owner])
            }
            let bobID = try await cloud.container("bob").userRecordID()
            let bob = try await list.owner.shareParticipant(forUserRecordID: bobID)
            #expect(bob.userIdentity.userRecordID == bobID)
        }
    }

    @Test(arguments: [false, true])
    func `an archive keeps one-time URLs, requesters and blocked accounts`(onlySystemFields: Bool) async throws {
        try await Cloud.with(.inProcess) { cloud in
            let list = try await SharedList(cloud.container("alice"))
            let database = list.owner.privateCloudDatabase
            let new = CKShare(rootRecord: list.root)
            let once = CKShare.Participant.oneTimeURLParticipant()
            new.addParticipant(once)
            new.allowsAccessRequests = true
            let share = try archived(new, onlySystemFields: onlySystemFields)
            try await database.saveAll([list.root, share])
            let url = try #require(share.oneTimeURL(for: once.participantID))
            for name in ["carol", "dave"] {
                _ = try await cloud.container(name).requestShareAccess(for: [try #require(share.url)])
            }
            let asked = try await current(share, database)
            #expect(asked.requesters.count == 2)
            asked.blockRequesters([asked.requesters[0]])
            let opened = try archived(asked, onlySystemFields: onlySystemFields)
            #expect(opened.requesters == asked.requesters && opened.requesters.count == 1)
            #expect(opened.blockedIdentities == asked.blockedIdentities && opened.blockedIdentities.count == 1)
            #expect(opened.oneTimeURL(for: once.participantID) == url)
            #expect(opened.participants.map(\.dateAddedToShare) == asked.participants.map(\.dateAddedToShare))
            try await database.saveAll([opened])
            for seen in [opened, try await current(share, database)] {
                #expect(seen.requesters.count == 1 && seen.blockedIdentities.count == 1)
                #expect(seen.oneTimeURL(for: once.participantID) == url)
            }
        }
    }

    @Test func `a save keeps the app's participants, and an object that two shares have changes one of them`()
        async throws
    {
        try await Cloud.with(.inProcess) { cloud in
            let list = try await SharedList(cloud.container("alice"))
            let database = list.owner.privateCloudDatabase
            let bob = try await list.owner.shareParticipant(forEmailAddress: "bob@localhost")
            let share = CKShare(rootRecord: list.root)
            share.addParticipant(bob)
            try await database.saveAll([list.root, share])
            #expect(share.participants.contains { $0 === bob } && bob.dateAddedToShare != nil)
            let noteID = CKRecord.ID(recordName: "note", zoneID: list.zoneID)
            let note = try await database.record(for: noteID)
            let other = CKShare(rootRecord: note)
            other.addParticipant(bob)
            try await database.saveAll([note, other])
            #expect(other.participants.contains(bob) && !other.participants.contains { $0 === bob })
            bob.permission = .readWrite
            try await database.saveAll([share, other])
            #expect(share.participants.contains { $0 === bob })
            #expect(try await current(share, database).participants.last?.permission == .readWrite)
            #expect(try await current(other, database).participants.last?.permission == .readOnly)
        }
    }
}
