import CloudKitLocal
import Foundation
import NephosCrypto
import NephosWire
import Testing

@testable import CloudKit

/// Encrypted values under shares: only the owner and the participants read and write them.
@Suite struct SharedValuesTests: SharedValuesChecks {
    /// A cloud whose service is given keys to keep, or in which every device keeps its own.
    struct Cloud {
        let cloud: LocalCloud
        let escrows: Bool
        let directory = FileManager.default.temporaryDirectory.path + "/keys-\(UUID().uuidString)"
        static let zoneID = CKRecordZone.ID(zoneName: "Lists")

        init(escrows: Bool = true) throws {
            cloud = try LocalCloud()
            self.escrows = escrows
        }

        func container(_ account: String) -> CKContainer { hostile(account).container }

        /// A device of the account's, and the service that it believes to speak to.
        func hostile(
            _ account: String, device: String? = nil
        ) -> (service: HostileService, container: CKContainer) {
            let keys = "\(directory)/\(account)" + (device.map { "-\($0)" } ?? "")
            let service = HostileService(cloud.container(account: account), mayEscrow: escrows, keysIn: keys)
            return (service, service.container)
        }

        func removeKeys() { try? FileManager.default.removeItem(atPath: directory) }

        static func record(_ name: String, _ text: String, parent: String? = nil) -> CKRecord {
            let record = CKRecord(
                recordType: "Item", recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
            record.encryptedValues["text"] = text
            if let parent {
                record.parent = CKRecord.Reference(
                    recordID: CKRecord.ID(recordName: parent, zoneID: zoneID), action: .none)
            }
            return record
        }

        /// A list with an item and a note beside it, all encrypted.
        func makeList(_ owner: CKContainer) async throws -> CKRecord {
            let database = owner.privateCloudDatabase
            _ = try await database.save(CKRecordZone(zoneID: Self.zoneID))
            let root = Self.record("list", "Groceries")
            try await database.saveAll([root, Self.record("milk", "Milk", parent: "list"), Self.record("note", "Mine")])
            return root
        }

        /// Shares a list with an address, or with everybody who has the URL.
        func share(
            _ root: CKRecord, of owner: CKContainer, with address: String? = nil,
            _ permission: CKShare.ParticipantPermission = .readWrite
        ) async throws -> CKShare {
            let share = CKShare(rootRecord: root)
            if let address {
                let participant = try await owner.shareParticipant(forEmailAddress: address)
                participant.permission = permission
                share.addParticipant(participant)
            } else {
                share.publicPermission = permission
            }
            try await owner.privateCloudDatabase.saveAll([root, share])
            return share
        }

        /// The owner of a shared list, and a guest who has joined without its key.
        func guestWithoutKey() async throws -> (owner: CKContainer, guest: CKContainer, zone: CKRecordZone.ID) {
            let (owner, guest) = (container("mei"), container("ana"))
            let share = try await share(try await makeList(owner), of: owner)
            return (owner, guest, try await guest.joinWithoutKey(share.url).recordID.zoneID)
        }
    }

