import CloudKit
import CloudKitTesting
import Testing

/// How an automatic engine is notified of other devices' changes.
@Suite struct SyncEngineNotificationTests {
    private let cloud: LocalCloud
    private let zoneID = CKRecordZone.ID(zoneName: "Z")

    init() throws { cloud = try LocalCloud() }

    private var database: CKDatabase { cloud.container().privateCloudDatabase }

    private func id(_ name: String) -> CKRecord.ID { CKRecord.ID(name, "Z") }

    /// A device without automatic sync, with a zone.
    private func other() -> SyncDevice {
        let device = SyncDevice()
        device.start(database)
        device.engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zoneID))])
        return device
    }

    @Test(.timeLimit(.minutes(15))) func `a notification makes the engine fetch`() async throws {
        let (one, two) = (SyncDevice(), other())
        one.start(database, automatically: true)
        await one.wait { $0.contains("did fetch") }
        #expect(!one.log.contains("fetched [\"a\"]"))
        two.edit(id("a"), "1")
        try await two.engine.sendChanges()
        await one.wait { $0.contains("fetched [\"a\"]") }
        two.edit(id("b"), "2")
        try await two.engine.sendChanges()
        await one.wait { $0.contains("fetched [\"b\"]") }
        #expect(one.texts == ["a": "1", "b": "2"])
    }

    @Test(.timeLimit(.minutes(15))) func `the engine saves a database subscription of its own`() async throws {
        let one = SyncDevice()
        one.start(database, automatically: true)
        await one.wait { $0.contains("did fetch") }
        let subscriptions = try await database.allSubscriptions()
        #expect(subscriptions.count == 1 && subscriptions.first is CKDatabaseSubscription)
        #expect(subscriptions.first?.notificationInfo?.shouldSendContentAvailable == true)
        // Another device of the account shares it.
        let two = SyncDevice()
        two.start(database, automatically: true)
        await two.wait { $0.contains("did fetch") }
        #expect(try await database.allSubscriptions().count == 1)
    }

    @Test(.timeLimit(.minutes(15))) func `the engine uses the subscription ID that it is configured with`() async throws
    {
        let one = SyncDevice()
        one.start(database, automatically: true, subscriptionID: "mine")
        await one.wait { $0.contains("did fetch") }
        #expect(try await database.allSubscriptions().map(\.subscriptionID) == ["mine"])
    }

    @Test(.timeLimit(.minutes(15))) func `an engine without automatic sync saves no subscription`() async throws {
        let one = SyncDevice()
        one.start(database)
        try await one.engine.fetchChanges()
        try await one.engine.sendChanges()
        #expect(try await database.allSubscriptions().isEmpty)
    }

    @Test(.timeLimit(.minutes(15))) func `a failed subscription save is retried`() async throws {
        let fault = cloud.fail(.subscriptions, with: .networkFailure)
        let (one, two) = (SyncDevice(), other())
        one.start(database, automatically: true)
        await one.wait { $0.filter { $0 == "did fetch" }.count == 2 }
        #expect(fault.count == 1)
        #expect(try await database.allSubscriptions().count == 1)
        two.edit(id("a"), "1")
        try await two.engine.sendChanges()
        await one.wait { $0.contains("fetched [\"a\"]") }
    }

    @Test(.timeLimit(.minutes(15))) func `a fetch makes up for failed polls`() async throws {
        let fault = cloud.fail(.notification, .nth(2), with: .networkFailure)
        let one = SyncDevice()
        one.start(database, automatically: true)
        await one.wait { $0.filter { $0 == "did fetch" }.count >= 2 }
        #expect(fault.count == 1)
    }
}
