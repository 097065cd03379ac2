import CloudKitLocal
import Foundation
import NephosWire
import Testing

@testable import CloudKit

/// Apps that go on running while a device of an account is revoked.
@Suite final class RevokedDeviceTests {
    private typealias Cloud = SharedValuesTests.Cloud
    private let directory = FileManager.default.temporaryDirectory.path + "/keys-\(UUID().uuidString)"

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    private struct Device {
        var container: CKContainer
        var keys: AccountDevices

        func text(_ name: String, in database: CKDatabase, _ zoneID: CKRecordZone.ID) async throws -> String? {
            let id = CKRecord.ID(recordName: name, zoneID: zoneID)
            return try await database.record(for: id).encryptedValues["text"] as? String
        }
    }

    private func device(_ cloud: LocalCloud, _ account: String, _ name: String) -> Device {
        let service = HostileService(
            cloud.container(account: account), mayEscrow: false, keysIn: "\(directory)/\(account)-\(name)")
        return Device(container: service.container, keys: service.devices)
    }

    private func approve(_ new: Device, by device: Device) async throws {
        try await device.keys.approve(try #require(try await new.keys.code()))
    }

    private func revoke(_ former: Device, by device: Device) async throws {
        let name = try #require(try await former.keys.list().first { $0.isThis }).name
        try await device.keys.revoke(name)
    }

    private func share(_ zone: CKRecordZone.ID, of owner: Device, with device: Device) async throws {
        let share = CKShare(recordZoneID: zone)
        let participant = try await owner.container.shareParticipant(forEmailAddress: "bob@example.org")
        participant.permission = .readWrite
        share.addParticipant(participant)
        _ = try await owner.container.privateCloudDatabase.save(share)
        _ = try await device.container.accept(
            try await device.container.shareMetadata(for: try #require(share.url)))
    }

    /// Fetches the zone's changes, as an app does that synchronises.
    private func sync(_ database: CKDatabase, _ zoneID: CKRecordZone.ID) async throws {
        var token: CKServerChangeToken?
        var moreComing = true
        while moreComing {
            let changes = try await database.recordZoneChanges(inZoneWith: zoneID, since: token)
            (token, moreComing) = (changes.changeToken, changes.moreComing)
        }
    }

    private func record(_ name: String, _ text: String, _ zoneID: CKRecordZone.ID) -> CKRecord {
        let record = CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
        record.encryptedValues["text"] = text
        return record
    }

    @Test(arguments: ["new record", "changed record"])
    func `what running apps of the owner save next is not read by a revoked device`(what: String) async throws {
        let cloud = try LocalCloud()
        let (one, two, lost) = (
            device(cloud, "ann@example.org", "1"), device(cloud, "ann@example.org", "2"),
            device(cloud, "ann@example.org", "3")
        )
        let zone = Cloud.zoneID
        let name = what == "new record" ? "b" : "a"
        _ = try await one.container.privateCloudDatabase.save(CKRecordZone(zoneID: zone))
        _ = try await one.container.privateCloudDatabase.save(record("a", "before", zone))
        for device in [two, lost] { try await approve(device, by: one) }
        for device in [two, lost] {
            #expect(try await device.text("a", in: device.container.privateCloudDatabase, zone) == "before")
        }
        try await revoke(lost, by: two)
        // The first device, which has not heard of it, and the second, which did it.
        for (device, text) in [(one, "after"), (two, "later")] {
            let database = device.container.privateCloudDatabase
            let id = CKRecord.ID(recordName: name, zoneID: zone)
            let changed = (try? await database.record(for: id)) ?? record(name, "", zone)
            changed.encryptedValues["text"] = text
            _ = try await database.save(changed)
            await #expect(throws: CKError.self) {
                try await lost.text(name, in: lost.container.privateCloudDatabase, zone)
            }
        }
        #expect(try await one.text(name, in: one.container.privateCloudDatabase, zone) == "later")
        await #expect(throws: CKError.self) {
            try await lost.container.privateCloudDatabase.save(self.record("c", "mine", zone))
        }
    }

    @Test(arguments: ["revocation", "reset", "recovery key"])
    func `what is saved after the owner's next sync is not read by a participant's former device`(
        end: String
    ) async throws {
        let cloud = try LocalCloud()
        let (ann, bob, lost) = (
            device(cloud, "ann@example.org", "1"), device(cloud, "bob@example.org", "1"),
            device(cloud, "bob@example.org", "2")
        )
        let (own, other) = (Cloud.zoneID, CKRecordZone.ID(zoneName: "Other"))
        let database = ann.container.privateCloudDatabase
        _ = try await bob.container.privateCloudDatabase.save(CKRecordZone(zoneID: own))
        _ = try await bob.container.privateCloudDatabase.save(record("mine", "Bob's", own))
        try await approve(lost, by: bob)
        if end == "recovery key" { _ = try await bob.keys.makeRecoveryKey() }
        for zone in [own, other] {
            _ = try await database.save(CKRecordZone(zoneID: zone))
            _ = try await database.save(record("k", "before", zone))
            try await share(zone, of: ann, with: bob)
        }
        let zones = try await bob.container.sharedCloudDatabase.allRecordZones().map(\.zoneID)
        #expect(zones.count == 2)
        for zone in zones {
            #expect(try await lost.text("k", in: lost.container.sharedCloudDatabase, zone) == "before")
        }
        switch end {
        case "revocation": try await revoke(lost, by: bob)
        case "reset": try await bob.keys.reset()
        default: _ = try await bob.keys.makeRecoveryKey()
        }
        await cloud.settle()
        for zone in [own, other] {
            try await sync(database, zone)
            _ = try await database.save(record("k2", "after", zone))
        }
        for zone in zones where end != "recovery key" {
            await #expect(throws: CKError.self) {
                try await lost.text("k2", in: lost.container.sharedCloudDatabase, zone)
            }
        }
        if end == "reset" { return }
        // The participant's other apps go on, without a restart.
        for zone in zones {
            #expect(try await bob.text("k2", in: bob.container.sharedCloudDatabase, zone) == "after")
            let others = end == "recovery key" ? lost : bob
            #expect(try await others.text("k2", in: others.container.sharedCloudDatabase, zone) == "after")
        }
    }

