import CloudKitTesting
import Foundation
import NephosCrypto
import NephosWire
import Testing

@testable import CloudKit

/// The keys of shares reach only participants whom a device of the owner's, or of a named administrator's, has signed.
@Suite struct SignedParticipantsTests: SharedValuesChecks {
    private typealias Cloud = SharedValuesTests.Cloud

    /// An owner with two devices, each with its own keys, and an account that nobody invites.
    private struct Story {
        let cloud: Cloud
        let owner: CKContainer
        let devices: [CKContainer]
        let keys: AccountDevices
        let eve: CKContainer

        init() async throws {
            cloud = try Cloud(escrows: false)
            let (service, owner) = cloud.hostile("mei")
            let (otherService, other) = cloud.hostile("mei", device: "second")
            keys = service.devices
            _ = try await owner.session.keyRing.device()
            let code = try #require(try await otherService.devices.code())
            try await keys.approve(code)
            (self.owner, devices) = (owner, [owner, other])
            eve = cloud.container("eve")
            _ = try await eve.session.keyRing.device()
        }

        /// A request with the owner's token, as a Web client sends it: without our additions.
        func steal(_ operations: [RecordOperation], knowsKeys: Bool = false) async throws -> [RecordResult] {
            try await cloud.cloud.container(account: "mei").session.service.send(
                .modifyRecords,
                ModifyRecordsRequest(
                    operations: operations, zoneID: ZoneIDDictionary(zoneName: "Lists"), wantsServerRecord: knowsKeys),
                ServiceCall(scope: .private)
            ).records
        }

        /// Changes a share with the owner's token.
        func steal(
            _ name: String, _ change: ShareToModify, knowsKeys: Bool = false
        ) async throws -> [RecordResult] {
            let answer = try await cloud.cloud.container(account: "mei").session.service.send(
                .lookupRecords,
                LookupRecordsRequest(
                    records: [.init(recordName: name)], zoneID: ZoneIDDictionary(zoneName: "Lists")),
                ServiceCall(scope: .private))
            guard case .record(let found)? = answer.records.first else { return answer.records }
            var record = RecordToModify(
                recordName: name, recordType: "cloudkit.share", recordChangeTag: found.recordChangeTag,
                fields: RecordFields())
            record.share = change
            return try await steal([RecordOperation(operationType: .update, record: record)], knowsKeys: knowsKeys)
        }

        func sync() async throws {
            for device in devices {
                _ = try await device.privateCloudDatabase.recordZoneChanges(inZoneWith: Cloud.zoneID, since: nil)
            }
        }

        func share(_ name: String, _ device: Int = 0) async throws -> CKShare {
            let recordID = CKRecord.ID(recordName: name, zoneID: Cloud.zoneID)
            return try #require(
                try await devices[device].privateCloudDatabase.record(for: recordID) as? CKShare)
        }

        /// The keys of a share as the service shows them to the owner.
        func keys(of name: String) async throws -> KeysResponse {
            try await owner.session.service.send(
                .lookupKeys,
                LookupKeysRequest(zoneID: ZoneIDDictionary(zoneName: "Lists"), group: name, wantsGroup: true),
                ServiceCall(scope: .private))
        }

        func place(of name: String) async throws -> GroupPlace {
            let place = try await owner.session.keyRing.device().place
            return GroupPlace(zone: ZonePlace(account: place, zoneName: "Lists"), group: name)
        }

