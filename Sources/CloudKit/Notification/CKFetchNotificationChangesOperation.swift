/// A former operation that fetched a container's earlier notifications (CKFetchNotificationChangesOperation, Apple's
/// documentation).
///
/// The service discards a notification after its delivery, so the operation succeeds without any notification. Use
/// change tokens to fetch the changes themselves.
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

    /// Creates an operation that fetches the notifications after a token.
    public convenience init(previousServerChangeToken: CKServerChangeToken?) {
        self.init()
        self.previousServerChangeToken = previousServerChangeToken
    }

    /// The token after which to fetch notifications; nil means from the beginning.
    open var previousServerChangeToken: CKServerChangeToken? {
        get { token.withLock { $0 } }
        set { token.exchange(newValue) }
    }

    /// The maximum number of notifications per operation; 0 leaves the limit to the service.
    open var resultsLimit: Int {
        get { limit.withLock { $0 } }
        set { limit.exchange(newValue) }
    }

    /// Whether more notifications exist than the operation fetched. Always false.
    open var moreComing: Bool { false }

    /// Called once for each fetched notification.
    open var notificationChangedBlock: ((CKNotification) -> Void)? {
        get { blocks.notificationChanged }
        set { blocks.notificationChanged = newValue }
    }

    /// Called once, at the operation's end, with the token for the next operation, or with the error.
    open var fetchNotificationChangesCompletionBlock: ((CKServerChangeToken?, (any Error)?) -> Void)? {
        get { blocks.completion }
        set { blocks.completion = newValue }
    }

    override func conclude(_ failure: CKError?) {
        let token = previousServerChangeToken ?? CKServerChangeToken(syncToken: "none")
        blocks.completion?(failure == nil ? token : nil, failure)
    }

    override func releaseBlocks() {
        super.releaseBlocks()
        blocks.exchange(Blocks())
    }
}
