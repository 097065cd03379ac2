import Foundation

/// What the container objects with one identifier share: the account that is signed in, the queue for their operations, and
/// the notifications.
final class ContainerSession: Sendable {
    let identifier: String
    private let current: Locked<AccountSession>
    /// Where operations run that are added to the container or to one of its databases.
    let queue: OperationQueue
    /// Where the account's notifications come from.
    let notifications: NotificationFeed

    /// Where operations begin, and do nothing else. A serial queue gets its thread however many others an app blocks. It
    /// lives on, because an `OperationQueue` does not keep its underlying queue.
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

    /// The account that is signed in now. Whatever takes more than one step asks once, at its beginning, and passes the
    /// answer on.
    var account: AccountSession { current.withLock { $0 } }

    /// Goes on as another account, or as none. What began as the former one sends nothing more; what begins from now on is
    /// answered by `service`, and a wait for notifications is for that account's.
    func switchAccount(to service: any CloudService) {
        let account = AccountSession(identifier, service)
        let former = current.withLock { current in
            defer { current = account }
            current.end()
            return current
        }
        // The former account's service goes after the lock is open.
        _ = former
        notifications.switchAccount(to: account.service)
    }
}
