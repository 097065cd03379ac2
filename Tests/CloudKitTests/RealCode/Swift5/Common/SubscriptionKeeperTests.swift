import CloudKit
import CloudKitLocal
import Testing

@Suite struct SubscriptionKeeperTests {
    private let container: CKContainer
    private let keeper: SubscriptionKeeper

    init() throws {
        container = try CKContainer.local()
        keeper = SubscriptionKeeper(container: container)
    }

    @Test func `an app subscribes with operations, handlers and async functions`() async throws {
        let database = container.privateCloudDatabase
        let zone = try await database.save(CKRecordZone(zoneName: "Notes"))
        try await database.save(CKRecord(recordType: "Note", recordID: CKRecord.ID(zoneID: zone.zoneID)))
        let failure = await withCheckedContinuation { done in
            keeper.subscribeToEverything { done.resume(returning: $0) }
        }
        #expect(failure == nil)
        let saved = await withCheckedContinuation { done in
            keeper.subscribeToNotes { subscription, _ in done.resume(returning: subscription?.subscriptionID) }
        }
        #expect(saved == "new-notes")
        let defaults = try #require(UserDefaults(suiteName: UUID().uuidString))
        try await keeper.subscribeIfNeeded(defaults: defaults)
        let ids = try await database.allSubscriptions().map(\.subscriptionID)
        #expect(Set(ids) == ["private-changes", "new-notes", "zone"])
        let removed = await withCheckedContinuation { done in
            keeper.removeAll { ids, _ in done.resume(returning: ids) }
        }
        #expect(Set(removed) == Set(ids))
        #expect(try await database.allSubscriptions().isEmpty)
    }

    @Test func `an app sorts notifications by their kind`() {
        let query: [String: Any] = ["sid": "new-notes", "rid": "n", "zid": "Notes", "fo": 3, "dbs": 1]
        #expect(keeper.handle(["ck": ["nid": "1", "qry": query]]) == "delete n")
        #expect(keeper.handle(["ck": ["nid": "2", "met": ["sid": "private-changes", "dbs": 1]]]) == "private")
        #expect(keeper.handle(["ck": ["nid": "3", "fet": ["sid": "zone", "zid": "Notes"]]]) == "zone Notes")
        #expect(keeper.handle(["aps": ["alert": "hi"]]) == "not ours")
    }
}
