import CloudKit
import CloudKitTesting
import Foundation
import Testing

/// The service of a test's cloud ends and starts again with its data.
@Suite struct RestartTests {
    @Test(.cloud) func `records outlive a restart of the service, and notifications go on`() async throws {
        let cloud = try LocalCloud.current
        let (phone, tablet) = (cloud.device("phone").container, cloud.device("tablet").container)
        let zone = try await phone.privateCloudDatabase.save(CKRecordZone(zoneName: "Notes"))
        try await tablet.privateCloudDatabase.save(
            CKRecordZoneSubscription(zoneID: zone.zoneID, subscriptionID: "notes"))
        let notifications = try await tablet.notifications()
        let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "milk", zoneID: zone.zoneID))
        let saved = try await phone.privateCloudDatabase.save(note)
        var iterator = notifications.makeAsyncIterator()
        let first = await iterator.next()
        let former = cloud.service

        await cloud.restart()

        #expect(cloud.service !== former)
        let found = try await tablet.privateCloudDatabase.record(for: note.recordID)
        #expect(found.recordChangeTag == saved.recordChangeTag)
        saved["text"] = "Milk"
        try await phone.privateCloudDatabase.save(saved)
        // What was not acknowledged comes again.
        var next = await iterator.next()
        while next?.notificationID == first?.notificationID { next = await iterator.next() }
        #expect((next as? CKRecordZoneNotification)?.recordZoneID == zone.zoneID)
    }

    @Test(.cloud) func `faults outlive a restart of the service`() async throws {
        let cloud = try LocalCloud.current
        cloud.fail(.save, with: .networkFailure)
        await cloud.restart()
        let error = await #expect(throws: CKError.self) {
            try await CKContainer.default().privateCloudDatabase.save(CKRecord(recordType: "Note"))
        }
        #expect(error?.code == .networkFailure)
    }

    private func simulation(_ mistake: PlainNotes.Mistake? = nil) -> Simulation {
        Simulation(seed: 1, accounts: ["mei"]) { try PlainNotes($0, mistake) }
    }

    /// Up to the request that saves the note.
    private let steps: [Simulation.Step] =
        [.edit("phone", 1), .sync("phone")] + Array(repeating: .pass("phone"), count: 3)

    @Test func `a service that ends before it answers has what it committed`() async throws {
        let trace = try await simulation().replay(steps + [.restartDuring("phone"), .restart, .sync("pad"), .check])
        #expect(trace.contains { $0.contains("records/modify") && $0.hasSuffix(": networkFailure") }, "\(trace)")
    }
}
