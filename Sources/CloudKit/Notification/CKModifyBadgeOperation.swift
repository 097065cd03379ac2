/// Once set the number on the app's badge on all devices (CKModifyBadgeOperation, Apple's documentation).
///
/// The service counts no badges: the operation succeeds, and the app shows what number it likes.
@available(*, deprecated, message: "set the badge on the device")
open class CKModifyBadgeOperation: CKOperation, @unchecked Sendable {
    private let value = Locked(0)
    private let completion = Locked<(((any Error)?) -> Void)?>(nil)

    public override init() { super.init() }

    /// An operation that sets that number.
    public convenience init(badgeValue: Int) {
        self.init()
        self.badgeValue = badgeValue
    }

    /// The number.
    open var badgeValue: Int {
        get { value.withLock { $0 } }
        set { value.exchange(newValue) }
    }

    /// Called once, at the end.
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
