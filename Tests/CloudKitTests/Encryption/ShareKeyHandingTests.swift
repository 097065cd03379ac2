import CloudKitTesting
import Foundation
import NephosCrypto
import NephosWire
import Testing

@testable import CloudKit

/// The handing over of a share's key by the owner's and administrators' libraries, and the end of former keys.
@Suite struct ShareKeyHandingTests: SharedValuesChecks {
    private typealias Cloud = SharedValuesTests.Cloud

    private static func call(_ scope: CKDatabase.Scope = .private) -> ServiceCall { ServiceCall(scope: scope) }

    private func fetched(_ share: CKShare, _ database: CKDatabase, _ zone: CKRecordZone.ID) async throws -> CKShare {
        let recordID = CKRecord.ID(recordName: share.recordID.recordName, zoneID: zone)
        return try #require(try await database.record(for: recordID) as? CKShare)
    }

    /// Shares a list with accounts, each of which may write.
    private func share(
        _ owner: CKContainer, _ cloud: Cloud, with names: [String], administrators: Set<String> = []
    ) async throws -> CKShare {
        let root = try await cloud.makeList(owner)
        let share = CKShare(rootRecord: root)
        for name in names {
            let participant = try await owner.shareParticipant(forEmailAddress: "\(name)@localhost")
            participant.permission = .readWrite
            if administrators.contains(name) { participant.role = .administrator }
            share.addParticipant(participant)
        }
        try await owner.privateCloudDatabase.saveAll([root, share])
        return share
    }

    // MARK: Administrators

    @Test(arguments: [true, false])
    func `the key follows an administrator's invitations and removals while the owner is away`(escrows: Bool)
        async throws
    {
        let cloud = try Cloud(escrows: escrows)
        defer { cloud.removeKeys() }
        let (owner, admin) = (cloud.container("mei"), cloud.container("ana"))
        let (bob, carol) = (cloud.container("bob"), cloud.container("carol"))
        // Who has keys is handed the share's.
        for guest in [admin, bob, carol] { try await makeKeys(guest) }
        let share = try await share(owner, cloud, with: ["ana", "bob"], administrators: ["ana"])
        let first = try await self.keys(owner, share).group
        #expect(first.count == 1 && first[0].administrators.count == 1, "one version, which names the administrator")
        for guest in [admin, bob] { try await guest.joinWithoutKey(share.url) }
        let zone = try await sharedZone(admin)
        #expect(try await text(bob.sharedCloudDatabase, "milk", in: zone) == "Milk")

        let seen = try await fetched(share, admin.sharedCloudDatabase, zone)
        let invited = try await admin.shareParticipant(forEmailAddress: "carol@localhost")
        invited.permission = .readWrite
        seen.addParticipant(invited)
        _ = try await admin.sharedCloudDatabase.save(seen)
        try await carol.joinWithoutKey(share.url)
        #expect(try await text(carol.sharedCloudDatabase, "milk", in: zone) == "Milk")

        let bobsID = try await bob.userRecordID()
        let current = try await fetched(share, admin.sharedCloudDatabase, zone)
        let leaving = try #require(current.participants.first { $0.userIdentity.userRecordID == bobsID })
        current.removeParticipant(leaving)
        let saved = try #require(try await admin.sharedCloudDatabase.save(current) as? CKShare)
        #expect(saved.url != share.url, "the URL has another secret")
        let milk = try await carol.sharedCloudDatabase.record(for: CKRecord.ID(recordName: "milk", zoneID: zone))
        milk.encryptedValues["text"] = "Soy milk"
        _ = try await carol.sharedCloudDatabase.save(milk)
        let keys = try await self.keys(owner, share)
        let last = try #require(keys.group.last)
        #expect(last.signer != keys.group[0].signer && keys.records.first?.keys.map(\.version) == [last.version])
        #expect(try await text(owner.privateCloudDatabase, "milk", in: Cloud.zoneID) == "Soy milk")
        for fresh in [cloud.container("ana"), cloud.container("carol")] {
            #expect(try await text(fresh.sharedCloudDatabase, "milk", in: zone) == "Soy milk")
        }
        let boxes = try await cloud.container("mei").keyRing(share).keys
        #expect(boxes.count == keys.group.count, "the owner opens what the administrator made")
    }

