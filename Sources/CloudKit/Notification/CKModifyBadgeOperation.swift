/// A former operation that set the app's badge on all devices (CKModifyBadgeOperation, Apple's documentation).
///
/// The service stores no badge number, so the operation succeeds without effect. An app has to set its badge itself.
@available(*, deprecated, message: "set the badge on the device")
open class CKModifyBadgeOperation: CKOperation, @unchecked Sendable {
    private let value = Locked(0)
    private let completion = Locked<(((any Error)?) -> Void)?>(nil)

    public override init() { super.init() }

    /// Creates an operation that sets the badge to a number.
    public convenience init(badgeValue: Int) {
        self.init()
        self.badgeValue = badgeValue
    }

    /// The number that the badge shows.
    open var badgeValue: Int {
        get { value.withLock { $0 } }
        set { value.exchange(newValue) }
    }

    /// Called once, at the operation's end; the error is nil after a success.
    open var modifyBadgeCompletionBlock: (((any Error)?) -> Void)? {
        get { completion.withLock { $0 } }
        set { completion.exchange(newValue) }
    }

    override func conclude(_ failure: CKError?) { modifyBadgeCompletionBlock?(failure) }

    override func releaseBlocks() {
        super.releaseBlocks()
        completion.exchange(nil)
    }
}
