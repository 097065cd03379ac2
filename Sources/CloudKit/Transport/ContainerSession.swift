import Foundation

/// The state that all container objects with one identifier share: the signed-in account, the operation queue and the
/// notifications.
final class ContainerSession: Sendable {
    let identifier: String
    private let current: Locked<AccountSession>
    /// The clock and randomness of what belongs to the container.
    let environment: SyncEngineEnvironment
    /// The cloud in whose tasks alone the container is used; nil for any task.
    let scope: ServiceScope?
    /// Where a test finds the states of sync engines; nil outside of tests.
    let engines: EngineStates?
    /// The directory of a test's cloud to which the container belongs; nil for that of the process. Weak, because the
    /// directory refers to its sessions. Only the initializer sets it.
    private nonisolated(unsafe) weak var directory: ServiceDirectory?
    /// The queue of operations that are added to the container or to one of its databases.
    let queue: OperationQueue
    /// The source of the account's notifications.
    let notifications: NotificationFeed

    /// The queue on which operations start, and nothing else runs. A serial queue gets a thread no matter how many
    /// other queues an app blocks. It is static, because an `OperationQueue` does not retain its underlying queue.
    private static let beginning = DispatchQueue(label: "CloudKit.beginning")

    init(
        _ identifier: String, _ service: any CloudService, environment: SyncEngineEnvironment = .system,
        directory: ServiceDirectory? = nil
    ) {
        self.identifier = identifier
        self.environment = environment
        self.directory = directory
        scope = directory?.scope
        engines = directory?.engines
        let account = AccountSession(identifier, service)
        current = Locked(account)
        notifications = NotificationFeed(account.service, environment: environment)
        queue = OperationQueue()
        queue.name = "CKContainer \(identifier)"
        queue.underlyingQueue = Self.beginning
    }

    /// The signed-in account. Work in several steps reads this once at its start, and passes it on.
    var account: AccountSession {
        if let scope, let refusal = scope.refusal { return AccountSession(identifier, MisconfiguredService(refusal)) }
        return current.withLock { $0 }
    }

    /// The directory in which the handlers of a call run: that of the caller's task, as with code after an `await`, or
    /// else the container's, as a queue has none.
    var handlerDirectory: ServiceDirectory? { ServiceDirectory.scoped ?? directory }

    /// Switches to another account, or to none. Work that started as the former account sends nothing more. New work
    /// uses `service`, and notifications are polled for the new account.
    func switchAccount(to service: any CloudService) {
        let account = AccountSession(identifier, service)
        let former = current.withLock { current in
            defer { current = account }
            current.end()
            return current
        }
        // The service of the former account is released outside the lock.
        _ = former
        notifications.switchAccount(to: account.service)
    }
}