        func accept(_ share: CKShare, by guest: CKContainer) async throws {
            _ = try await guest.session.service.send(
                .acceptShares,
                ShortGUIDsRequest(shortGUIDs: [.init(value: try #require(share.url).lastPathComponent)]),
                ServiceCall(scope: .private))
        }
    }

    /// The participants of a share as the service lists them, with one more.
    private func participants(of share: CKShare, adding address: String?) -> [ParticipantDictionary] {
        let present = share.participants.filter { $0.role != .owner }.map(\.wireValue)
        guard let address else { return present }
        return present + [
            ParticipantDictionary(
                userIdentity: UserIdentityDictionary(lookupInfo: .init(emailAddress: address)),
                permission: .readWrite)
        ]
    }

    private func operation(
        _ type: RecordOperation.OperationType, _ name: String, _ share: ShareToModify
    ) -> RecordOperation {
        var record = RecordToModify(recordName: name, recordType: "cloudkit.share", fields: RecordFields())
        record.share = share
        return RecordOperation(operationType: type, record: record)
    }

    enum Attack: CaseIterable, Sendable { case addsParticipant, opens, makesShare, makesZoneWideShare }

    /// Lets an account take part in what the owner did not share with it.
    /// - Returns: the name of the share, and a record that it shares.
    private func attack(_ attack: Attack, _ story: Story) async throws -> (share: String, record: String) {
        let root = try await story.cloud.makeList(story.owner)
        if attack == .makesZoneWideShare {
            let answers = try await story.steal([
                operation(
                    .create, CKRecordNameZoneWideShare,
                    ShareToModify(publicPermission: SharePermission.none, participants: [eve()]))
            ])
            try expectSaved(answers)
            return (CKRecordNameZoneWideShare, "milk")
        }
        let share = try await story.cloud.share(root, of: story.owner, with: "ana@localhost")
        let name = share.recordID.recordName
        switch attack {
        case .addsParticipant:
            try expectSaved(
                try await story.steal(
                    name, ShareToModify(participants: participants(of: share, adding: "eve@localhost"))))
        case .opens:
            try expectSaved(try await story.steal(name, ShareToModify(publicPermission: .readWrite)))
        default:
            let note = try await story.owner.privateCloudDatabase.record(for: id("note"))
            try expectSaved(
                try await story.steal([
                    operation(
                        .create, "stolen",
                        ShareToModify(
                            forRecord: .init(recordName: "note", recordChangeTag: note.recordChangeTag),
                            publicPermission: SharePermission.none, participants: [eve()]))
                ]))
            return ("stolen", "note")
        }
        return (name, "milk")
    }

    private func eve() -> ParticipantDictionary {
        ParticipantDictionary(
            userIdentity: UserIdentityDictionary(lookupInfo: .init(emailAddress: "eve@localhost")),
            permission: .readWrite)
    }

    private func expectSaved(_ answers: [RecordResult]) throws {
        for answer in answers {
            guard case .record = answer else {
                Issue.record("\(answer)")
                return
            }
        }
    }

    /// What a guest gets of a record that is shared with it.
    private func outcome(_ guest: CKContainer, _ record: String) async throws -> CKError.Code? {
        let zone = try await sharedZone(guest)
        return await codeOf { _ = try await text(guest.sharedCloudDatabase, record, in: zone) }
    }

    enum Confirmation: CaseIterable, Sendable { case save, acceptance }

    @Test(arguments: Attack.allCases, Confirmation.allCases)
    func `a participant named without a device's signature gets keys once the app or a person confirms it`(
        attack: Attack, confirmation: Confirmation
    ) async throws {
        let story = try await Story()
        defer { story.cloud.removeKeys() }
        let (name, record) = try await self.attack(attack, story)
        try await story.accept(try await story.share(name), by: story.eve)
        for _ in 0..<2 {
            try await story.sync()
            #expect(try await outcome(story.eve, record) == .zoneBusy)
        }
        let eve = try await story.eve.userRecordID().recordName
        #expect(try await story.keys.compare(eve).first?.waiting != nil)
        switch confirmation {
        case .save:
            let share = try await story.share(name, 1)
            share[CKShare.SystemFieldKey.title] = "Ours"
            _ = try await story.devices[1].privateCloudDatabase.save(share)
        case .acceptance: try await story.keys.accept(eve)
        }
        #expect(try await outcome(story.eve, record) == nil)
        // It stays so for later keys.
        let changed = try await story.owner.privateCloudDatabase.record(for: id(record))
        changed.encryptedValues["text"] = "Later"
        _ = try await story.owner.privateCloudDatabase.save(changed)
        try await story.sync()
        let zone = try await sharedZone(story.eve)
        #expect(try await text(story.cloud.container("eve").sharedCloudDatabase, record, in: zone) == "Later")
    }

    @Test func `signed participants get their keys although a share has unsigned ones`() async throws {
        let story = try await Story()
        defer { story.cloud.removeKeys() }
        let ana = story.cloud.container("ana")
        let (name, _) = try await attack(.addsParticipant, story)
        _ = try await ana.session.keyRing.device()
        let share = try await story.share(name)
        for guest in [ana, story.eve] { try await story.accept(share, by: guest) }
        try await story.sync()
        #expect(try await outcome(ana, "milk") == nil)
        #expect(try await outcome(story.eve, "milk") == .zoneBusy)
    }

    @Test func `a client that claims to know keys signs who takes part, or is refused`() async throws {
        let story = try await Story()
        defer { story.cloud.removeKeys() }
        let share = try await story.cloud.share(
            try await story.cloud.makeList(story.owner), of: story.owner, with: "ana@localhost")
        let name = share.recordID.recordName
        var forged = ShareToModify(participants: participants(of: share, adding: "eve@localhost"))
        forged.signedParticipants = [1, 2, 3]
        let attempts = [
            ShareToModify(participants: participants(of: share, adding: "eve@localhost")),
            ShareToModify(publicPermission: .readOnly), forged,
        ]
        for attempt in attempts {
            let answers = try await story.steal(name, attempt, knowsKeys: true)
            guard case .failure(let error)? = answers.first else {
                Issue.record("\(answers)")
                return
            }
            #expect(error.needsKeys && error.keyGroup == name, "\(error)")
        }
        let (keys, place) = (try await story.keys(of: name), try await story.place(of: name))
        let device = try await story.owner.session.keyRing.device()
        let present = Set(share.participants.filter { $0.role != .owner }.map(\.participantID))
        let keyID = GroupKeyID.of(box: try #require(keys.group.first).box)
        let (last, stranger) = (try #require(keys.participants), SigningKeyPair.random())
        let lists: [(Int64, Set<String>, SigningKeyPair)] = [
            (2, present, stranger), (1, present, device.signing), (3, present, device.signing),
            (2, present.union(["other"]), device.signing),
        ]
        for (number, participants, pair) in lists {
            let list = ParticipantList(
                number: number, keyID: keyID, accountKey: device.list.accountKey, isOpen: false,
                participants: participants)
            _ = try? await story.owner.session.service.send(
                .putGroupKey,
                PutGroupKeyRequest(
                    zoneID: ZoneIDDictionary(zoneName: "Lists"), group: name,
                    participants: list.signed(by: pair, for: place)), ServiceCall(scope: .private))
            #expect(try await story.keys(of: name).participants == last)
        }
    }

    @Test func `an administrator that no device of the owner's has named invites, and the guest waits`() async throws {
        let story = try await Story()
        defer { story.cloud.removeKeys() }
        let (ana, carol) = (story.cloud.container("ana"), story.cloud.container("carol"))
        let root = try await story.cloud.makeList(story.owner)
        let share = CKShare(rootRecord: root)
        let admin = try await story.owner.shareParticipant(forEmailAddress: "ana@localhost")
        (admin.role, admin.permission) = (.administrator, .readWrite)
        share.addParticipant(admin)
        try await story.owner.privateCloudDatabase.saveAll([root, share])
        for guest in [ana, carol] { _ = try await guest.session.keyRing.device() }
        try await ana.join(share.url)
        let zone = try await sharedZone(ana)
        let recordID = CKRecord.ID(recordName: share.recordID.recordName, zoneID: zone)
        let seen = try #require(try await ana.sharedCloudDatabase.record(for: recordID) as? CKShare)
        let invited = try await ana.shareParticipant(forEmailAddress: "carol@localhost")
        invited.permission = .readWrite
        seen.addParticipant(invited)
        _ = try await ana.sharedCloudDatabase.save(seen)
        try await story.accept(share, by: carol)
        try await story.sync()
        #expect(try await outcome(ana, "milk") == nil)
        #expect(try await outcome(carol, "milk") == .zoneBusy)
        try await story.keys.accept(try await carol.userRecordID().recordName)
        #expect(try await outcome(carol, "milk") == nil)
    }

    @Test func `the identifier of a removed participant is not given to another account, even with its list`()
        async throws
    {
        let story = try await Story()
        defer { story.cloud.removeKeys() }
        let share = try await story.cloud.share(
            try await story.cloud.makeList(story.owner), of: story.owner, with: "ana@localhost")
        let name = share.recordID.recordName
        let signed = try await story.keys(of: name).participants
        let ana = try #require(share.participants.first { $0.role != .owner })
        var other = eve()
        other.participantID = ana.participantID
        try expectSaved(try await story.steal(name, ShareToModify(participants: [])))
        var replay = ShareToModify(participants: [other])
        replay.signedParticipants = signed
        #expect(signed != nil)
        try expectSaved(try await story.steal(name, replay))
        try await story.accept(try await story.share(name), by: story.eve)
        try await story.sync()
        #expect(try await outcome(story.eve, "milk") == .zoneBusy)
    }

    @Test func `in a share with a key nobody chooses an identifier without a signature`() async throws {
        let story = try await Story()
        defer { story.cloud.removeKeys() }
        let share = try await story.cloud.share(
            try await story.cloud.makeList(story.owner), of: story.owner, with: "ana@localhost")
        var other = eve()
        other.participantID = UUID().uuidString
        let wishes = participants(of: share, adding: nil) + [other]
        try expectSaved(try await story.steal(share.recordID.recordName, ShareToModify(participants: wishes)))
        let seen = try await story.share(share.recordID.recordName)
        #expect(seen.participants.count == 3)
        #expect(!seen.participants.contains { $0.participantID == other.participantID })
    }

    @Test func `a share that is closed and opened again without keys hands none over`() async throws {
        let story = try await Story()
        defer { story.cloud.removeKeys() }
        let share = try await story.cloud.share(try await story.cloud.makeList(story.owner), of: story.owner)
        let name = share.recordID.recordName
        for permission in [SharePermission.none, .readWrite] {
            try expectSaved(try await story.steal(name, ShareToModify(publicPermission: permission)))
        }
        try await story.accept(try await story.share(name), by: story.eve)
        try await story.sync()
        #expect(try await outcome(story.eve, "milk") == .zoneBusy)
    }

    @Test func `a participant who is removed and invited again by the app gets the key`() async throws {
        let story = try await Story()
        defer { story.cloud.removeKeys() }
        let ana = story.cloud.container("ana")
        _ = try await ana.session.keyRing.device()
        let share = try await story.cloud.share(
            try await story.cloud.makeList(story.owner), of: story.owner, with: "ana@localhost")
        try await story.accept(share, by: ana)
        let saved = try await story.share(share.recordID.recordName)
        saved.removeParticipant(try #require(saved.participants.first { $0.role != .owner }))
        _ = try await story.owner.privateCloudDatabase.save(saved)
        // The other device invites, as it has seen the share last.
        let again = try await story.share(share.recordID.recordName, 1)
        let participant = try await story.devices[1].shareParticipant(forEmailAddress: "ana@localhost")
        participant.permission = .readWrite
        again.addParticipant(participant)
        let stored = try #require(try await story.devices[1].privateCloudDatabase.save(again) as? CKShare)
        #expect(stored.participants.contains { $0.participantID == participant.participantID })
        try await story.accept(stored, by: ana)
        try await story.sync()
        #expect(try await outcome(ana, "milk") == nil)
    }

    @Test func `a title costs no request more, and neither does an invitation of a share that was fetched`()
        async throws
    {
        let cloud = try Cloud(escrows: false)
        defer { cloud.removeKeys() }
        let owner = cloud.container("mei")
        _ = try await cloud.container("ana").session.keyRing.device()
        let root = try await cloud.makeList(owner)
        func count(_ body: () async throws -> Void) async throws -> (saves: Int, keys: Int) {
            let (saves, keys) = (
                cloud.cloud.requests(.save, account: "mei"), cloud.cloud.requests(.keys, account: "mei")
            )
            try await body()
            return (saves.count, keys.count)
        }
        let share = CKShare(rootRecord: root)
        let made = try await count { try await owner.privateCloudDatabase.saveAll([root, share]) }
        let fetched = try #require(try await owner.privateCloudDatabase.record(for: share.recordID) as? CKShare)
        let titled = try await count {
            fetched[CKShare.SystemFieldKey.title] = "Ours"
            _ = try await owner.privateCloudDatabase.save(fetched)
        }
        let invited = try await count {
            fetched.addParticipant(try await owner.shareParticipant(forEmailAddress: "ana@localhost"))
            _ = try await owner.privateCloudDatabase.save(fetched)
        }
        #expect(made.saves == 2, "the first one is refused, as it needs the share's key")
        #expect(titled == (1, 1))
        #expect(invited == (1, 3))
    }
}
