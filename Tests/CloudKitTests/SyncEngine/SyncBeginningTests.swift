import CloudKit
import CloudKitLocal
import NephosWire
import Testing

/// Events of a zone that a device wrote to before its first fetch.
@Suite struct SyncBeginningTests {
    private let cloud: LocalCloud
    private let zoneID = CKRecordZone.ID(zoneName: "Z")

    init() throws { cloud = try LocalCloud() }

    private func id(_ name: String) -> CKRecord.ID { CKRecord.ID(name, "Z") }

    private func device(_ disk: SyncDevice.Disk = .init()) -> SyncDevice {
        let device = SyncDevice(disk)
        device.start(cloud.container().privateCloudDatabase)
        return device
    }

    /// A device that sent notes to a zone and has fetched nothing.
    private func sender(_ names: [String]) async throws -> SyncDevice {
        let device = device()
        device.engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zoneID))])
        for name in names { device.edit(id(name), "1") }
        try await device.engine.sendChanges()
        return device
    }

    @Test(arguments: [false, true])
    func `a device is notified of a deletion of its own record before its first fetch`(restarts: Bool) async throws {
        var one = try await sender(["a", "b"])
        let two = device()
        try await two.engine.fetchChanges()
        two.delete(id("a"))
        try await two.engine.sendChanges()
        if restarts { one = device(one.stop()) }
        try await one.engine.fetchChanges()
        #expect(one.texts == ["b": "1"])
        one.clearLog()
        try await one.engine.fetchChanges()
        #expect(one.log == ["will fetch manual", "did fetch"])
    }

    @Test(arguments: [false, true], [false, true])
    func `a zone whose owner an app names by the account's user record is the account's own`(
        restarts: Bool, isMadeElsewhere: Bool
    ) async throws {
        let user = try await cloud.container().userRecordID().recordName
        let spelled = CKRecordZone.ID(zoneName: "Z", ownerName: user)
        func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: spelled) }
        if isMadeElsewhere { _ = try await sender(["other"]) }
        var device = device()
        if !isMadeElsewhere {
            device.engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: spelled))])
        }
        device.edit(id("a"), "1")
        try await device.engine.sendChanges()
        device.edit(id("unsent"), "1")
        if restarts { device = self.device(device.stop()) }
        try await device.engine.fetchChanges(.init(scope: .zoneIDs([spelled])))
        #expect(!device.log.contains { $0.contains("-Z") }, "\(device.log)")
        let names = Set(device.notes.keys.map(\.recordName))
        #expect(names.contains("a") && (restarts || names.contains("unsent")))
        #expect(names.contains("other") == isMadeElsewhere)
        // What another device deletes since the first send is reported.
        let two = self.device()
        try await two.engine.fetchChanges()
        two.delete(self.id("a"))
        try await two.engine.sendChanges()
        device.clearLog()
        try await device.engine.fetchChanges()
        #expect(device.log.contains("fetched [\"-a\"]"), "\(device.log)")
    }

    @Test func `a zone filled by other devices is fetched as by a new device, without earlier deletions`() async throws
    {
        let other = try await sender(["a", "b", "c"])
        other.delete(id("b"))
        try await other.engine.sendChanges()
        // It makes the same zone, and neither of the two has fetched.
        let one = try await sender(["d"])
        let pages = (0..<450).map { id("n\($0)") }
        for id in pages { other.edit(id, "2") }
        other.delete(id("a"))
        try await other.engine.sendChanges()
        let third = device()
        try await third.engine.fetchChanges()
        third.delete(id("d"))
        try await third.engine.sendChanges()

        one.clearLog()
        try await one.engine.fetchChanges()
        #expect(one.texts.count == 451 && one.texts["d"] == nil && one.texts["c"] == "1")
        let log = one.log.joined(separator: " ")
        #expect(log.contains("\"-d\"") && !log.contains("\"-b\""))
        try await other.engine.fetchChanges()
        #expect(other.texts == one.texts)
    }

    @Test func `a zone that was made again meanwhile counts as another zone`() async throws {
        let one = try await sender(["a"])
        let two = device()
        try await two.engine.fetchChanges()
        two.deleteZone(zoneID)
        try await two.engine.sendChanges()
        two.engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zoneID))])
        two.edit(id("b"), "2")
        try await two.engine.sendChanges()
        try await one.engine.fetchChanges()
        try await one.engine.fetchChanges()
        #expect(one.texts == ["b": "2"])
    }
}
