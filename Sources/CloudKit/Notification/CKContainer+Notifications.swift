extension CKContainer {
    /// Starts to receive notifications of the account's subscriptions in this container.
    ///
    ///     for await notification in try await container.notifications() {
    ///         if notification is CKDatabaseNotification { … }
    ///     }
    ///
    /// Not part of Apple's API: on Apple's platforms, the system passes a remote notification's dictionary to the app.
    /// Once this method returns, the service queues notifications, so the sequence misses none from then on. If the
    /// service becomes unreachable later, the sequence continues once the service is reachable again. Changes by this
    /// process cause no notification.
    /// - Throws: `CKError`, `.notAuthenticated` if there is no account, and `.invalidArguments` in a strict test cloud.
    public func notifications() async throws -> Notifications {
        let account = account
        if account.service.refusesAdditions {
            throw CKError(
                .invalidArguments,
                "CKContainer.notifications() is an addition of Nephos, which Apple's API does not have: a strict cloud refuses it."
            )
        }
        guard account.service.hasAccount else { throw account.noAccount(ErrorContext(containerID: session.identifier)) }
        let events = session.notifications.events()
        try await session.notifications.connect()
        return Notifications(events: events)
    }

    /// Returns a closure for each listener, a sync engine or a loop over `notifications()`, that delivers the notification
    /// to it. A simulation calls one after the other.
    package func deliveries(of notification: CKNotification) -> [@Sendable () -> Void] {
        session.notifications.deliveries(of: notification)
    }

    /// A sequence of the notifications of an account's subscriptions in a container, in order of arrival. It can be
    /// iterated once, and ends when the iterating task is cancelled. Not part of Apple's API.
    public struct Notifications: AsyncSequence, Sendable {
        public typealias Element = CKNotification
        public typealias Failure = Never

        let events: NotificationEvents

        public struct AsyncIterator: AsyncIteratorProtocol {
            var base: NotificationEvents.AsyncIterator

            public mutating func next() async -> CKNotification? {
                while let event = await base.next() {
                    if case .notification(let notification) = event { return notification }
                }
                return nil
            }

            public mutating func next(isolation actor: isolated (any Actor)?) async -> CKNotification? {
                while let event = await base.next(isolation: actor) {
                    if case .notification(let notification) = event { return notification }
                }
                return nil
            }
        }

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: events.makeAsyncIterator()) }
    }
}
