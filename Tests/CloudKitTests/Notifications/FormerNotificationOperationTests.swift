import CloudKit
import CloudKitLocal
import Testing

/// The operations on notifications that Apple deprecated: they succeed, and find nothing.
@Suite struct FormerNotificationOperationTests {
    private func container() throws -> CKContainer { try CKContainer.local() }

    @available(*, deprecated)
    @Test func `no notification is fetched, and the token is one to fetch from again`() async throws {
        let operation = CKFetchNotificationChangesOperation(previousServerChangeToken: nil)
        operation.notificationChangedBlock = { _ in Issue.record("a notification was fetched") }
        let container = try container()
        let (token, error) = await withCheckedContinuation { done in
            operation.fetchNotificationChangesCompletionBlock = { done.resume(returning: ($0, $1)) }
            container.add(operation)
        }
        #expect(token != nil && error == nil && !operation.moreComing && operation.resultsLimit == 0)
    }

    @available(*, deprecated)
    @Test func `marking as read and setting the badge succeed`() async throws {
        let notification = CKNotification(fromRemoteNotificationDictionary: ["ck": ["nid": "n", "met": ["sid": "s"]]])
        let id = try #require(notification?.notificationID)
        let mark = CKMarkNotificationsReadOperation(notificationIDsToMarkRead: [id])
        let badge = CKModifyBadgeOperation(badgeValue: 3)
        let container = try container()
        let marked = await withCheckedContinuation { done in
            mark.markNotificationsReadCompletionBlock = { ids, _ in done.resume(returning: ids) }
            container.add(mark)
        }
        #expect(marked == [id] && badge.badgeValue == 3)
        let error = await withCheckedContinuation { done in
            badge.modifyBadgeCompletionBlock = { done.resume(returning: $0) }
            container.add(badge)
        }
        #expect(error == nil)
    }

    @available(*, deprecated)
    @Test func `a cancelled operation fails with operationCancelled`() async throws {
        let operation = CKFetchNotificationChangesOperation()
        operation.cancel()
        let container = try container()
        let error = await withCheckedContinuation { done in
            operation.fetchNotificationChangesCompletionBlock = { done.resume(returning: $1) }
            container.add(operation)
        }
        #expect((error as? CKError)?.code == .operationCancelled)
    }
}
