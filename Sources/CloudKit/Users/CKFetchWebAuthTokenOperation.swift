/// An operation that fetches a token with which the account authenticates to CloudKit Web Services
/// (CKFetchWebAuthTokenOperation, Apple's documentation).
///
/// `nephos serve` begins a session for the token, which goes with the API token. `nephos dev` answers with `dev:NAME`.
open class CKFetchWebAuthTokenOperation: CKDatabaseOperation, @unchecked Sendable {
    private struct Blocks {
        var result: ((Result<String, any Error>) -> Void)?
        var completion: ((String?, (any Error)?) -> Void)?
    }

    private let token = Locked<String?>(nil)
    private let blocks = Locked(Blocks())
    private let fetched = Locked<String?>(nil)

    public override init() { super.init() }

    /// Creates an operation for an API token of the container.
    public convenience init(apiToken APIToken: String) {
        self.init()
        apiToken = APIToken
    }

    /// The API token of the container; nil until it is set. The operation requires it when it starts.
    open var apiToken: String? {
        get { token.withLock { $0 } }
        set { token.exchange(newValue) }
    }

    /// Called once, at the operation's end, with the web authentication token or the error.
    open var fetchWebAuthTokenResultBlock: ((_ operationResult: Result<String, any Error>) -> Void)? {
        get { blocks.result }
        set { blocks.result = newValue }
    }

    /// Called once, at the operation's end, with the web authentication token or the error; the other is nil.
    @available(*, deprecated, message: "use fetchWebAuthTokenResultBlock")
    open var fetchWebAuthTokenCompletionBlock: ((String?, (any Error)?) -> Void)? {
        get { blocks.completion }
        set { blocks.completion = newValue }
    }

    override func perform() async throws(CKError) {
        let errors = errorContext
        guard let apiToken, !apiToken.isEmpty else {
            throw CKError(.invalidArguments, "You must set apiToken before the operation runs.", errors)
        }
        let context = makeRequestContext()
        try context.requireAccount()
        fetched.exchange(try await context.webAuthToken(apiToken))
    }

    override func conclude(_ failure: CKError?) {
        let blocks = blocks.withLock { $0 }
        if failure == nil, let token = fetched.withLock({ $0 }) {
            blocks.result?(.success(token))
            blocks.completion?(token, nil)
            return
        }
        let error = failure ?? CKError(.internalError, "The operation ended without a token.", errorContext)
        blocks.result?(.failure(error))
        blocks.completion?(nil, error)
    }

    override func releaseBlocks() {
        super.releaseBlocks()
        blocks.exchange(Blocks())
    }
}