    @Test func `without an owner device's confirmation no administrator makes a key, whatever the service says`()
        async throws
    {
        let cloud = try Cloud(escrows: false)
        defer { cloud.removeKeys() }
        let (owner, guest) = (cloud.container("mei"), cloud.container("ana"))
        try await makeKeys(guest)
        let share = try await share(owner, cloud, with: ["ana", "bob"])
        try await guest.join(share.url)
        let zone = try await sharedZone(guest)
        #expect(try await text(guest.sharedCloudDatabase, "milk", in: zone) == "Milk")
        // The service refuses it of a participant.
        let service = guest.session.service
        let group = share.recordID.recordName
        let (keys, place, device) = try await guest.opened(group, in: zone)
        let recipient = try await cloud.container("mei").session.keyRing.device().list.accountKey
        let next = try #require(keys.next(for: place, device, recipient: recipient)).wrapped
        let zoneID = ZoneIDDictionary(zoneName: zone.zoneName, ownerRecordName: zone.ownerName)
        await #expect(throws: ServiceFailure.self) {
            _ = try await service.send(
                .putGroupKey, PutGroupKeyRequest(zoneID: zoneID, group: group, key: next), Self.call(.shared))
        }
        // A service that accepts it convinces neither the owner nor a participant.
        let entries = try await service.send(.accountKeys, EmptyKeysRequest(), Self.call()).entries
        let user = try await guest.userRecordID().recordName
        for account in ["mei", "ana"] {
            let (hostile, container) = cloud.hostile(account)
            hostile.changingKeys.value = { answer in
                var answer = answer
                guard !answer.group.isEmpty else { return answer }
                answer.group.append(next)
                answer.signers = [GroupSigner(userRecordName: user, entries: entries)]
                return answer
            }
            let database = account == "mei" ? container.privateCloudDatabase : container.sharedCloudDatabase
            let itsZone = account == "mei" ? Cloud.zoneID : zone
            let code = await codeOf { _ = try await text(database, "milk", in: itsZone) }
            #expect(code == .internalError, "\(account)")
        }
    }

    // MARK: One-time URLs

    @Test(arguments: [true, false]) func `a one-time URL has its own secret, which is used up with it`(
        escrows: Bool
    ) async throws {
        let cloud = try Cloud(escrows: escrows)
        defer { cloud.removeKeys() }
        let (owner, guest) = (cloud.container("mei"), cloud.container("ana"))
        let root = try await cloud.makeList(owner)
        let share = CKShare(rootRecord: root)
        let once = (0..<2).map { _ in CKShare.Participant.oneTimeURLParticipant() }
        for participant in once {
            participant.permission = .readWrite
            share.addParticipant(participant)
        }
        try await owner.privateCloudDatabase.saveAll([root, share])
        let urls = try once.map { try #require(share.oneTimeURL(for: $0.participantID)) }
        let links = try (urls + [try #require(share.url)]).map { try #require(ShareLink(fragment: $0.fragment)) }
        #expect(Set(links.map(\.secret)).count == 3 && Set(links.map(\.owner)).count == 1)
        let again = try await fetched(share, cloud.container("mei").privateCloudDatabase, Cloud.zoneID)
        let known = again.participants.compactMap { again.oneTimeURL(for: $0.participantID) }
        #expect(Set(known) == Set(urls), "all the owner's devices see the same URLs")
        #expect(once.map { again.oneTimeURL(for: $0.participantID) } == urls)

        let joined = try await guest.join(urls[0])
        #expect(joined.url == share.url, "who takes part sees the share's URL")
        let zone = try await sharedZone(guest)
        #expect(try await text(guest.sharedCloudDatabase, "milk", in: zone) == "Milk")
        let left = try await keys(owner, share).oneTimeLinks
        #expect(left.count == 1)
        let place = try await owner.opened(share.recordID.recordName, in: Cloud.zoneID).place
        #expect(left.allSatisfy { links[0].key($0.link, of: place, participant: $0.participantID) == nil })
        #expect(left.contains { links[1].key($0.link, of: place, participant: $0.participantID) != nil })
        #expect(try await keys(guest, share, in: zone).oneTimeLinks.isEmpty, "it is nobody else's")
    }

    @Test(arguments: [true, false]) func `archived metadata keeps the secret of its URL`(
        isOneTime: Bool
    ) async throws {
        let cloud = try Cloud(escrows: false)
        defer { cloud.removeKeys() }
        let (owner, guest) = (cloud.container("mei"), cloud.container("ana"))
        let root = try await cloud.makeList(owner)
        let share = CKShare(rootRecord: root)
        let once = CKShare.Participant.oneTimeURLParticipant()
        if isOneTime { share.addParticipant(once) } else { share.publicPermission = .readOnly }
        try await owner.privateCloudDatabase.saveAll([root, share])
        let url = try #require(isOneTime ? share.oneTimeURL(for: once.participantID) : share.url)
        let metadata = try await guest.shareMetadata(for: url)
        let data = try NSKeyedArchiver.archivedData(withRootObject: metadata, requiringSecureCoding: true)
        let restored = try #require(
            try NSKeyedUnarchiver.unarchivedObject(ofClass: CKShare.Metadata.self, from: data))
        _ = try await guest.accept(restored)
        #expect(try await text(guest.sharedCloudDatabase, "milk", in: try await sharedZone(guest)) == "Milk")
    }

    // MARK: What ends

    enum End: CaseIterable { case removal, blocking, closing, leaving }

    @Test(arguments: End.allCases)
    func `a former participant opens no later value, and neither does the former URL`(
        end: End
    ) async throws {
        let cloud = try Cloud(escrows: false)
        defer { cloud.removeKeys() }
        let (owner, ana) = (cloud.container("mei"), cloud.container("ana"))
        let share: CKShare
        if end == .closing {
            share = try await cloud.share(try await cloud.makeList(owner), of: owner)
        } else {
            share = try await self.share(owner, cloud, with: ["ana", "bob"])
        }
        let former = try #require(ShareLink(fragment: share.url?.fragment))
        try await ana.join(share.url)
        let zone = try await sharedZone(ana)
        #expect(try await text(ana.sharedCloudDatabase, "milk", in: zone) == "Milk")
        let before = try await ana.opened(share.recordID.recordName, in: zone).keys
        try await finish(end, share, owner, ana, zone)
        // The owner's next sync makes good what came from elsewhere.
        _ = try await owner.privateCloudDatabase.recordZoneChanges(inZoneWith: Cloud.zoneID, since: nil)
        let milk = try await owner.privateCloudDatabase.record(
            for: CKRecord.ID(recordName: "milk", zoneID: Cloud.zoneID))
        milk.encryptedValues["text"] = "Soy milk"
        _ = try await owner.privateCloudDatabase.save(milk)
        let after = try await keys(owner, share)
        #expect(after.group.count == 2)
        let wrapped = try #require(after.records.first?.keys)
        let place = try await owner.opened(share.recordID.recordName, in: Cloud.zoneID).place
        for key in wrapped {
            for known in before.keys.values {
                #expect(RecordKey(key, under: known, recordName: "milk", in: place) == nil)
            }
        }
        let link = try #require(after.link)
        #expect(former.key(link, of: place) == nil, "the former URL's secret opens nothing new")
        await #expect(throws: CKError.self) { _ = try await text(ana.sharedCloudDatabase, "milk", in: zone) }
    }

    private func finish(
        _ end: End, _ share: CKShare, _ owner: CKContainer, _ guest: CKContainer, _ zone: CKRecordZone.ID
    ) async throws {
        let saved = try await fetched(share, owner.privateCloudDatabase, Cloud.zoneID)
        let guestsID = try await guest.userRecordID()
        switch end {
        case .removal, .blocking:
            let leaving = try #require(saved.participants.first { $0.userIdentity.userRecordID == guestsID })
            if end == .removal {
                saved.removeParticipant(leaving)
            } else {
                leaving.permission = .none
            }
            _ = try await owner.privateCloudDatabase.save(saved)
        case .closing:
            saved.publicPermission = .none
            _ = try await owner.privateCloudDatabase.save(saved)
        case .leaving:
            _ = try await guest.sharedCloudDatabase.deleteRecordZone(withID: zone)
        }
    }

    // MARK: Web clients, and who waits

    @Test func `a record that a Web client moves under a share gets its keys at the owner's next sync`() async throws {
        let cloud = try Cloud()
        let (owner, guest) = (cloud.container("mei"), cloud.container("ana"))
        let share = try await cloud.share(try await cloud.makeList(owner), of: owner)
        try await guest.join(share.url)
        let zone = try await sharedZone(guest)
        let database = owner.privateCloudDatabase
        let token = try await database.recordZoneChanges(inZoneWith: Cloud.zoneID, since: nil).changeToken
        // Without our additions: a client that knows nothing of keys.
        var note = RecordToModify(recordName: "note", recordType: "Item", fields: RecordFields())
        note.parent = .set(ReferenceValue(recordName: "list"))
        let moved = try await cloud.cloud.container(account: "mei").session.service.send(
            .modifyRecords,
            ModifyRecordsRequest(
                operations: [RecordOperation(operationType: .forceUpdate, record: note)],
                zoneID: ZoneIDDictionary(zoneName: "Lists")), Self.call())
        guard case .record? = moved.records.first else {
            Issue.record("\(moved.records)")
            return
        }
        await #expect(codeOf { _ = try await text(guest.sharedCloudDatabase, "note", in: zone) } == .zoneBusy)
        let changes = try await database.recordZoneChanges(inZoneWith: Cloud.zoneID, since: token)
        #expect(Set(changes.modificationResultsByID.keys.map(\.recordName)) == ["note", share.recordID.recordName])
        #expect(try await text(guest.sharedCloudDatabase, "note", in: zone) == "Mine")
    }

    @Test(.timeLimit(.minutes(15)))
    func `a participant who waits for a share's key is notified of it, and the engine gets the records`() async throws {
        let cloud = try Cloud()
        let (owner, guest) = (cloud.container("mei"), cloud.container("ana"))
        let share = try await cloud.share(try await cloud.makeList(owner), of: owner)
        try await guest.joinWithoutKey(share.url)
        let listener = try await SharingListener(guest, other: cloud.container("ana"))
        let device = SyncDevice()
        device.encrypts.value = true
        device.start(guest.sharedCloudDatabase)
        try await device.engine.fetchChanges()
        #expect(Set(device.texts.keys) == [share.recordID.recordName])
        await cloud.cloud.settle()
        _ = try await listener.hasHeard()
        _ = try await owner.privateCloudDatabase.recordZoneChanges(inZoneWith: Cloud.zoneID, since: nil)
        await cloud.cloud.settle()
        #expect(try await listener.hasHeard())
        try await device.engine.fetchChanges()
        #expect(device.texts.filter { !$0.value.isEmpty } == ["list": "Groceries", "milk": "Milk"])
    }

    // MARK: Engines that work by themselves

    /// An engine of the shared database, once it has fetched for the first time.
    private func automaticDevice(_ container: CKContainer) async -> SyncDevice {
        let device = SyncDevice()
        device.encrypts.value = true
        device.start(container.sharedCloudDatabase, automatically: true)
        await device.wait { $0.contains("did fetch") }
        return device
    }

    private func wait(_ device: SyncDevice, for name: String) async {
        await device.wait { $0.contains { $0.hasPrefix("fetched") && $0.contains("\"\(name)\"") } }
    }

    /// Waits for a fetch in which records lacked keys.
    private func waitForMissingKeys(_ device: SyncDevice) async {
        await device.wait { $0.contains("did fetch zone Lists!\(CKError.Code.partialFailure.rawValue)") }
    }

    @Test(.timeLimit(.minutes(5)))
    func `an engine fetches waiting records automatically once the owner hands the key over`() async throws {
        let cloud = try Cloud()
        let (owner, guest) = (cloud.container("mei"), cloud.container("ana"))
        let share = try await cloud.share(try await cloud.makeList(owner), of: owner)
        let device = await automaticDevice(guest)
        try await guest.joinWithoutKey(share.url)
        await waitForMissingKeys(device)
        _ = try await owner.privateCloudDatabase.recordZoneChanges(inZoneWith: Cloud.zoneID, since: nil)
        await wait(device, for: "milk")
    }

    @Test(.timeLimit(.minutes(5)))
    func `an engine fetches a record automatically if its key is wrapped for the share later`() async throws {
        let cloud = try Cloud()
        let (owner, guest) = (cloud.container("mei"), cloud.container("ana"))
        let share = try await cloud.share(try await cloud.makeList(owner), of: owner)
        try await guest.join(share.url)
        let device = await automaticDevice(guest)
        await wait(device, for: "milk")
        // A client that knows nothing of keys.
        var note = RecordToModify(recordName: "note", recordType: "Item", fields: RecordFields())
        note.parent = .set(ReferenceValue(recordName: "list"))
        _ = try await cloud.cloud.container(account: "mei").session.service.send(
            .modifyRecords,
            ModifyRecordsRequest(
                operations: [RecordOperation(operationType: .forceUpdate, record: note)],
                zoneID: ZoneIDDictionary(zoneName: "Lists")), Self.call())
        await waitForMissingKeys(device)
        await cloud.cloud.settle()
        _ = try await owner.privateCloudDatabase.recordZoneChanges(inZoneWith: Cloud.zoneID, since: nil)
        await wait(device, for: "note")
    }

    @Test(.timeLimit(.minutes(5)))
    func `an engine fetches waiting records automatically once another device of its account has the key`() async throws
    {
        let cloud = try Cloud()
        let owner = cloud.container("mei")
        let share = try await cloud.share(try await cloud.makeList(owner), of: owner)
        let first = cloud.cloud.device("first", account: "ana").container
        let device = await automaticDevice(cloud.container("ana"))
        let fault = cloud.cloud.fail(.keys, device: "first", .all, with: .networkFailure)
        try await first.join(share.url)
        await waitForMissingKeys(device)
        fault.cancel()
        try await first.join(share.url)
        await wait(device, for: "milk")
    }

    // MARK: What the service has

    // MARK: Many records

    /// - Parameter number: before which of the requests for keys the other device does so.
    @Test(.timeLimit(.minutes(2)), arguments: 1...3)
    func `keys of many records are wrapped although another device rotates the share's key meanwhile`(
        number: Int
    ) async throws {
        let cloud = try Cloud()
        let first = cloud.cloud.device("first", account: "mei").container
        let (second, bob, carol) = (cloud.container("mei"), cloud.container("bob"), cloud.container("carol"))
        for guest in [bob, carol] { try await makeKeys(guest) }
        let share = try await share(first, cloud, with: ["bob", "carol"])
        try await bob.join(share.url)
        // One record more than the 1,000 of a page.
        let box = Cloud.record("box", "Box")
        let records = (0..<1000).map { Cloud.record("r\($0)", "\($0)", parent: "box") }
        for start in stride(from: 0, to: records.count, by: 300) {
            try await first.privateCloudDatabase.saveAll(
                (start == 0 ? [box] : []) + records[start..<min(start + 300, records.count)])
        }
        let moved = try await first.privateCloudDatabase.record(for: box.recordID)
        moved.setParent(CKRecord.ID(recordName: "list", zoneID: Cloud.zoneID))
        let requests = cloud.cloud.requests(.keys, device: "first")
        let held = cloud.cloud.hold(.keys, device: "first", .nth(number))
        let saving = Task { try await first.privateCloudDatabase.save(moved) }
        try await held.arrived()
        let seen = try #require(try await second.privateCloudDatabase.record(for: share.recordID) as? CKShare)
        seen.removeParticipant(
            try #require(
                seen.participants.first { $0.userIdentity.lookupInfo?.emailAddress == "carol@localhost" }))
        _ = try await second.privateCloudDatabase.save(seen)
        held.release()
        _ = try await saving.value
        #expect(requests.count <= 14, "\(requests)")
        #expect(try await keys(second, share).group.count == 2)
        let zone = try await sharedZone(bob)
        for name in ["box", "r0", "r999"] {
            #expect(try await text(bob.sharedCloudDatabase, name, in: zone) != nil)
        }
    }

    private func makeKeys(_ container: CKContainer) async throws { _ = try await container.session.keyRing.device() }

    private func keys(
        _ container: CKContainer, _ share: CKShare, in zone: CKRecordZone.ID? = nil
    ) async throws -> KeysResponse {
        let zoneID = ZoneIDDictionary(zoneName: "Lists", ownerRecordName: zone?.ownerName)
        return try await container.session.service.send(
            .lookupKeys,
            LookupKeysRequest(
                zoneID: zoneID, group: share.recordID.recordName, wantsGroup: true, recordNames: ["milk"]),
            Self.call(zone == nil ? .private : .shared))
    }
}

extension CKContainer {
    /// The keys of a share that this device has.
    fileprivate func opened(
        _ group: String, in zoneID: CKRecordZone.ID
    ) async throws -> (keys: GroupKeys, place: GroupPlace, device: DeviceIdentity) {
        let scope: CKDatabase.Scope = zoneID.ownerName == CKCurrentUserDefaultName ? .private : .shared
        let name = KeyRing.GroupName(zone: KeyZone(zoneID, scope), group: group)
        let (place, keys) = try await session.keyRing.keys(of: name, making: false)
        return (keys, place, try await session.keyRing.device())
    }

    /// Those of a share of the account's own.
    fileprivate func keyRing(_ share: CKShare) async throws -> GroupKeys {
        try await opened(share.recordID.recordName, in: SharedValuesTests.Cloud.zoneID).keys
    }
}
