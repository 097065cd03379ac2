extension CKContainer {
    /// Begins to listen to the notifications of the account's subscriptions in this container.
    ///
    ///     for await notification in try await container.notifications() {
    ///         if notification is CKDatabaseNotification { … }
    ///     }
    ///
    /// Not part of Apple's API: there, the system hands the dictionary of a remote notification to the app. When this
    /// returns, the service keeps what it has to tell, and nothing is missed from then on. When the service is out of
    /// reach later, the sequence goes on once it is back. What this process changes itself is not told to it.
    /// - Throws: `CKError`, `.notAuthenticated` where there is no account.
    public func notifications() async throws -> Notifications {
        let account = account
        guard account.service.hasAccount else { throw account.noAccount(ErrorContext(containerID: session.identifier)) }
        let events = session.notifications.events()
        try await session.notifications.connect()
        return Notifications(events: events)
    }

    /// The notifications of an account's subscriptions in a container, as they come. The sequence ends when the task
    /// that reads it is cancelled; it is read once. Not part of Apple's API.
    public struct Notifications: AsyncSequence, Sendable {
        public typealias Element = CKNotification
        public typealias Failure = Never

        let events: AsyncStream<NotificationFeed.Event>

        public struct AsyncIterator: AsyncIteratorProtocol {
            var base: AsyncStream<NotificationFeed.Event>.AsyncIterator

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
