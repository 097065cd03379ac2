import CloudKitLocal
import NephosWire
import Testing

@testable import CloudKit

/// Sync engines and unreadable records.
@Suite struct EngineValueTests {
    private static func noteID(_ name: String) -> CKRecord.ID { EncryptedCloud.recordID(name) }

    private func device(_ database: CKDatabase, _ disk: SyncDevice.Disk = .init()) -> SyncDevice {
        let device = SyncDevice(disk)
        device.encrypts.value = true
        device.start(database)
        return device
    }

    /// The errors with which fetches of zones end from here on.
    private func errors(of device: SyncDevice) -> Box<[CKError?]> {
        let errors = Box<[CKError?]>([])
        device.onEvent.value = { event in
            if case .didFetchRecordZoneChanges(let end) = event { errors.value.append(end.error) }
        }
        return errors
    }

    @Test(arguments: [CKDatabase.DatabaseChange.Deletion.Reason.encryptedDataReset, .purged, .deleted])
    func `an engine that sent before its first fetch gets the reason for its zone's deletion`(
        reason: CKDatabase.DatabaseChange.Deletion.Reason
    ) async throws {
        let cloud = try await EncryptedCloud().makingZone()
        let container = cloud.cloud.container(account: "mei")
        let device = device(container.privateCloudDatabase)
        device.edit(Self.noteID("a"), "first")
        try await device.engine.sendChanges()
        let reasons = Box<[CKDatabase.DatabaseChange.Deletion.Reason]>([])
        device.onEvent.value = { event in
            if case .fetchedDatabaseChanges(let changes) = event { reasons.value += changes.deletions.map(\.reason) }
        }
        switch reason {
        case .encryptedDataReset:
            try await AccountDevices(container.session.service, container: container.containerIdentifier ?? "").reset()
        case .purged: try await cloud.cloud.removeZones(ofAccount: "mei", reason: .purged)
        default: _ = try await cloud.device().deleteRecordZone(withID: EncryptedCloud.zoneID)
        }
        try await device.engine.fetchChanges()
        #expect(reasons.value == [reason])
    }

    /// Two notes, and a device whose service shows it one of them with a clear value.
    private func deviceWithBadNote() async throws -> (EncryptedCloud, HostileService, SyncDevice, Box<[CKError?]>) {
        let cloud = try await EncryptedCloud().makingZone()
        try await cloud.device().saveAll([
            EncryptedCloud.note("bad", ["text": "secret"]), EncryptedCloud.note("good", ["text": "fine"]),
        ])
        let service = HostileService(cloud.cloud.container(account: "mei"))
        service.changingRecords.value = { name, fields in
            if name == "bad" { fields["text"] = Field(.string("put there"), isEncrypted: true) }
        }
        let device = device(service.container.privateCloudDatabase)
        return (cloud, service, device, errors(of: device))
    }

    private func isAboutBadNote(_ error: CKError?) -> Bool {
        error?.code == .partialFailure && error?.partialErrorsByItemID?.count == 1
            && (error?.partialErrorsByItemID?[Self.noteID("bad")] as? CKError)?.code == .internalError
    }

    @Test func `an unopenable record is reported at each fetch, the others arrive, and it comes once it opens`()
        async throws
    {
        let (cloud, service, first, told) = try await deviceWithBadNote()
        try await first.engine.fetchChanges()
        #expect(first.texts == ["good": "fine"])
        #expect(told.value.count == 1 && isAboutBadNote(told.value[0]))
        // The rest of the zone goes on.
        _ = try await cloud.device().save(EncryptedCloud.note("new", ["text": "later"]))
        try await first.engine.fetchChanges()
        #expect(first.texts == ["good": "fine", "new": "later"])
        #expect(told.value.count == 2 && isAboutBadNote(told.value[1]))
        // Also after a restart, where nothing else has changed.
        let database = first.engine.database
        let second = device(database, first.stop())
        let toldAgain = errors(of: second)
        try await second.engine.fetchChanges()
        #expect(toldAgain.value.count == 1 && isAboutBadNote(toldAgain.value[0]))
        service.changingRecords.value = nil
        try await second.engine.fetchChanges()
        #expect(second.texts == ["bad": "secret", "good": "fine", "new": "later"])
        #expect(toldAgain.value.count == 2 && toldAgain.value[1] == nil)
        try await second.engine.fetchChanges()
        #expect(toldAgain.value.count == 2, "there is nothing left to ask for")
    }

    @Test func `an unopenable record that is deleted is not requested again`() async throws {
        let (cloud, _, device, told) = try await deviceWithBadNote()
        try await device.engine.fetchChanges()
        _ = try await cloud.device().deleteRecord(withID: Self.noteID("bad"))
        try await device.engine.fetchChanges()
        #expect(told.value.count == 2 && told.value[1] == nil)
        try await device.engine.fetchChanges()
        #expect(told.value.count == 2 && device.texts == ["good": "fine"])
    }
}
