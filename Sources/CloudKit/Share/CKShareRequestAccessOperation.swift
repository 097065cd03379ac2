public import Foundation
import NephosWire

/// Requests access to shares from their owners, by URL (CKShareRequestAccessOperation, Apple's documentation).
///
/// The request for a URL succeeds whether or not a share has the URL, and whether or not that share allows access
/// requests. It fails with `participantAlreadyInvited` if the account is already invited.
open class CKShareRequestAccessOperation: CKOperation, @unchecked Sendable {
    private struct Blocks {
        var perShare: ((URL, Result<Void, any Error>) -> Void)?
        var result: ((Result<Void, any Error>) -> Void)?
    }

    private let urls = Locked<[URL]?>(nil)
    private let blocks = Locked(Blocks())
    private let failures = Locked<[AnyHashable: any Error]>([:])

    public override init() { super.init() }

    /// Creates an operation that requests access to the shares at these URLs.
    public convenience init(shareURLs: [URL]) {
        self.init()
        self.shareURLs = shareURLs
    }

    /// The URLs of the shares to which access is requested; nil for none.
    open var shareURLs: [URL]? {
        get { urls.withLock { $0 } }
        set { urls.exchange(newValue) }
    }

    /// Called once for every URL, with success or the error.
    open var perShareAccessRequestResultBlock: ((URL, Result<Void, any Error>) -> Void)? {
        get { blocks.perShare }
        set { blocks.perShare = newValue }
    }

    /// Called once, at the end. If items failed, the error is a `partialFailure` with their errors by item.
    open var shareAccessRequestResultBlock: ((Result<Void, any Error>) -> Void)? {
        get { blocks.result }
        set { blocks.result = newValue }
    }

    override func perform() async throws(CKError) {
        let urls = (shareURLs ?? []).uniqued()
        guard !urls.isEmpty else { return }
        try await requireAccount()
        let errors = containerErrorContext
        let request = ShortGUIDsRequest(
            shortGUIDs: urls.map { ShortGUIDsRequest.Item(value: CKShare.shortGUID($0) ?? "") })
        let failures: [ErrorDictionary?]
        do throws(ServiceFailure) {
            failures = try await containerAccount.service.send(.requestShareAccess, request, containerCall).failures
        } catch {
            throw CKError(error, errors)
        }
        guard failures.count == urls.count else {
            throw CKError(
                .internalError, "The service answered \(urls.count) items with \(failures.count) results.", errors)
        }
        let root = containerAccount.service.shareURLRoot
        let outcomes = zip(urls, failures).map { url, failure in
            (url, failure.map { CKError($0, errors).ofShare(at: url, root: root) })
        }
        deliver(outcomes) { url, error in
            if let error { self.failures.withLock { $0[url] = error } }
            self.blocks.perShare?(url, error.map { .failure($0) } ?? .success(()))
        }
    }

    override func conclude(_ failure: CKError?) {
        let error = failure ?? .partialFailure(ifAny: failures.exchange([:]), containerErrorContext)
        blocks.result?(error.map { .failure($0) } ?? .success(()))
    }

    override func releaseBlocks() {
        super.releaseBlocks()
        blocks.exchange(Blocks())
    }
}