    @Test(arguments: [true, false])
    func `a participant reads and writes records that were encrypted before it joined`(
        escrows: Bool
    ) async throws {
        let cloud = try Cloud(escrows: escrows)
        defer { cloud.removeKeys() }
        let (owner, guest) = (cloud.container("mei"), cloud.container("ana@example.org"))
        let share = try await cloud.share(try await cloud.makeList(owner), of: owner, with: "ana@example.org")
        let url = try #require(share.url)
        #expect(ShareLink(fragment: url.fragment) != nil)
        let joined = try await guest.join(url)
        #expect(joined.url == url)
        let zone = try await sharedZone(guest)
        #expect(try await text(guest.sharedCloudDatabase, "list", in: zone) == "Groceries")
        #expect(try await text(guest.sharedCloudDatabase, "milk", in: zone) == "Milk")
        // What the guest writes, its owner reads, on a device that knows nothing yet.
        let item = try await guest.sharedCloudDatabase.record(for: CKRecord.ID(recordName: "milk", zoneID: zone))
        item.encryptedValues["text"] = "Oat milk"
        _ = try await guest.sharedCloudDatabase.save(item)
        let new = CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: "eggs", zoneID: zone))
        new.encryptedValues["text"] = "Eggs"
        new.parent = CKRecord.Reference(recordID: item.recordID, action: .none)
        _ = try await guest.sharedCloudDatabase.save(new)
        let other = cloud.container("mei").privateCloudDatabase
        #expect(try await text(other, "milk", in: Cloud.zoneID) == "Oat milk")
        #expect(try await text(other, "eggs", in: Cloud.zoneID) == "Eggs")
        let changes = try await cloud.container("ana@example.org").sharedCloudDatabase.recordZoneChanges(
            inZoneWith: zone, since: nil)
        let texts = try changes.modificationResultsByID.values.compactMap {
            try $0.get().record.encryptedValues["text"] as? String
        }
        #expect(Set(texts) == ["Groceries", "Oat milk", "Eggs"])
        #expect(try await text(owner.privateCloudDatabase, "note", in: Cloud.zoneID) == "Mine")
    }

    @Test(arguments: [true, false]) func `an account with the URL of a public share reads it while its owner is away`(
        escrows: Bool
    ) async throws {
        let cloud = try Cloud(escrows: escrows)
        defer { cloud.removeKeys() }
        let (owner, guest) = (cloud.container("mei"), cloud.container("ana"))
        let share = try await cloud.share(try await cloud.makeList(owner), of: owner)
        try await guest.join(share.url)
        let zone = try await sharedZone(guest)
        #expect(try await text(guest.sharedCloudDatabase, "milk", in: zone) == "Milk")
        // Another device of the guest's account finds the key with the service.
        #expect(try await text(cloud.container("ana").sharedCloudDatabase, "milk", in: zone) == "Milk")
    }

    @Test func `without the URL's fragment records are busy, not nil, until the owner's library hands the key over`()
        async throws
    {
        let cloud = try Cloud()
        let (owner, guest, zone) = try await cloud.guestWithoutKey()
        let database = guest.sharedCloudDatabase
        func busy(_ body: () async throws -> Void) async -> Double? {
            do {
                try await body()
                return nil
            } catch let error as CKError where error.code == .zoneBusy {
                return error.retryAfterSeconds
            } catch {
                Issue.record(error)
                return nil
            }
        }
        #expect(await busy { _ = try await text(database, "milk", in: zone) } != nil)
        let milk = CKRecord.ID(recordName: "milk", zoneID: zone)
        let changes = try await database.recordZoneChanges(inZoneWith: zone, since: nil)
        #expect(await busy { _ = try changes.modificationResultsByID[milk]?.get() } != nil)
        let new = CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: "eggs", zoneID: zone))
        new.encryptedValues["text"] = "Eggs"
        new.parent = CKRecord.Reference(recordID: CKRecord.ID(recordName: "list", zoneID: zone), action: .none)
        #expect(await busy { _ = try await database.save(new) } != nil)
        _ = try await owner.privateCloudDatabase.recordZoneChanges(inZoneWith: Cloud.zoneID, since: nil)
        #expect(try await text(database, "milk", in: zone) == "Milk")
        _ = try await database.save(new)
        #expect(try await text(owner.privateCloudDatabase, "eggs", in: Cloud.zoneID) == "Eggs")
    }

    @Test func `a removal makes a new share key, and the next write of a record a new record key`() async throws {
        let cloud = try Cloud()
        let (owner, ana, bob) = (cloud.container("mei"), cloud.container("ana"), cloud.container("bob"))
        let root = try await cloud.makeList(owner)
        let share = CKShare(rootRecord: root)
        for name in ["ana", "bob"] {
            let participant = try await owner.shareParticipant(forEmailAddress: "\(name)@localhost")
            participant.permission = .readWrite
            share.addParticipant(participant)
        }
        try await owner.privateCloudDatabase.saveAll([root, share])
        let url = try #require(share.url)
        for guest in [ana, bob] { try await guest.join(url) }
        let zone = try await sharedZone(bob)
        #expect(try await text(ana.sharedCloudDatabase, "milk", in: zone) == "Milk")
        let saved = try #require(
            try await owner.privateCloudDatabase.record(for: share.recordID) as? CKShare)
        let leaving = try #require(
            saved.participants.first { $0.userIdentity.lookupInfo?.emailAddress == "ana@localhost" })
        saved.removeParticipant(leaving)
        _ = try await owner.privateCloudDatabase.save(saved)
        #expect(saved.url != url, "the URL has another secret")
        let milk = try await owner.privateCloudDatabase.record(
            for: CKRecord.ID(recordName: "milk", zoneID: Cloud.zoneID))
        milk.encryptedValues["text"] = "Soy milk"
        _ = try await owner.privateCloudDatabase.save(milk)
        #expect(try await text(bob.sharedCloudDatabase, "milk", in: zone) == "Soy milk")
        #expect(try await text(bob.sharedCloudDatabase, "list", in: zone) == "Groceries")
        let keys = try await owner.session.service.send(
            .lookupKeys,
            LookupKeysRequest(
                zoneID: ZoneIDDictionary(zoneName: "Lists"), group: share.recordID.recordName, wantsGroup: true,
                recordNames: ["milk"]), ServiceCall(scope: .private))
        #expect(keys.group.count == 2)
        #expect(keys.records.first?.keys.map(\.version) == [2], "nothing of the record needs the key that ana had")
        await #expect(throws: CKError.self) { _ = try await text(ana.sharedCloudDatabase, "milk", in: zone) }
    }

    @Test(arguments: [true, false]) func `a zone that is shared as a whole passes its key on`(
        escrows: Bool
    ) async throws {
        let cloud = try Cloud(escrows: escrows)
        defer { cloud.removeKeys() }
        let (owner, guest) = (cloud.container("mei"), cloud.container("ana"))
        _ = try await cloud.makeList(owner)
        let share = CKShare(recordZoneID: Cloud.zoneID)
        share.publicPermission = .readWrite
        _ = try await owner.privateCloudDatabase.save(share)
        try await guest.join(share.url)
        let zone = try await sharedZone(guest)
        #expect(try await text(guest.sharedCloudDatabase, "note", in: zone) == "Mine")
        let new = CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: "eggs", zoneID: zone))
        new.encryptedValues["text"] = "Eggs"
        _ = try await guest.sharedCloudDatabase.save(new)
        #expect(try await text(owner.privateCloudDatabase, "eggs", in: Cloud.zoneID) == "Eggs")
    }

    @Test func `a record that moves under a shared one brings its keys along`() async throws {
        let cloud = try Cloud()
        let (owner, guest) = (cloud.container("mei"), cloud.container("ana"))
        let share = try await cloud.share(try await cloud.makeList(owner), of: owner)
        try await guest.join(share.url)
        let zone = try await sharedZone(guest)
        await expectFailure(.unknownItem) { _ = try await text(guest.sharedCloudDatabase, "note", in: zone) }
        let note = try await owner.privateCloudDatabase.record(
            for: CKRecord.ID(recordName: "note", zoneID: Cloud.zoneID))
        note.parent = CKRecord.Reference(
            recordID: CKRecord.ID(recordName: "list", zoneID: Cloud.zoneID), action: .none)
        _ = try await owner.privateCloudDatabase.save(note)
        #expect(try await text(guest.sharedCloudDatabase, "note", in: zone) == "Mine")
    }

    // MARK: A hostile service

    @Test func `a share key forged by the service is refused, and so is a forged list of the owner's devices`()
        async throws
    {
        let cloud = try Cloud(escrows: false)
        defer { cloud.removeKeys() }
        let (owner, guest) = (cloud.container("mei"), cloud.container("ana"))
        let share = try await cloud.share(try await cloud.makeList(owner), of: owner)
        try await guest.join(share.url)
        let zone = try await sharedZone(guest)
        #expect(try await text(guest.sharedCloudDatabase, "milk", in: zone) == "Milk")
        let name = try await cloud.cloud.container(account: "mei").userRecordID().recordName
        let place = KeyPlace(container: "iCloud.local", environment: "development", owner: name)
        let forged = DeviceIdentity.firstEntry(.random(), in: place).map { [$0] } ?? []
        let lies: [@Sendable (inout KeysResponse) -> Void] = [
            { $0.ownerEntries = forged }, { $0.ownerEntries = [] },
            { if !$0.group.isEmpty { $0.group[0].signature[3] ^= 1 } },
            { if !$0.boxes.isEmpty { $0.boxes[0].box[40] ^= 1 } },
            { answer in
                for index in answer.boxes.indices {
                    answer.boxes[index].box =
                        BoxKeyPair.seal([UInt8](repeating: 7, count: 32), for: answer.boxes[index].recipient) ?? []
                }
            },
            { answer in
                for index in answer.records.indices {
                    for key in answer.records[index].keys.indices {
                        answer.records[index].keys[key].isInherited.toggle()
                    }
                }
            },
        ]
        for (number, lie) in lies.enumerated() {
            let (service, container) = cloud.hostile("ana")
            service.changingKeys.value = { answer in
                var answer = answer
                lie(&answer)
                return answer
            }
            let code = await codeOf {
                let found = try await text(container.sharedCloudDatabase, "milk", in: zone)
                Issue.record("lie \(number) was believed: \(found ?? "nil")")
            }
            #expect(code == .internalError, "lie \(number)")
        }
    }
}
