import CloudKitTesting
import Foundation
import NephosWire
import Testing

@testable import CloudKit

/// The reset of encrypted data, from an app's view.
@Suite final class KeyResetTests {
    private let directory = FileManager.default.temporaryDirectory.path + "/keys-\(UUID().uuidString)"

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    private struct Device {
        var container: CKContainer
        var keys: AccountDevices
        var database: CKDatabase { container.privateCloudDatabase }

        func text(_ recordID: CKRecord.ID) async throws -> String? {
            try await database.record(for: recordID).encryptedValues["text"] as? String
        }
    }

    private func device(_ cloud: EncryptedCloud, _ name: String = "one", escrows: Bool = false) -> Device {
        let service = HostileService(
            cloud.cloud.container(account: "mei"), mayEscrow: escrows, keysIn: "\(directory)/\(name)")
        return Device(container: service.container, keys: service.devices)
    }

    private static let call = ServiceCall(scope: .private)

    private func zoneKeys(_ cloud: EncryptedCloud) async throws -> [WrappedGroupKey] {
        try await cloud.cloud.container(account: "mei").session.service.send(
            .lookupKeys, LookupKeysRequest(zoneID: ZoneIDDictionary(zoneName: "Notes"), wantsGroup: true), Self.call
        ).group
    }

    @Test(arguments: [true, false])
    func `zones with encrypted values report a reset until they are made again`(
        escrows: Bool
    ) async throws {
        let cloud = try await EncryptedCloud().makingZone()
        let device = device(cloud, escrows: escrows)
        let plain = CKRecordZone.ID(zoneName: "Plain")
        _ = try await device.database.save(CKRecordZone(zoneID: plain))
        _ = try await device.database.save(EncryptedCloud.note("a", ["text": "secret"]))
        let before = try await zoneKeys(cloud)
        try await device.keys.reset()
        for zoneless in [
            { _ = try await device.text(EncryptedCloud.recordID("a")) },
            { _ = try await device.database.save(EncryptedCloud.note("b", ["text": "more"])) },
        ] as [() async throws -> Void] {
            let error = await expectFailure(.zoneNotFound, zoneless)
            #expect(error?.userInfo[CKErrorUserDidResetEncryptedDataKey] as? Bool == true)
        }
        #expect(try await device.database.allRecordZones().contains { $0.zoneID == plain })
        // What Apple's sample does: the zone again, and what the device has.
        _ = try await device.database.save(CKRecordZone(zoneID: EncryptedCloud.zoneID))
        _ = try await device.database.save(EncryptedCloud.note("a", ["text": "secret"]))
        #expect(try await device.text(EncryptedCloud.recordID("a")) == "secret")
        let after = try await zoneKeys(cloud)
        #expect(before.count == 1 && after.count == 1 && before[0].box != after[0].box)
        #expect(before[0].recipient != after[0].recipient && before[0].signer != after[0].signer)
    }

