import Foundation
import NephosWire

/// A feed of an account's notifications in a container. While it has listeners, it polls the service and passes each
/// notification to every listener. On a simulated device the simulation passes them.
final class NotificationFeed: Sendable {
    enum Event: Sendable {
        case notification(CKNotification)
        /// The feed continues after the service was unavailable. Notifications can have been lost meanwhile.
        case resumed
        /// This device accepted a share. The service notifies only the account's other devices of that.
        case accepted
    }

    private struct Listener: Sendable {
        let id: UUID
        let continuation: AsyncStream<Event>.Continuation
        let reading: NotificationReading?

        func hand(_ event: Event) {
            reading?.arrives()
            continuation.yield(event)
        }
    }

    private struct State: Sendable {
        var service: any CloudService
        /// The account's generation. The feed discards responses to requests of an earlier generation.
        var turn = 0
        /// The listeners, in the order in which they began.
        var listeners: [Listener] = []
        /// The token of this device's notification queue on the service; nil until it is requested.
        var token: TokenResponse?
        /// The ID of the last received notification; nil if there is none. The service stores that notification until
        /// the next poll acknowledges it.
        var received: String?
        var task: Task<Void, Never>?
    }

    /// The maximum number of buffered events per listener. If a slow listener has more, the oldest are dropped.
    static let backlog = 1_000

    private let environment: SyncEngineEnvironment
    private let state: Locked<State>
    private let turns = AsyncMutex()

    init(_ service: any CloudService, environment: SyncEngineEnvironment = .system) {
        state = Locked(State(service: service))
        self.environment = environment
    }

    /// Returns a stream of the events from now on. The stream ends when the task that reads it is cancelled.
    func events() -> NotificationEvents {
        let id = UUID()
        let reading = environment.observer.map(NotificationReading.init)
        let (stream, continuation) = AsyncStream.makeStream(
            of: Event.self, bufferingPolicy: .bufferingNewest(Self.backlog))
        continuation.onTermination = { [weak self] _ in self?.remove(id) }
        state.withLock { state in
            state.listeners.append(Listener(id: id, continuation: continuation, reading: reading))
            if state.task == nil { state.task = startPolling() }
        }
        return NotificationEvents(stream: stream, reading: reading)
    }

    /// Returns the task that polls the service; nil on a simulated device.
    private func startPolling() -> Task<Void, Never>? {
        environment.observer == nil ? Task { await self.wait() } : nil
    }

    private func remove(_ id: UUID) {
        let (gone, task) = state.withLock { state in
            let gone = state.listeners.filter { $0.id == id }
            state.listeners.removeAll { $0.id == id }
            guard state.listeners.isEmpty else { return (gone, nil as Task<Void, Never>?) }
            defer { state.task = nil }
            return (gone, state.task)
        }
        _ = gone
        task?.cancel()
    }

    /// Switches to another account: the feed then polls for that account's notifications.
    func switchAccount(to service: any CloudService) {
        let (old, task) = state.withLock { state in
            let old = (state.service, state.task)
            state.service = service
            state.turn += 1
            (state.token, state.received) = (nil, nil)
            state.task = state.listeners.isEmpty ? nil : startPolling()
            return old
        }
        _ = old
        task?.cancel()
    }

    /// Returns once the service queues notifications for this device, so that the feed misses none from then on.
    func connect() async throws(CKError) {
        do throws(ServiceFailure) {
            _ = try await token()
        } catch {
            throw CKError(error, ErrorContext())
        }
    }

    // MARK: Waiting

    private func wait() async {
        var failures = 0
        while !Task.isCancelled {
            do throws(ServiceFailure) {
                let token = try await token()
                if failures > 0 { hand(out: .resumed) }
                try await poll(token)
                failures = 0
            } catch {
                if Task.isCancelled { return }
                // The service can have discarded the token. If it has not, it returns the same token again.
                state.token = nil
                failures += 1
                let seconds = RetryDelay.seconds(
                    afterFailures: failures, retryAfter: error.retryAfter, random: environment.random())
                try? await environment.sleep(seconds)
            }
        }
    }

    private func poll(_ token: TokenResponse) async throws(ServiceFailure) {
        let (service, received, turn) = state.withLock { ($0.service, $0.received, $0.turn) }
        let payload = try await service.nextNotification(token, received: received, call)
        let isCurrent = state.withLock { state in
            guard state.turn == turn else { return false }
            state.received = payload?.notificationID
            // A service that is shutting down also returns no notification, without waiting. Requesting the token again
            // detects whether the service is unreachable.
            if payload == nil { state.token = nil }
            return true
        }
        if isCurrent, let payload { hand(out: .notification(.notification(NotificationContent(payload)))) }
    }

    private func token() async throws(ServiceFailure) -> TokenResponse {
        try await turns.withLock { () throws(ServiceFailure) in
            while true {
                let (known, service, turn) = state.withLock { ($0.token, $0.service, $0.turn) }
                if let known { return known }
                let token = try await service.send(.createToken, TokenRequest(apnsEnvironment: .development), call)
                let isCurrent = state.withLock { state in
                    if state.turn == turn { state.token = token }
                    return state.turn == turn
                }
                if isCurrent { return token }
            }
        }
    }

    /// Notifies all listeners that this device accepted a share.
    func noteAcceptance() { hand(out: .accepted) }

    private func hand(out event: Event) {
        for listener in state.listeners { listener.hand(event) }
    }

    /// Returns what passes a notification to each listener, in the order in which they began, for a simulation that waits for
    /// one before it goes on to the next.
    func deliveries(of notification: CKNotification) -> [@Sendable () -> Void] {
        state.listeners.map { listener in { listener.hand(.notification(notification)) } }
    }

    /// The parameters of a notification request. Notifications cover all databases, so the scope has no meaning. The
    /// timeout is 90 seconds, because the service delays its answer to a poll by less than a minute.
    private var call: ServiceCall { ServiceCall(scope: .private, requestTimeout: 90) }
}

extension ServiceFailure {
    /// The delay in seconds that the service requests before a retry; nil if it requests none.
    fileprivate var retryAfter: Double? {
        switch self {
        case .refused(let error): error.retryAfter.map { Double($0) }
        case .transport(_, _, let retryAfter): retryAfter
        case .cancelled: nil
        }
    }
}
