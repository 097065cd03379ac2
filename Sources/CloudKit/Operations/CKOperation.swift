import Dispatch
public import Foundation

/// The base class of CloudKit's operations (CKOperation, Apple's documentation). It is a Foundation `Operation` that an
/// app configures and adds to a container, a database or a queue. It runs once. Apps use its subclasses.
///
/// All blocks of an operation run on its own serial queue, never on the main queue and never concurrently. First the
/// blocks of single items run, then the block for the operation's own result, then the dependent operations.
/// Foundation's `completionBlock` runs after the result; on Linux it runs concurrently with the dependent operations.
/// Afterwards the operation releases its blocks.
open class CKOperation: Operation, @unchecked Sendable {
    // Unchecked, as Foundation's Operation is: all mutable state is in a `Locked`.

    /// The type of an operation's identifier.
    public typealias ID = String

    private struct Settings {
        var configuration = Configuration()
        var group: CKOperationGroup?
        var inherited: ConfigurationValues?
        var longLivedOperationWasPersistedBlock: (() -> Void)?
    }

    private struct Progress {
        var isExecuting = false
        var isFinished = false
        /// Whether the result of the operation has been delivered or is being delivered. No block may run after it.
        var hasEnded = false
        var task: Task<Void, Never>?
    }

    private let settings = Locked(Settings())
    private let beginning = Locked<(session: ContainerSession, account: AccountSession)?>(nil)
    private let progress = Locked(Progress())
    /// The directory of the task that made the operation; nil outside of a test's cloud.
    private let directory = ServiceDirectory.scoped
    /// Notes, of a simulated device, that the operation is about to start.
    private let starting = Locked<(any SimulatedExecutor)?>(nil)
    /// The queue on which the blocks run.
    private let callbackQueue = DispatchQueue(label: "CKOperation.callbacks")

    /// A unique identifier, which is generated with the operation.
    public let operationID: CKOperation.ID = CKOperation.makeID()

    public override init() { super.init() }

