import Synchronization

/// A notification that waits at an account's destinations: polling clients, devices, web hooks.
package struct SentNotification: Hashable, Sendable {
    package var notificationID: String
    package var container: String
    package var environment: String
    /// The name of the notified account; nil for one that is deleted.
    package var account: String?
    package var database: String
    package var zoneName: String
    package var subscriptionID: String
    /// The number of destinations.
    package var destinations: Int
}

/// Tells one observer of notifications, after their commit.
package final class NotificationObserver: Sendable {
    /// Not the closure itself: each access through the mutex would wrap it once more, until a call overflows the stack.
    private struct Observer: Sendable {
        let observe: @Sendable ([SentNotification]) -> Void
    }

    private let observer = Mutex<Observer?>(nil)

    /// - Parameter observe: called on the thread that notifies, so it must not block.
    package func set(_ observe: @escaping @Sendable ([SentNotification]) -> Void) {
        observer.withLock { $0 = Observer(observe: observe) }
    }

    /// - Parameter notifications: not evaluated without an observer.
    func tell(_ notifications: () -> [SentNotification]) {
        guard let observer = observer.withLock(\.self) else { return }
        let notifications = notifications()
        if !notifications.isEmpty { observer.observe(notifications) }
    }
}
