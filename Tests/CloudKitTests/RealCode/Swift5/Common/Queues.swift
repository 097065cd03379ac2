import CloudKit

// How sync engines string operations together: dependencies across queues, and blocks that cancel what comes next.

/// The lines that blocks add, in their order.
final class Journal: @unchecked Sendable {
    private let lock = NSLock()
    private var all: [String] = []
    var lines: [String] { lock.withLock { all } }
    func add(_ line: String) { lock.withLock { all.append(line) } }
}

/// Subscribes unless a subscription of that name is there.
struct Subscriber {
    let database: CKDatabase
    let zoneID: CKRecordZone.ID
    let subscriptionID: String

    /// Blocks: not for Swift's own threads.
    func run(_ journal: Journal) {
        let subscription =
            database.databaseScope == .shared
            ? CKDatabaseSubscription(subscriptionID: subscriptionID)
            : CKRecordZoneSubscription(zoneID: zoneID, subscriptionID: subscriptionID)
        let save = CKModifySubscriptionsOperation(
            subscriptionsToSave: [subscription], subscriptionIDsToDelete: [])
        save.database = database
        save.modifySubscriptionsResultBlock = { result in
            guard case .failure(let error) = result else { return journal.add("saved") }
            if case CKError.operationCancelled = error { return journal.add("not needed") }
            journal.add("failed")
        }
        let fetch = CKFetchSubscriptionsOperation(subscriptionIDs: [subscriptionID])
        fetch.database = database
        fetch.perSubscriptionResultBlock = { _, result in
            if case .success = result { save.cancel() }
        }
        fetch.fetchSubscriptionsResultBlock = { _ in journal.add("looked") }
        save.addDependency(fetch)

        let queue = OperationQueue()
        let end = BlockOperation { journal.add("end") }
        end.addDependency(save)
        end.addDependency(fetch)
        save.database?.add(save)
        fetch.database?.add(fetch)
        queue.addOperation(end)
        queue.waitUntilAllOperationsAreFinished()
    }
}

extension CKModifyRecordsOperation {
    /// Runs on a queue of the caller's. Blocks: not for Swift's own threads.
    func runAlone(in database: CKDatabase, _ journal: Journal) {
        let queue = OperationQueue()
        self.database = database
        perRecordSaveBlock = { id, _ in journal.add("+" + id.recordName) }
        perRecordDeleteBlock = { id, _ in journal.add("-" + id.recordName) }
        modifyRecordsResultBlock = { _ in journal.add("result") }
        completionBlock = { journal.add("completion") }
        queue.addOperation(self)
        queue.waitUntilAllOperationsAreFinished()
    }

    /// Starts without any queue. Blocks: not for Swift's own threads.
    func startAlone(in database: CKDatabase) -> Bool {
        let done = DispatchSemaphore(value: 0)
        self.database = database
        completionBlock = { done.signal() }
        start()
        done.wait()
        return isFinished
    }
}

/// What apps that know a subscription by its error do.
func isSubscribed(_ error: Error) -> Bool {
    guard let error = error as? CKError, error.code == .serverRejectedRequest else { return false }
    let texts = [
        error.localizedDescription, String(describing: error), (error as NSError).localizedDescription,
        error.userInfo["ServerErrorDescription"] as? String, error.userInfo["CKErrorDescription"] as? String,
    ]
    return texts.allSatisfy { $0?.contains("subscription is duplicate of") == true }
}

/// The items of a partial failure by the casts of Apple's samples and of a feed reader.
func failedItems(_ error: Error) -> [Int?] {
    let errors = (error as? CKError)?.userInfo[CKPartialErrorsByItemIDKey]
    return [
        (errors as? [NSObject: CKError])?.count, (errors as? [AnyHashable: CKError])?.count,
        (errors as? [CKRecordZone.ID: Error])?.count, (errors as? [CKRecord.ID: NSError])?.count,
    ]
}

/// After how long to try again, asked as long ago.
func oldRetryDelay(_ error: Error?) -> Double? {
    guard let info = error?._userInfo as? NSDictionary else { return nil }
    return (info[CKErrorRetryAfterKey] as? NSNumber)?.doubleValue
}
