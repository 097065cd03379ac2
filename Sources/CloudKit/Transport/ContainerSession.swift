import Foundation

/// The state shared by container objects with one identifier: the signed-in account, the operation queue and the
/// notifications.
final class ContainerSession: Sendable {
    let identifier: String
    private let current: Locked<AccountSession>
    /// Runs the operations that are added to the container or to one of its databases.
    let queue: OperationQueue
    /// The source of the account's notifications.
    let notifications: NotificationFeed

    /// Starts operations, and does nothing else. A serial queue gets a thread however many other queues an app blocks.
    /// The queue is static, because an `OperationQueue` does not retain its underlying queue.
    private static let beginning = DispatchQueue(label: "CloudKit.beginning")

    init(_ identifier: String, _ service: any CloudService, environment: SyncEngineEnvironment = .system) {
        self.identifier = identifier
        let account = AccountSession(identifier, service)
        current = Locked(account)
        notifications = NotificationFeed(account.service, environment: environment)
        queue = OperationQueue()
        queue.name = "CKContainer \(identifier)"
        queue.underlyingQueue = Self.beginning
    }

    /// The signed-in account. Work of several steps reads it once, at its start, and passes it on.
    var account: AccountSession { current.withLock { $0 } }

    /// Switches to another account, or to none. Work started as the former account sends nothing more; new work uses
    /// `service`, and notification polls are for the new account.
    func switchAccount(to service: any CloudService) {
        let account = AccountSession(identifier, service)
        let former = current.withLock { current in
            defer { current = account }
            current.end()
            return current
        }
        // Release the former account's service outside the lock.
        _ = former
        notifications.switchAccount(to: account.service)
    }
}
