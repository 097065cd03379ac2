/// A former operation that marked notifications as read on all devices (CKMarkNotificationsReadOperation, Apple's
/// documentation).
///
/// The service stores no delivered notifications, so the operation succeeds without effect.
@available(*, deprecated, message: "notifications are not kept: there is nothing to mark")
open class CKMarkNotificationsReadOperation: CKOperation, @unchecked Sendable {
    private let identifiers = Locked<[CKNotification.ID]?>(nil)
    private let completion = Locked<(([CKNotification.ID]?, (any Error)?) -> Void)?>(nil)

    public override init() { super.init() }

    /// Creates an operation that marks the given notifications as read.
    public convenience init(notificationIDsToMarkRead notificationIDs: [CKNotification.ID]) {
        self.init()
        self.notificationIDs = notificationIDs
    }

    /// The IDs of the notifications to mark as read.
    open var notificationIDs: [CKNotification.ID]? {
        get { identifiers.withLock { $0 } }
        set { identifiers.exchange(newValue) }
    }

    /// Called once, at the operation's end, with the IDs of the marked notifications, or with the error.
    open var markNotificationsReadCompletionBlock: (([CKNotification.ID]?, (any Error)?) -> Void)? {
        get { completion.withLock { $0 } }
        set { completion.exchange(newValue) }
    }

    override func conclude(_ failure: CKError?) {
        markNotificationsReadCompletionBlock?(failure == nil ? notificationIDs ?? [] : nil, failure)
    }

    override func releaseBlocks() {
        super.releaseBlocks()
        completion.exchange(nil)
    }
}
