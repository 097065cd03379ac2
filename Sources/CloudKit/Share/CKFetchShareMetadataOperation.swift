public import Foundation

/// Fetches what is known of shares, by their URLs (CKFetchShareMetadataOperation, Apple's documentation).
///
/// The service keeps no shares yet, so it knows no share's URL: each fails with `unknownItem`.
open class CKFetchShareMetadataOperation: CKOperation, @unchecked Sendable {
    private struct Request {
        var shareURLs: [URL]?
        var shouldFetchRootRecord = false
        var rootRecordDesiredKeys: [CKRecord.FieldKey]?
    }

    private struct Blocks {
        var perShare: ((URL, Result<CKShare.Metadata, any Error>) -> Void)?
        var result: ((Result<Void, any Error>) -> Void)?
        var perShareOlder: ((URL, CKShare.Metadata?, (any Error)?) -> Void)?
        var completion: (((any Error)?) -> Void)?
    }

    private let request = Locked(Request())
    private let blocks = Locked(Blocks())
    private let failures = Locked<[AnyHashable: any Error]>([:])

    public override init() { super.init() }

    public convenience init(shareURLs: [URL]) {
        self.init()
        self.shareURLs = shareURLs
    }

    /// The shares' URLs.
    open var shareURLs: [URL]? {
        get { request.shareURLs }
        set { request.shareURLs = newValue }
    }

    /// Whether the shares' root records come with the metadata.
    open var shouldFetchRootRecord: Bool {
        get { request.shouldFetchRootRecord }
        set { request.shouldFetchRootRecord = newValue }
    }

    /// The keys of the root records that are fetched; nil means all of them.
    open var rootRecordDesiredKeys: [CKRecord.FieldKey]? {
        get { request.rootRecordDesiredKeys }
        set { request.rootRecordDesiredKeys = newValue }
    }

    /// Called once for every URL.
    open var perShareMetadataResultBlock:
        ((_ shareURL: URL, _ shareMetadataResult: Result<CKShare.Metadata, any Error>) -> Void)?
    {
        get { blocks.perShare }
        set { blocks.perShare = newValue }
    }

    /// Called once, at the end. Fails only with what concerns the whole operation.
    open var fetchShareMetadataResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)? {
        get { blocks.result }
        set { blocks.result = newValue }
    }

    /// Called once for every URL, unless there is a `perShareMetadataResultBlock`.
    @available(*, deprecated, message: "use perShareMetadataResultBlock")
    open var perShareMetadataBlock: ((URL, CKShare.Metadata?, (any Error)?) -> Void)? {
        get { blocks.perShareOlder }
        set { blocks.perShareOlder = newValue }
    }

    /// Called once, at the end; if some shares failed, with a `partialFailure`.
    @available(*, deprecated, message: "use fetchShareMetadataResultBlock")
    open var fetchShareMetadataCompletionBlock: (((any Error)?) -> Void)? {
        get { blocks.completion }
        set { blocks.completion = newValue }
    }

    // MARK: Running

    override func perform() async throws(CKError) {
        let urls = (shareURLs ?? []).uniqued()
        guard !urls.isEmpty else { return }
        try await requireAccount()
        let errors = containerErrorContext
        deliver(urls) { url in
            self.fail(
                url, CKError(.unknownItem, "There is no share at \(url): the service keeps no shares yet.", errors))
        }
    }

    private func fail(_ url: URL, _ error: CKError) {
        let blocks = blocks.withLock { $0 }
        failures.withLock { $0[url] = error }
        if let block = blocks.perShare { block(url, .failure(error)) } else { blocks.perShareOlder?(url, nil, error) }
    }

    override func conclude(_ failure: CKError?) {
        let blocks = blocks.withLock { $0 }
        let failures = failures.exchange([:])
        blocks.result?(failure.map { .failure($0) } ?? .success(()))
        let partial = failures.isEmpty ? nil : CKError.partialFailure(failures, containerErrorContext)
        blocks.completion?(failure ?? partial)
    }

    override func releaseBlocks() {
        super.releaseBlocks()
        blocks.exchange(Blocks())
    }
}
