import CloudKit
import CloudKitLocal
import Testing

/// Every block and property of the operations on subscriptions.
@Suite struct SubscriptionOperationBlockTests {
    private let cloud: LocalCloud
    private let database: CKDatabase

    init() throws {
        cloud = try LocalCloud()
        database = cloud.container().privateCloudDatabase
    }

    private static func code(_ error: (any Error)?) -> String {
        (error as? CKError).map { "!\($0.code.rawValue)" } ?? ""
    }

    private static func code<T>(_ result: Result<T, any Error>) -> String {
        if case .failure(let error) = result { code(error) } else { "" }
    }

    private func subscription(_ id: String) -> CKSubscription { CKDatabaseSubscription(subscriptionID: id) }

    /// An operation that notes the newer blocks' calls.
    private func modify(_ saved: [CKSubscription]?, _ deleted: [String]?, _ log: CallLog)
        -> CKModifySubscriptionsOperation
    {
        let modify = CKModifySubscriptionsOperation()
        #expect(modify.subscriptionsToSave == nil && modify.subscriptionIDsToDelete == nil)
        modify.subscriptionsToSave = saved
        modify.subscriptionIDsToDelete = deleted
        #expect(modify.subscriptionsToSave == saved && modify.subscriptionIDsToDelete == deleted)
        modify.perSubscriptionSaveBlock = { id, result in
            log.note("save \(id) \((try? result.get())?.subscriptionID ?? Self.code(result))")
        }
        modify.perSubscriptionDeleteBlock = { id, result in log.note("delete \(id)\(Self.code(result))") }
        modify.modifySubscriptionsResultBlock = { log.note("end\(Self.code($0))") }
        return modify
    }

    @Test func `each subscription that is saved or deleted has its own result, then comes the operation's`()
        async throws
    {
        try await database.save(subscription("old"))
        let log = CallLog()
        let zone = CKRecordZoneSubscription(zoneID: CKRecordZone.ID(zoneName: "Gone"), subscriptionID: "zone")
        await modify([subscription("new"), zone], ["old", "absent"], log).finish(in: database)
        #expect(
            log.lines == [
                "save new new", "save zone !\(CKError.Code.zoneNotFound.rawValue)", "delete old",
                "delete absent!\(CKError.Code.unknownItem.rawValue)", "end!\(CKError.Code.partialFailure.rawValue)",
            ])
        #expect(try await database.allSubscriptions().map(\.subscriptionID) == ["new"])
    }

    @Test @available(*, deprecated)
    func `an operation without items succeeds, and an invalid one changes nothing`() async throws {
        let log = CallLog()
        await modify(nil, nil, log).finish(in: database)
        #expect(log.lines == ["end"])
        // To save and to delete the same is refused as a whole.
        let both = CallLog()
        let operation = modify([subscription("a"), subscription("b")], ["a"], both)
        operation.modifySubscriptionsCompletionBlock = { saved, deleted, error in
            both.note("older \(saved == nil) \(deleted == nil)\(Self.code(error))")
        }
        await operation.finish(in: database)
        let refused = "!\(CKError.Code.invalidArguments.rawValue)"
        #expect(both.lines == ["end\(refused)", "older true true\(refused)"])
        #expect(try await database.allSubscriptions().isEmpty)
        let nobody = CallLog()
        await modify([subscription("a")], nil, nobody).finish(in: cloud.container(account: nil).privateCloudDatabase)
        #expect(nobody.lines == ["end!\(CKError.Code.notAuthenticated.rawValue)"])
    }

    /// An operation that notes the newer blocks' calls.
    private func fetch(_ operation: CKFetchSubscriptionsOperation, _ log: CallLog) -> CKFetchSubscriptionsOperation {
        operation.perSubscriptionResultBlock = { id, result in
            log.note("\(id) \((try? result.get())?.subscriptionID ?? Self.code(result))")
        }
        operation.fetchSubscriptionsResultBlock = { log.note("end\(Self.code($0))") }
        return operation
    }

    @Test func `each subscription that is fetched has its own result, then comes the operation's`() async throws {
        for id in ["a", "b", "c"] { try await database.save(subscription(id)) }
        let some = CKFetchSubscriptionsOperation()
        #expect(some.subscriptionIDs == nil)
        some.subscriptionIDs = ["b", "absent", "a"]
        #expect(some.subscriptionIDs == ["b", "absent", "a"])
        var log = CallLog()
        await fetch(some, log).finish(in: database)
        #expect(
            log.lines == [
                "b b", "absent !\(CKError.Code.unknownItem.rawValue)", "a a",
                "end!\(CKError.Code.partialFailure.rawValue)",
            ])

        log = CallLog()
        let all = CKFetchSubscriptionsOperation.fetchAllSubscriptionsOperation()
        all.subscriptionIDs = ["a"]
        await fetch(all, log).finish(in: database)
        #expect(log.lines == ["a a", "b b", "c c", "end"])
        // Another database has others.
        log = CallLog()
        await fetch(.fetchAllSubscriptionsOperation(), log).finish(in: cloud.container().sharedCloudDatabase)
        #expect(log.lines == ["end"])
        log = CallLog()
        await fetch(CKFetchSubscriptionsOperation(subscriptionIDs: []), log).finish(in: database)
        #expect(log.lines == ["end"])
        log = CallLog()
        let nobody = cloud.container(account: nil).privateCloudDatabase
        await fetch(CKFetchSubscriptionsOperation(subscriptionIDs: ["a"]), log).finish(in: nobody)
        #expect(log.lines == ["end!\(CKError.Code.notAuthenticated.rawValue)"])
    }

    @Test @available(*, deprecated)
    func `the older block of a fetch has found subscriptions, and an error for missing ones`() async throws {
        try await database.save(subscription("a"))
        let log = CallLog()
        let operation = CKFetchSubscriptionsOperation(subscriptionIDs: ["a", "absent"])
        operation.fetchSubscriptionCompletionBlock = { found, error in
            let failed = (error as? CKError)?.partialErrorsByItemID
            log.note("\(found?.keys.sorted() ?? [])\(Self.code(error)) \(failed?["absent"].map(Self.code) ?? "-")")
        }
        await operation.finish(in: database)
        #expect(
            log.lines == [
                "[\"a\"]!\(CKError.Code.partialFailure.rawValue) !\(CKError.Code.unknownItem.rawValue)"
            ])
    }
}
