/// An operation that formerly found users by e-mail address, phone number or record ID
/// (CKDiscoverUserIdentitiesOperation, Apple's documentation).
///
/// Since iOS 17 CloudKit discovers no users: the operation succeeds and never calls its `userIdentityDiscoveredBlock`.
@available(*, deprecated, message: "CloudKit no longer discovers users")
open class CKDiscoverUserIdentitiesOperation: CKOperation, @unchecked Sendable {
    private struct Blocks {
        var discovered: ((CKUserIdentity, CKUserIdentity.LookupInfo) -> Void)?
        var result: ((Result<Void, any Error>) -> Void)?
        var completion: (((any Error)?) -> Void)?
    }

    private let infos = Locked<[CKUserIdentity.LookupInfo]>([])
    private let blocks = Locked(Blocks())

    public override init() { super.init() }

    /// Creates an operation that looks for these users.
    public convenience init(userIdentityLookupInfos: [CKUserIdentity.LookupInfo]) {
        self.init()
        self.userIdentityLookupInfos = userIdentityLookupInfos
    }

    /// The identifiers of the users to look for.
    open var userIdentityLookupInfos: [CKUserIdentity.LookupInfo] {
        get { infos.withLock { $0 } }
        set { infos.exchange(newValue) }
    }

    /// Never called: CloudKit no longer discovers users.
    open var userIdentityDiscoveredBlock: ((CKUserIdentity, CKUserIdentity.LookupInfo) -> Void)? {
        get { blocks.discovered }
        set { blocks.discovered = newValue }
    }

    /// Called once, at the operation's end, with its success or error.
    open var discoverUserIdentitiesResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)? {
        get { blocks.result }
        set { blocks.result = newValue }
    }

    /// Called once, at the operation's end; the error is nil after a success.
    open var discoverUserIdentitiesCompletionBlock: (((any Error)?) -> Void)? {
        get { blocks.completion }
        set { blocks.completion = newValue }
    }

    override func perform() async throws(CKError) { try await requireAccount() }

    override func conclude(_ failure: CKError?) {
        let blocks = blocks.withLock { $0 }
        blocks.result?(failure.map { .failure($0) } ?? .success(()))
        blocks.completion?(failure)
    }

    override func releaseBlocks() {
        super.releaseBlocks()
        blocks.exchange(Blocks())
    }
}

/// An operation that formerly found the users among the device's contacts (CKDiscoverAllUserIdentitiesOperation,
/// Apple's documentation).
///
/// Since iOS 17 CloudKit discovers no users: the operation succeeds and never calls its `userIdentityDiscoveredBlock`.
@available(*, deprecated, message: "CloudKit no longer discovers users")
open class CKDiscoverAllUserIdentitiesOperation: CKOperation, @unchecked Sendable {
    private struct Blocks {
        var discovered: ((CKUserIdentity) -> Void)?
        var result: ((Result<Void, any Error>) -> Void)?
        var completion: (((any Error)?) -> Void)?
    }

    private let blocks = Locked(Blocks())

    public override init() { super.init() }

    /// Never called: CloudKit no longer discovers users.
    open var userIdentityDiscoveredBlock: ((CKUserIdentity) -> Void)? {
        get { blocks.discovered }
        set { blocks.discovered = newValue }
    }

    /// Called once, at the operation's end, with its success or error.
    open var discoverAllUserIdentitiesResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)? {
        get { blocks.result }
        set { blocks.result = newValue }
    }

    /// Called once, at the operation's end; the error is nil after a success.
    open var discoverAllUserIdentitiesCompletionBlock: (((any Error)?) -> Void)? {
        get { blocks.completion }
        set { blocks.completion = newValue }
    }

    override func perform() async throws(CKError) { try await requireAccount() }

    override func conclude(_ failure: CKError?) {
        let blocks = blocks.withLock { $0 }
        blocks.result?(failure.map { .failure($0) } ?? .success(()))
        blocks.completion?(failure)
    }

    override func releaseBlocks() {
        super.releaseBlocks()
        blocks.exchange(Blocks())
    }
}
