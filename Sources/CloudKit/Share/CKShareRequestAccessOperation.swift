public import Foundation

/// Asks the owners of shares for access to them, by the shares' URLs (CKShareRequestAccessOperation, Apple's
/// documentation).
///
/// The service keeps no shares yet, so there is nobody to ask: each URL fails with `unknownItem`.
open class CKShareRequestAccessOperation: CKOperation, @unchecked Sendable {
    private struct Blocks {
        var perShare: ((URL, Result<Void, any Error>) -> Void)?
        var result: ((Result<Void, any Error>) -> Void)?
    }

    private let urls = Locked<[URL]?>(nil)
    private let blocks = Locked(Blocks())

    public override init() { super.init() }

    public convenience init(shareURLs: [URL]) {
        self.init()
        self.shareURLs = shareURLs
    }

    /// The shares' URLs.
    open var shareURLs: [URL]? {
        get { urls.withLock { $0 } }
        set { urls.exchange(newValue) }
    }

    /// Called once for every URL.
    open var perShareAccessRequestResultBlock: ((URL, Result<Void, any Error>) -> Void)? {
        get { blocks.perShare }
        set { blocks.perShare = newValue }
    }

    /// Called once, at the end. Fails only with what concerns the whole operation.
    open var shareAccessRequestResultBlock: ((Result<Void, any Error>) -> Void)? {
        get { blocks.result }
        set { blocks.result = newValue }
    }

    override func perform() async throws(CKError) {
        let urls = (shareURLs ?? []).uniqued()
        guard !urls.isEmpty else { return }
        try await requireAccount()
        let errors = containerErrorContext
        deliver(urls) { url in
            let error = CKError(
                .unknownItem, "There is no share at \(url): the service keeps no shares yet.", errors)
            self.blocks.perShare?(url, .failure(error))
        }
    }

    override func conclude(_ failure: CKError?) {
        blocks.result?(failure.map { .failure($0) } ?? .success(()))
    }

    override func releaseBlocks() {
        super.releaseBlocks()
        blocks.exchange(Blocks())
    }
}
