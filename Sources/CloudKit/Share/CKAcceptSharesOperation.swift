import NephosWire

/// Accepts shares (CKAcceptSharesOperation, Apple's documentation).
///
/// Accepting a share again, or the account's own share, succeeds without effect.
open class CKAcceptSharesOperation: CKOperation, @unchecked Sendable {
    private struct Blocks {
        var perShare: ((CKShare.Metadata, Result<CKShare, any Error>) -> Void)?
        var result: ((Result<Void, any Error>) -> Void)?
        var perShareOlder: ((CKShare.Metadata, CKShare?, (any Error)?) -> Void)?
        var completion: (((any Error)?) -> Void)?
    }

    private let metadatas = Locked<[CKShare.Metadata]?>(nil)
    private let blocks = Locked(Blocks())
    private let failures = Locked<[AnyHashable: any Error]>([:])

    public override init() { super.init() }

    /// Creates an operation that accepts the shares of these metadata.
    public convenience init(shareMetadatas: [CKShare.Metadata]) {
        self.init()
        self.shareMetadatas = shareMetadatas
    }

    /// The metadata of the shares to accept; nil for none. All shares belong to one container, to which the operation
    /// is added.
    open var shareMetadatas: [CKShare.Metadata]? {
        get { metadatas.withLock { $0 } }
        set { metadatas.exchange(newValue) }
    }

    /// Called once for every share, with the accepted share or the error.
    open var perShareResultBlock:
        ((_ metadata: CKShare.Metadata, _ metadataResult: Result<CKShare, any Error>) -> Void)?
    {
        get { blocks.perShare }
        set { blocks.perShare = newValue }
    }

    /// Called once, at the end. If items failed, the error is a `partialFailure` with their errors by item.
    open var acceptSharesResultBlock: ((_ operationResult: Result<Void, any Error>) -> Void)? {
        get { blocks.result }
        set { blocks.result = newValue }
    }

    /// Called once for every share, unless `perShareResultBlock` is set.
    @available(*, deprecated, message: "use perShareResultBlock")
    open var perShareCompletionBlock: ((CKShare.Metadata, CKShare?, (any Error)?) -> Void)? {
        get { blocks.perShareOlder }
        set { blocks.perShareOlder = newValue }
    }

    /// Called once, at the end. If shares failed, the error is a `partialFailure`.
    @available(*, deprecated, message: "use acceptSharesResultBlock")
    open var acceptSharesCompletionBlock: (((any Error)?) -> Void)? {
        get { blocks.completion }
        set { blocks.completion = newValue }
    }

    // MARK: Running

    override func perform() async throws(CKError) {
        let metadatas = (shareMetadatas ?? []).uniqued()
        guard !metadatas.isEmpty else { return }
        let session = containerAccount
        try await requireAccount()
        let own = metadatas.filter { $0.containerIdentifier == session.identifier }
        let others = metadatas.filter { $0.containerIdentifier != session.identifier }
        var results: [Result<CKShare.Metadata, CKError>] = []
        if !own.isEmpty {
            let items = own.map { ShortGUIDsRequest.Item(value: $0.shortGUID ?? "") }
            results = try await session.shares(items, accepting: true, containerCall, containerErrorContext)
            for (metadata, result) in zip(own, results) {
                if case .success(let accepted) = result { await session.takeKeys(of: accepted, by: metadata) }
            }
            let hasAccepted = results.contains { if case .success = $0 { true } else { false } }
            if hasAccepted { effectiveContainer.session.notifications.noteAcceptance() }
        }
        let misplaced = others.map { metadata in
            (
                metadata,
                Result<CKShare.Metadata, CKError>.failure(
                    CKError(
                        .invalidArguments,
                        "The share belongs to the container \(metadata.containerIdentifier): accept it there.",
                        containerErrorContext))
            )
        }
        deliver(Array(zip(own, results)) + misplaced) { self.hand(out: $0.1, of: $0.0) }
    }

    private func hand(out result: Result<CKShare.Metadata, CKError>, of metadata: CKShare.Metadata) {
        let blocks = blocks.withLock { $0 }
        if case .failure(let error) = result {
            let item = metadata.share.url.map(AnyHashable.init) ?? AnyHashable(metadata.share.recordID)
            failures.withLock { $0[item] = error }
        }
        if let block = blocks.perShare {
            block(metadata, result.map(\.share).mapError { $0 })
        } else {
            switch result {
            case .success(let accepted): blocks.perShareOlder?(metadata, accepted.share, nil)
            case .failure(let error): blocks.perShareOlder?(metadata, nil, error)
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
