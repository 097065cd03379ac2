public import Foundation
import NephosWire

/// Fetches the metadata of shares by URL (CKFetchShareMetadataOperation, Apple's documentation).
///
/// A URL fails with `unknownItem` if no share has it, or if the account may not see the share.
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

    /// Creates an operation that fetches the metadata of the shares at these URLs.
    public convenience init(shareURLs: [URL]) {
        self.init()
        self.shareURLs = shareURLs
    }

    /// Creates an operation that fetches the metadata of the shares at these URLs, by a former name of
    /// `init(shareURLs:)`.
    @available(*, deprecated, renamed: "init(shareURLs:)")
    public convenience init(share urls: [URL]) { self.init(shareURLs: urls) }

    /// The URLs of the shares as their owners distribute them; nil for none.
    open var shareURLs: [URL]? {
        get { request.shareURLs }
        set { request.shareURLs = newValue }
    }

    /// Whether the metadata includes the root records of the shares.
    open var shouldFetchRootRecord: Bool {
        get { request.shouldFetchRootRecord }
        set { request.shouldFetchRootRecord = newValue }
    }

    /// The keys of the fields of root records to fetch; nil for all fields.
    open var rootRecordDesiredKeys: [CKRecord.FieldKey]? {
        get { request.rootRecordDesiredKeys }
        set { request.rootRecordDesiredKeys = newValue }
    }

    /// Called once for every URL, with the metadata or the error.
    open var perShareMetadataResultBlock:
        ((_ shareURL: URL, _ shareMetadataResult: Result<CKShare.Metadata, any Error>) -> Void)?
    {
        get { blocks.perShare }
        set { blocks.perShare = newValue }
    }

    /// Called once, at the end. If items failed, the error is a `partialFailure` with their errors by item.
    open var fetchShareMetadataResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)? {
        get { blocks.result }
        set { blocks.result = newValue }
    }

    /// Called once for every URL, unless `perShareMetadataResultBlock` is set.
    @available(*, deprecated, message: "use perShareMetadataResultBlock")
    open var perShareMetadataBlock: ((URL, CKShare.Metadata?, (any Error)?) -> Void)? {
        get { blocks.perShareOlder }
        set { blocks.perShareOlder = newValue }
    }

    /// Called once, at the end. If shares failed, the error is a `partialFailure`.
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
        let items = urls.map { url in
            ShortGUIDsRequest.Item(
                value: CKShare.shortGUID(url) ?? "", shouldFetchRootRecord: shouldFetchRootRecord,
                rootRecordDesiredKeys: rootRecordDesiredKeys)
        }
        let root = containerAccount.service.shareURLRoot
        let answers = try await containerAccount.shares(
            items, accepting: false, containerCall, containerErrorContext)
        let results = zip(urls, answers).map { url, answer in answer.mapError { $0.ofShare(at: url, root: root) } }
        for (url, result) in zip(urls, results) {
            if let link = ShareLink(fragment: url.fragment), case .success(let metadata) = result {
                metadata.share.add(ShareLinks(share: link))
            }
        }
        deliver(Array(zip(urls, results))) { self.hand(out: $0.1, at: $0.0) }
    }

    private func hand(out result: Result<CKShare.Metadata, CKError>, at url: URL) {
        let blocks = blocks.withLock { $0 }
        if case .failure(let error) = result { failures.withLock { $0[url] = error } }
        if let block = blocks.perShare {
            block(url, result.mapError { $0 })
        } else {
            switch result {
            case .success(let metadata): blocks.perShareOlder?(url, metadata, nil)
            case .failure(let error): blocks.perShareOlder?(url, nil, error)
            }
        }
    }

    override func conclude(_ failure: CKError?) {
        let blocks = blocks.withLock { $0 }
        let failures = failures.exchange([:])
        let error = failure ?? .partialFailure(ifAny: failures, containerErrorContext)
        blocks.result?(error.map { .failure($0) } ?? .success(()))
        blocks.completion?(error)
    }

    override func releaseBlocks() {
        super.releaseBlocks()
        blocks.exchange(Blocks())
    }
}