    @Test func `another device starts over with the new list on confirmation, and is approved`() async throws {
        let cloud = try await EncryptedCloud().makingZone()
        let (first, second) = (device(cloud), device(cloud, "two"))
        _ = try await first.database.save(EncryptedCloud.note("a", ["text": "secret"]))
        let code = try #require(try await second.keys.code())
        try await first.keys.approve(code)
        #expect(try await second.text(EncryptedCloud.recordID("a")) == "secret")
        await #expect(throws: AccountDevices.Failure.self) { try await second.keys.acceptOwn() }
        try await first.keys.reset()
        _ = try await first.database.save(CKRecordZone(zoneID: EncryptedCloud.zoneID))
        _ = try await first.database.save(EncryptedCloud.note("a", ["text": "secret"]))
        let again = device(cloud, "two")
        await expectFailure(.accountTemporarilyUnavailable) { _ = try await again.text(EncryptedCloud.recordID("a")) }
        await #expect(throws: AccountDevices.Failure.self) { _ = try await again.keys.code() }
        try await again.keys.acceptOwn()
        try await first.keys.approve(try #require(try await again.keys.code()))
        #expect(try await again.text(EncryptedCloud.recordID("a")) == "secret")
        #expect(try await first.keys.list().count == 2)
        let kept = try FileManager.default.contentsOfDirectory(atPath: directory + "/two")
        #expect(kept.contains { $0.hasSuffix(".former") })
    }

    @Test func `the default zone stays, and its values do not open until they are set again`() async throws {
        let cloud = try await EncryptedCloud().makingZone()
        let device = device(cloud)
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "d"))
        record["clear"] = "seen"
        record.encryptedValues["text"] = "secret"
        _ = try await device.database.save(record)
        try await device.keys.reset()
        let later = self.device(cloud)
        let error = await expectFailure(.internalError) { _ = try await later.text(record.recordID) }
        #expect(error?.localizedDescription.contains("'text'") == true)
        let again = CKRecord(recordType: "Note", recordID: record.recordID)
        again.encryptedValues["text"] = "new"
        try await later.database.saveAll([again], savePolicy: .changedKeys)
        #expect(try await later.text(record.recordID) == "new")
        #expect(try await device.database.record(for: record.recordID)["clear"] as? String == "seen")
    }

    @Test func `sync engines are notified of the reset, and send their devices' records`() async throws {
        let cloud = try await EncryptedCloud().makingZone()
        let device = device(cloud)
        let (one, two) = (SyncDevice(), SyncDevice())
        for (engine, database) in [(one, device.database), (two, self.device(cloud).database)] {
            engine.encrypts.value = true
            engine.start(database)
        }
        try await one.engine.fetchChanges()
        one.edit(EncryptedCloud.recordID("a"), "first")
        one.edit(EncryptedCloud.recordID("b"), "second")
        try await one.engine.sendChanges()
        try await two.engine.fetchChanges()
        #expect(two.texts == ["a": "first", "b": "second"])
        try await device.keys.reset()
        try await one.engine.fetchChanges()
        try await one.engine.sendChanges()
        try await two.engine.fetchChanges()
        try await two.engine.sendChanges()
        try await two.engine.fetchChanges()
        #expect(one.texts == ["a": "first", "b": "second"])
        #expect(two.texts == one.texts, "\(one.log) \(two.log)")
        let fresh = try await self.device(cloud).database.recordZoneChanges(
            inZoneWith: EncryptedCloud.zoneID, since: nil)
        let texts = try fresh.modificationResultsByID.values.compactMap {
            try $0.get().record.encryptedValues["text"] as? String
        }
        #expect(Set(texts) == ["first", "second"])
    }

    @Test func `other owners' shares are handed over again once they accept the new list`() async throws {
        let cloud = try SharedValuesTests.Cloud(escrows: false)
        defer { cloud.removeKeys() }
        let (owner, guest) = (cloud.hostile("mei"), cloud.hostile("ana"))
        let share = try await cloud.share(try await cloud.makeList(owner.1), of: owner.1, with: "ana@localhost")
        try await guest.1.join(share.url)
        // The owner's library sees the devices of who joined.
        _ = try await owner.1.privateCloudDatabase.record(for: share.recordID)
        let zone = try #require(try await guest.1.sharedCloudDatabase.allRecordZones().first).zoneID
        let milk = CKRecord.ID(recordName: "milk", zoneID: zone)
        #expect(try await guest.1.sharedCloudDatabase.record(for: milk).encryptedValues["text"] as? String == "Milk")
        try await guest.0.devices.reset()
        let again = cloud.hostile("ana").1
        await expectFailure(.zoneBusy) { _ = try await again.sharedCloudDatabase.record(for: milk) }
        // The owner's library does not hand the key to a list that it does not know.
        _ = try await owner.1.privateCloudDatabase.record(for: share.recordID)
        await expectFailure(.zoneBusy) { _ = try await again.sharedCloudDatabase.record(for: milk) }
        let keys = owner.0.devices
        let ana = try await guest.1.userRecordID().recordName
        let waiting = try #require(try await keys.compare(ana).first)
        #expect(waiting.waiting != nil && waiting.code != nil && waiting.code != waiting.waiting)
        #expect(try await guest.0.devices.compare().first?.code == waiting.waiting)
        try await keys.accept(ana)
        #expect(try await again.sharedCloudDatabase.record(for: milk).encryptedValues["text"] as? String == "Milk")
        #expect(try await keys.compare(ana).first?.waiting == nil)
        await #expect(throws: AccountDevices.Failure.self) { try await keys.accept(ana) }
    }

    @Test func `two people read the same codes for each other's accounts`() async throws {
        let cloud = try SharedValuesTests.Cloud(escrows: false)
        defer { cloud.removeKeys() }
        let (owner, guest) = (cloud.hostile("mei"), cloud.hostile("ana"))
        let share = try await cloud.share(try await cloud.makeList(owner.1), of: owner.1, with: "ana@localhost")
        try await guest.1.join(share.url)
        _ = try await owner.1.privateCloudDatabase.record(for: share.recordID)
        let (mine, theirs) = (
            try await owner.0.devices.compare(),
            try await guest.0.devices.compare()
        )
        #expect(mine.map(\.isThis) == [true, false] && theirs.map(\.isThis) == [true, false])
        #expect(mine[0].code == theirs[1].code && mine[1].code == theirs[0].code && mine[0].code != mine[1].code)
        #expect(mine[0].code?.filter { $0 != "-" }.count == 32)
    }

    /// Until an acceptance has fewer requests for keys.
    @Test func `an acceptance that the connection breaks is repeated for the shares that are left`() async throws {
        var number = 1
        while try await acceptanceBreaks(at: number) { number += 1 }
        #expect(number > 3, "each share has its keys")
    }

    /// Accepts a new list of devices, and has the connection break at a request for keys.
    /// - Returns: false if there are fewer requests.
    private func acceptanceBreaks(at number: Int) async throws -> Bool {
        let cloud = try SharedValuesTests.Cloud(escrows: false)
        defer { cloud.removeKeys() }
        let (owner, guest) = (cloud.hostile("mei"), cloud.hostile("ana"))
        let database = owner.1.privateCloudDatabase
        let root = try await cloud.makeList(owner.1)
        let note = try await database.record(for: CKRecord.ID(recordName: "note", zoneID: root.recordID.zoneID))
        for record in [root, note] {
            let share = try await cloud.share(record, of: owner.1, with: "ana@localhost")
            try await guest.1.join(share.url)
        }
        try await sync(owner.1, root.recordID.zoneID)
        try await guest.0.devices.reset()
        let again = cloud.hostile("ana").1
        let zone = try #require(try await again.sharedCloudDatabase.allRecordZones().first).zoneID
        func texts() async throws -> [String] {
            var texts: [String] = []
            for name in ["list", "note"] {
                let id = CKRecord.ID(recordName: name, zoneID: zone)
                let record = try? await again.sharedCloudDatabase.record(for: id)
                if let text = record?.encryptedValues["text"] as? String { texts.append(text) }
            }
            return texts
        }
        // The owner's library sees the new list, which waits.
        try await sync(owner.1, root.recordID.zoneID)
        #expect(try await texts() == [])
        let keys = owner.0.devices
        let ana = try await guest.1.userRecordID().recordName
        let fault = cloud.cloud.fail(.keys, account: "mei", .nth(number), with: .networkFailure)
        var isBroken = true
        do {
            try await keys.accept(ana)
            #expect(fault.count == 0)
            fault.cancel()
            isBroken = false
        } catch {
            #expect(fault.count == 1)
            #expect(try await texts().count < 2)
            #expect(try await keys.compare(ana).first?.waiting != nil)
            try await keys.accept(ana)
        }
        #expect(Set(try await texts()) == ["Groceries", "Mine"])
        #expect(try await keys.compare(ana).first?.waiting == nil)
        return isBroken
    }

    /// Fetches the zone's changes, as an app does that synchronises.
    private func sync(_ container: CKContainer, _ zoneID: CKRecordZone.ID) async throws {
        _ = try await container.privateCloudDatabase.recordZoneChanges(inZoneWith: zoneID, since: nil)
    }
}
