import CloudKit
import CloudKitLocal
import Testing

private func onThread(_ body: @escaping @Sendable () -> Void) async {
    await withCheckedContinuation { done in
        Thread.detachNewThread {
            body()
            done.resume()
        }
    }
}

@Suite struct QueueTests {
    private let container: CKContainer
    private let database: CKDatabase
    private let zoneID = CKRecordZone.ID(zoneName: "Q")

    init() throws {
        container = try CKContainer.local()
        database = container.privateCloudDatabase
    }

    @Test func `an operation waits for another database operation, which can cancel it`() async throws {
        try await database.save(CKRecordZone(zoneID: zoneID))
        for database in [container.privateCloudDatabase, container.sharedCloudDatabase] {
            let subscriber = Subscriber(database: database, zoneID: zoneID, subscriptionID: "s")
            for expected in ["saved", "not needed"] {
                let journal = Journal()
                await onThread { subscriber.run(journal) }
                // What is cancelled waits for nothing any more: only a save that runs comes after the look.
                #expect(journal.lines.sorted() == ["end", "looked", expected].sorted())
                #expect(journal.lines.last == "end" && (expected != "saved" || journal.lines.first == "looked"))
            }
        }
    }

    @Test func `after a wait for a queue all blocks were called, the records in their order`() async throws {
        try await database.save(CKRecordZone(zoneID: zoneID))
        let ids = (0..<30).map { CKRecord.ID(recordName: "\($0)", zoneID: zoneID) }
        let database = database
        let saved = Journal()
        await onThread {
            CKModifyRecordsOperation(recordsToSave: ids.map { CKRecord(recordType: "N", recordID: $0) })
                .runAlone(in: database, saved)
        }
        let created: [String] = ids.map { "+" + $0.recordName } + ["result"]
        #expect(Array(saved.lines.prefix(31)) == created)
        let deleted = Journal()
        await onThread {
            CKModifyRecordsOperation(recordsToSave: nil, recordIDsToDelete: ids.reversed())
                .runAlone(in: database, deleted)
        }
        let removed: [String] = ids.reversed().map { "-" + $0.recordName } + ["result"]
        #expect(Array(deleted.lines.prefix(31)) == removed)
    }

    @Test func `an operation starts without a queue`() async throws {
        let database = database
        await onThread {
            let operation = CKModifyRecordsOperation(recordsToSave: [CKRecord(recordType: "N")])
            #expect(operation.startAlone(in: database))
        }
        #expect(
            try await database.records(matching: CKQuery(recordType: "N", predicate: NSPredicate(value: true)))
                .matchResults.count == 1)
    }

    @Test func `a duplicate subscription is recognised by its error`() async throws {
        try await database.save(CKRecord(recordType: "N"))
        func subscription(_ id: String) -> CKQuerySubscription {
            let subscription = CKQuerySubscription(
                recordType: "N", predicate: NSPredicate(value: true), subscriptionID: id,
                options: .firesOnRecordCreation)
            subscription.notificationInfo = CKSubscription.NotificationInfo(shouldSendContentAvailable: true)
            return subscription
        }
        try await database.save(subscription("first"))
        try await database.save(subscription("first"))
        let error = await #expect(throws: CKError.self) { try await database.save(subscription("second")) }
        #expect(isSubscribed(try #require(error)))
        #expect(
            error?.localizedDescription
                == "Error saving record subscription with id second to server: subscription is duplicate of 'first'")
        let missing = await #expect(throws: CKError.self) { try await database.subscription(for: "third") }
        #expect(!isSubscribed(try #require(missing)))
    }

    @Test func `older casts find the failed items and the retry delay`() {
        let zones = CKError(
            .partialFailure, userInfo: [CKPartialErrorsByItemIDKey: [zoneID: CKError(.zoneNotFound)]])
        #expect(failedItems(zones) == [1, 1, 1, nil])
        let records = CKError(
            .partialFailure,
            userInfo: [CKPartialErrorsByItemIDKey: [CKRecord.ID(recordName: "a"): CKError(.limitExceeded)]])
        #expect(failedItems(records) == [1, 1, nil, 1])
        #expect(oldRetryDelay(CKError(.zoneBusy, userInfo: [CKErrorRetryAfterKey: 2.5])) == 2.5)
        #expect(oldRetryDelay(CKError(.zoneBusy)) == nil)
    }
}