    @Test func `a running app opens a share that was sealed for an account key made since`() async throws {
        let cloud = try LocalCloud()
        let (ann, bob, second) = (
            device(cloud, "ann@example.org", "1"), device(cloud, "bob@example.org", "1"),
            device(cloud, "bob@example.org", "2")
        )
        let zone = Cloud.zoneID
        _ = try await bob.container.privateCloudDatabase.save(CKRecordZone(zoneID: zone))
        _ = try await bob.container.privateCloudDatabase.save(record("mine", "Bob's", zone))
        try await approve(second, by: bob)
        for device in [bob, second] {
            #expect(try await device.text("mine", in: device.container.privateCloudDatabase, zone) == "Bob's")
        }
        for _ in 0..<2 { _ = try await bob.keys.makeRecoveryKey() }
        let database = ann.container.privateCloudDatabase
        _ = try await database.save(CKRecordZone(zoneID: zone))
        _ = try await database.save(record("k", "Ann's", zone))
        try await share(zone, of: ann, with: bob)
        let shared = try #require(try await bob.container.sharedCloudDatabase.allRecordZones().first).zoneID
        for device in [bob, second] {
            #expect(try await device.text("k", in: device.container.sharedCloudDatabase, shared) == "Ann's")
        }
    }

    /// Shares the record `name`.
    private func shareRecord(_ name: String, in zone: CKRecordZone.ID, of owner: Device, with device: Device)
        async throws
    {
        let database = owner.container.privateCloudDatabase
        let root = try await database.record(for: CKRecord.ID(recordName: name, zoneID: zone))
        let share = CKShare(rootRecord: root)
        let participant = try await owner.container.shareParticipant(forEmailAddress: "bob@example.org")
        participant.permission = .readWrite
        share.addParticipant(participant)
        try await database.saveAll([root, share])
        _ = try await device.container.accept(
            try await device.container.shareMetadata(for: try #require(share.url)))
    }

    @Test(arguments: [true, false], [true, false])
    func `what participants save after the owner's next sync is not read by the owner's revoked device`(
        isZoneWide: Bool, revokesByOther: Bool
    ) async throws {
        let cloud = try LocalCloud()
        let (one, two, lost, bob) = (
            device(cloud, "ann@example.org", "1"), device(cloud, "ann@example.org", "2"),
            device(cloud, "ann@example.org", "3"), device(cloud, "bob@example.org", "1")
        )
        let zones = [Cloud.zoneID, CKRecordZone.ID(zoneName: "Other")]
        let database = one.container.privateCloudDatabase
        for zone in zones {
            _ = try await database.save(CKRecordZone(zoneID: zone))
            try await database.saveAll([record("k", "before", zone), record("l", "before", zone)])
            if isZoneWide {
                try await share(zone, of: one, with: bob)
            } else {
                for name in ["k", "l"] { try await shareRecord(name, in: zone, of: one, with: bob) }
            }
        }
        for device in [two, lost] { try await approve(device, by: one) }
        for zone in zones {
            for name in ["k", "l"] {
                #expect(try await lost.text(name, in: lost.container.privateCloudDatabase, zone) == "before")
            }
        }
        try await revoke(lost, by: revokesByOther ? two : one)
        await cloud.settle()
        for zone in zones { try await sync(database, zone) }
        let shared = bob.container.sharedCloudDatabase
        for zone in try await shared.allRecordZones().map(\.zoneID) {
            for name in ["k", "l"] {
                let record = try await shared.record(for: CKRecord.ID(recordName: name, zoneID: zone))
                record.encryptedValues["text"] = "after"
                _ = try await shared.save(record)
            }
        }
        for zone in zones {
            for name in ["k", "l"] {
                await #expect(throws: CKError.self) {
                    try await lost.text(name, in: lost.container.privateCloudDatabase, zone)
                }
                for device in [one, two] {
                    #expect(try await device.text(name, in: device.container.privateCloudDatabase, zone) == "after")
                }
            }
        }
    }
}
