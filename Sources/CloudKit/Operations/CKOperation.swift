import Dispatch
public import Foundation

/// The base of CloudKit's operations: a Foundation `Operation` that is configured, added to a container, a database or
/// a queue, and runs once (CKOperation, Apple's documentation). Use its subclasses.
///
/// All blocks of an operation run on its own serial queue, never on the main queue and never concurrently. The order
/// is: the blocks of single items, the operation's own result, then the dependent operations. Foundation's
/// `completionBlock` runs after the result, on Linux concurrently with the dependent operations. Afterwards the
/// operation releases its blocks.
open class CKOperation: Operation, @unchecked Sendable {
    // Unchecked like Foundation's Operation: all mutable state is in a `Locked`.

    /// The data type of an operation's identifier.
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
        /// Whether the operation's result has been delivered, or is being delivered: nothing may follow it.
        var hasEnded = false
        var task: Task<Void, Never>?
    }

    private let settings = Locked(Settings())
    private let beginning = Locked<(session: ContainerSession, account: AccountSession)?>(nil)
    private let progress = Locked(Progress())
    /// Runs the blocks.
    let callbackQueue = DispatchQueue(label: "CKOperation.callbacks")

    /// A unique identifier, generated with the operation.
    public let operationID: CKOperation.ID = CKOperation.makeID()

    public override init() { super.init() }

    private static func makeID() -> String {
        let digits = String(UInt64.random(in: .min ... .max), radix: 16, uppercase: true)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    // MARK: Configuration

    /// The operation's configuration. The setter copies it; setting nil resets it. Changes after the start have no
    /// effect.
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    open var configuration: CKOperation.Configuration! {
        get { settings.configuration }
        set { settings.configuration = newValue?.copied() ?? Configuration() }
    }

    /// The operation's group; its default configuration supplies values that the operation's own does not set.
    open var group: CKOperationGroup? {
        get { settings.group }
        set { settings.group = newValue }
    }

    /// Called once the service promises to finish a long-lived operation. Operations do not outlive the process here,
    /// so this is never called.
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

    /// Inherits the configuration of a container or database, which the operation's own values override.
    func inherit(_ values: ConfigurationValues?, group: CKOperationGroup?) {
        settings.withLock { settings in
            settings.inherited = values
            settings.group = settings.group ?? group
        }
    }

    /// Binds the operation to `account`, even if the account is switched before the operation runs.
    func begin(as account: AccountSession, in session: ContainerSession) { beginning.exchange((session, account)) }

    /// Returns the account as which the operation uses a container: the one signed in when the operation was added to
    /// it or started.
    func account(in session: ContainerSession) -> AccountSession {
        beginning.withLock { beginning in
            if let beginning, beginning.session === session { return beginning.account }
            let account = session.account
            beginning = (session, account)
            return account
        }
    }

    /// The effective configuration: the operation's own, then its database's, then its group's.
    var effectiveConfiguration: ConfigurationValues {
        let settings = settings.withLock { $0 }
        return settings.configuration.snapshot
            .merged(over: settings.inherited)
            .merged(over: settings.group?.defaultConfiguration.snapshot)
    }

    // MARK: What subclasses do

    /// Binds the operation to an account as it starts.
    func noteAccount() {}

    /// Does the work and passes the results of single items to `deliver`. Throws a failure of the whole operation.
    func perform() async throws(CKError) {}

    /// Delivers the operation's result; runs on the callback queue. Nil means success.
    func conclude(_ failure: CKError?) {}

    /// Releases all blocks; runs on the callback queue after `conclude`.
    func releaseBlocks() {
        settings.longLivedOperationWasPersistedBlock = nil
    }

    /// Runs `body` on the callback queue, once for each of `items`, until the operation is cancelled or has ended.
    func deliver<Items: Sequence & Sendable>(_ items: Items, _ body: @escaping @Sendable (Items.Element) -> Void) {
        callbackQueue.async {
            for item in items {
                guard !self.isCancelled, !self.progress.hasEnded else { return }
                body(item)
            }
        }
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
        if isCancelled { launch() } else { main() }
    }

    /// The work that `start` runs unless the operation was cancelled before. An app's subclass that overrides it to
    /// prepare the operation has to call `super.main()` last.
    open override func main() { launch() }

    /// Starts the task.
    private func launch() {
        noteAccount()
        let priority = TaskPriority(effectiveConfiguration.qualityOfService ?? .default)
        let task = Task(executorPreference: LibraryExecutor.shared, priority: priority) { await self.run() }
        progress.withLock { $0.task = $0.hasEnded ? nil : task }
        if isCancelled { task.cancel() }
    }

    open override func cancel() {
        super.cancel()
        guard progress.isExecuting else { return }
        // Report the cancellation at once, whatever the service is doing, and nothing afterwards.
        progress.task?.cancel()
        callbackQueue.async { self.end(nil) }
    }

    private func run() async {
        var failure: CKError?
        if !isCancelled {
            do throws(CKError) {
                try await perform()
            } catch {
                failure = error
            }
        }
        let outcome = failure
        callbackQueue.async { self.end(outcome) }
    }

    /// Ends the operation; only the first call has an effect. Runs on the callback queue.
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
