/// The events of a notification feed for one reader, in order of arrival. It can be iterated once.
struct NotificationEvents: AsyncSequence, Sendable {
    typealias Element = NotificationFeed.Event
    typealias Failure = Never

    let stream: AsyncStream<NotificationFeed.Event>
    /// Nil outside of simulations.
    let reading: NotificationReading?

    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var base: AsyncStream<NotificationFeed.Event>.AsyncIterator
        fileprivate let turn: NotificationReading.Turn?

        mutating func next() async -> NotificationFeed.Event? {
            turn?.reading.asks()
            let event = await base.next()
            turn?.reading.takes(event)
            return event
        }

        mutating func next(isolation actor: isolated (any Actor)?) async -> NotificationFeed.Event? {
            turn?.reading.asks()
            let event = await base.next(isolation: actor)
            turn?.reading.takes(event)
            return event
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(base: stream.makeAsyncIterator(), turn: reading.map(NotificationReading.Turn.init))
    }
}

/// Tells a simulation when a reader handles an event: from the event's arrival until the reader asks for the next one. So the
/// simulation waits until the reader's loop, a task of the app, is idle.
final class NotificationReading: Sendable {
    /// Owned by the iterator: its deinitialization ends the reading.
    final class Turn: Sendable {
        let reading: NotificationReading

        init(_ reading: NotificationReading) { self.reading = reading }
        deinit { reading.ends() }
    }

    private struct State {
        /// Whether the reader has begun, and has not ended.
        var isReading = false
        var isAsking = false
        /// The events that the reader has not taken.
        var unread = 0

        var isHandling: Bool { isReading && !(isAsking && unread == 0) }
    }

    private let state = Locked(State())
    private let observer: any SyncEngineObserver

    init(_ observer: any SyncEngineObserver) { self.observer = observer }

    func arrives() { change { $0.unread += 1 } }
    func asks() { change { ($0.isReading, $0.isAsking) = (true, true) } }
    /// - Parameter event: nil at the end of the feed.
    func takes(_ event: NotificationFeed.Event?) {
        change { ($0.isReading, $0.isAsking, $0.unread) = (event != nil, false, max(0, $0.unread - 1)) }
    }
    private func ends() { change { $0.isReading = false } }

    private func change(_ body: (inout State) -> Void) {
        state.withLock { state in
            let wasHandling = state.isHandling
            body(&state)
            if state.isHandling, !wasHandling { observer.taskBegan() }
            if !state.isHandling, wasHandling { observer.taskEnded() }
        }
    }
}
