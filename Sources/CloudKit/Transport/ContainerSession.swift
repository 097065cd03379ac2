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
    /// The queue of operations that are added to the container or to one of its databases.
    let queue: OperationQueue
    /// The source of the account's notifications.
    let notifications: NotificationFeed

    /// The queue on which operations start, and nothing else runs. A serial queue gets a thread no matter how many
    /// other queues an app blocks. It is static, because an `OperationQueue` does not retain its underlying queue.
    private static let beginning = DispatchQueue(label: "CloudKit.beginning")

    init(
        _ identifier: String, _ service: any CloudService, environment: SyncEngineEnvironment = .system,
        scope: ServiceScope? = nil, engines: EngineStates? = nil
    ) {
        self.identifier = identifier
        self.scope = scope
        self.environment = environment
        self.engines = engines
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
