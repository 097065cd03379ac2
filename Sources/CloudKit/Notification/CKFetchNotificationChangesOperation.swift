/// A former way to fetch a container's notifications again (CKFetchNotificationChangesOperation, Apple's
/// documentation).
///
/// The service keeps a notification only until its delivery, so the operation succeeds without any notification. Use
/// change tokens to learn of changes since then.
@available(*, deprecated, message: "use CKFetchDatabaseChangesOperation and CKFetchRecordZoneChangesOperation")
open class CKFetchNotificationChangesOperation: CKOperation, @unchecked Sendable {
    private struct Blocks {
        var notificationChanged: ((CKNotification) -> Void)?
        var completion: ((CKServerChangeToken?, (any Error)?) -> Void)?
    }

    private let token = Locked<CKServerChangeToken?>(nil)
    private let limit = Locked(0)
    private let blocks = Locked(Blocks())

    public override init() { super.init() }

    /// An operation that fetches the notifications after a token.
    public convenience init(previousServerChangeToken: CKServerChangeToken?) {
        self.init()
        self.previousServerChangeToken = previousServerChangeToken
    }

    /// The position to continue from; nil means the beginning.
    open var previousServerChangeToken: CKServerChangeToken? {
        get { token.withLock { $0 } }
        set { token.exchange(newValue) }
    }

    /// The maximum number of notifications to fetch; 0 leaves the limit to the service.
    open var resultsLimit: Int {
        get { limit.withLock { $0 } }
        set { limit.exchange(newValue) }
    }

    /// Whether there are more notifications than were fetched.
    open var moreComing: Bool { false }

    /// Called once for every notification.
    open var notificationChangedBlock: ((CKNotification) -> Void)? {
        get { blocks.notificationChanged }
        set { blocks.notificationChanged = newValue }
    }

    /// Called once, at the end, with the token to continue from.
    open var fetchNotificationChangesCompletionBlock: ((CKServerChangeToken?, (any Error)?) -> Void)? {
        get { blocks.completion }
        set { blocks.completion = newValue }
    }

    override func conclude(_ failure: CKError?) {
        blocks.completion?(failure == nil ? previousServerChangeToken : nil, failure)
    }

    override func releaseBlocks() {
        super.releaseBlocks()
        blocks.exchange(Blocks())
    }
}