    private static func makeID() -> String {
        let digits = String(UInt64.random(in: .min ... .max), radix: 16, uppercase: true)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    // MARK: Configuration

    /// The configuration of the operation. Setting it stores a copy, and setting nil resets it. Changes after the start
    /// have no effect.
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    open var configuration: CKOperation.Configuration! {
        get { settings.configuration }
        set { settings.configuration = newValue?.copied() ?? Configuration() }
    }

    /// The group of the operation; nil for none. The group's default configuration supplies the values that the
    /// operation's own configuration does not set.
    open var group: CKOperationGroup? {
        get { settings.group }
        set { settings.group = newValue }
    }

    /// Called once the service promises to finish a long-lived operation. Operations do not outlive the process here,
    /// so this block is never called.
    open var longLivedOperationWasPersistedBlock: (() -> Void)? {
        get { settings.longLivedOperationWasPersistedBlock }
        set { settings.longLivedOperationWasPersistedBlock = newValue }
    }

    open override var qualityOfService: QualityOfService {
        get { configuration.qualityOfService }
        set {
            super.qualityOfService = newValue
            configuration.qualityOfService = newValue
        }
    }

    /// Takes over the configuration of a container or database. The operation's own configuration overrides its values.
    func inherit(_ values: ConfigurationValues?, group: CKOperationGroup?) {
        settings.withLock { settings in
            settings.inherited = values
            settings.group = settings.group ?? group
        }
    }

    /// Binds the operation to `account`, even if the account is switched before the operation runs.
    func begin(as account: AccountSession, in session: ContainerSession) {
        beginning.exchange((session, account))
        guard let simulated = account.service.simulatedExecutor, isReady else { return }
        simulated.workBegan()
        starting.exchange(simulated)
    }

    /// Returns the account as which the operation uses a container: the account that was signed in when the operation
    /// was added to the container, or when it started.
    func account(in session: ContainerSession) -> AccountSession {
        beginning.withLock { beginning in
            if let beginning, beginning.session === session { return beginning.account }
            let account = session.account
            beginning = (session, account)
            return account
        }
    }

    /// The effective configuration. The operation's own values come first, then the values of its database, then those
    /// of its group.
    var effectiveConfiguration: ConfigurationValues {
        let settings = settings.withLock { $0 }
        return settings.configuration.snapshot
            .merged(over: settings.inherited)
            .merged(over: settings.group?.defaultConfiguration.snapshot)
    }

    // MARK: For subclasses

    /// Binds the operation to an account at its start.
    func noteAccount() {}

    /// Does the work of the operation, and passes the results of single items to `deliver`. Throws the failure of the
    /// whole operation.
    func perform() async throws(CKError) {}

    /// Delivers the result of the operation; nil stands for success. Runs on the callback queue.
    func conclude(_ failure: CKError?) {}

    /// Releases all blocks. Runs on the callback queue after `conclude`.
    func releaseBlocks() {
        settings.longLivedOperationWasPersistedBlock = nil
    }

    /// Runs `body` on the callback queue, once for each of `items`, until the operation is cancelled or has ended.
    func deliver<Items: Sequence & Sendable>(_ items: Items, _ body: @escaping @Sendable (Items.Element) -> Void) {
        callBack {
            for item in items {
                guard !self.isCancelled, !self.progress.hasEnded else { return }
                body(item)
            }
        }
    }

    /// The directory in which the operation's blocks run.
    private var blockDirectory: ServiceDirectory? {
        directory ?? beginning.withLock { $0?.session.handlerDirectory }
    }

    /// Runs `body` on the callback queue.
    func callBack(_ body: @escaping @Sendable () -> Void) {
        let (directory, simulated) = (blockDirectory, simulatedExecutor)
        simulated?.workBegan()
        callbackQueue.async {
            ServiceDirectory.run(in: directory, body)
            simulated?.workEnded()
        }
    }

    private var simulatedExecutor: (any SimulatedExecutor)? {
        beginning.withLock { $0?.account.service.simulatedExecutor }
    }

    // MARK: Operation

    open override var isAsynchronous: Bool { true }
    open override var isExecuting: Bool { progress.isExecuting }
    open override var isFinished: Bool { progress.isFinished }

    open override func start() {
        willChangeValue(for: \.isExecuting)
        let begins = progress.withLock { progress in
            guard !progress.isExecuting, !progress.isFinished else { return false }
            progress.isExecuting = true
            return true
        }
        didChangeValue(for: \.isExecuting)
        guard begins else { return }
        // An operation queue starts the operation on a thread that is in no test's tree of tasks.
        ServiceDirectory.run(in: blockDirectory) { if isCancelled { launch() } else { main() } }
        starting.exchange(nil)?.workEnded()
    }

    /// The work that `start` runs, unless the operation was cancelled before. An app's subclass that overrides this
    /// method to prepare the operation calls `super.main()` last.
    open override func main() { launch() }

    /// Starts the task of the operation.
    private func launch() {
        noteAccount()
        let priority = TaskPriority(effectiveConfiguration.qualityOfService ?? .default)
        let executor = beginning.withLock { $0?.account.service.executor } ?? LibraryExecutor.shared
        let task = Task(executorPreference: executor, priority: priority) { await self.run() }
        progress.withLock { $0.task = $0.hasEnded ? nil : task }
        if isCancelled { task.cancel() }
    }

    open override func cancel() {
        super.cancel()
        guard progress.isExecuting else { return }
        // The cancellation is reported at once, whatever the service is doing, and no block runs after it.
        progress.task?.cancel()
        callBack { self.end(nil) }
    }

    private func run() async {
        let outcome =
            isCancelled
            ? nil
            : await ServiceCall.$times.withValue(ServiceCall.Times(effectiveConfiguration)) { () async -> CKError? in
                do throws(CKError) {
                    try await perform()
                    return nil
                } catch {
                    return error
                }
            }
        callBack { self.end(outcome) }
    }

    /// Ends the operation. Only the first call has an effect. Runs on the callback queue.
    private func end(_ failure: CKError?) {
        let isFirst = progress.withLock { progress in
            guard !progress.hasEnded else { return false }
            progress.hasEnded = true
            progress.task = nil
            return true
        }
        guard isFirst else { return }
        conclude(isCancelled ? CKError.cancelled(operationID) : failure)
        releaseBlocks()
        // Foundation calls the block on a queue of its own.
        if let directory = blockDirectory, let block = completionBlock {
            completionBlock = { ServiceDirectory.run(in: directory, block) }
        }
        willChangeValue(for: \.isExecuting)
        willChangeValue(for: \.isFinished)
        progress.withLock { progress in
            progress.isExecuting = false
            progress.isFinished = true
        }
        didChangeValue(for: \.isExecuting)
        didChangeValue(for: \.isFinished)
    }
}

extension TaskPriority {
    init(_ quality: QualityOfService) {
        switch quality {
        case .userInteractive, .userInitiated: self = .userInitiated
        case .utility: self = .utility
        case .background: self = .background
        default: self = .medium
        }
    }
}
