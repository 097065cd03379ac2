import Foundation
import NephosWire

/// Waits for an account's notifications in a container, for as long as there are listeners, and hands each to every
/// listener that does.
final class NotificationFeed: Sendable {
    enum Event: Sendable {
        case notification(CKNotification)
        /// The feed goes on after the service was out of reach: a notification may have got lost meanwhile.
        case resumed
        /// This device has accepted a share. The service notifies the account's other devices alone.
        case accepted
    }

    private struct State: Sendable {
        var service: any CloudService
        /// Counts the accounts that there were: what was asked for as one of them says nothing of the next.
        var turn = 0
        var listeners: [UUID: AsyncStream<Event>.Continuation] = [:]
        /// Where the service keeps the notifications until they are asked for.
        var token: TokenResponse?
        /// The notification that came last: the service keeps it until it knows that it arrived.
        var received: String?
        var task: Task<Void, Never>?
    }

    /// How many events wait for a listener that is slow; the oldest go first.
    static let backlog = 1_000

    private let environment: SyncEngineEnvironment
    private let state: Locked<State>
    private let turns = AsyncMutex()

    init(_ service: any CloudService, environment: SyncEngineEnvironment = .system) {
        state = Locked(State(service: service))
        self.environment = environment
    }

    /// What comes from now on. The stream ends with the task that reads it.
    func events() -> AsyncStream<Event> {
        let id = UUID()
        let (stream, continuation) = AsyncStream.makeStream(
            of: Event.self, bufferingPolicy: .bufferingNewest(Self.backlog))
        continuation.onTermination = { [weak self] _ in self?.remove(id) }
        state.withLock { state in
            state.listeners[id] = continuation
            if state.task == nil { state.task = Task { await self.wait() } }
        }
        return stream
    }

    private func remove(_ id: UUID) {
        let (gone, task) = state.withLock { state in
            let gone = state.listeners.removeValue(forKey: id)
            guard state.listeners.isEmpty else { return (gone, nil as Task<Void, Never>?) }
            defer { state.task = nil }
            return (gone, state.task)
        }
        _ = gone
        task?.cancel()
    }

    /// Waits for another account's notifications from now on.
    func switchAccount(to service: any CloudService) {
        let (old, task) = state.withLock { state in
            let old = (state.service, state.task)
            state.service = service
            state.turn += 1
            (state.token, state.received) = (nil, nil)
            state.task = state.listeners.isEmpty ? nil : Task { await self.wait() }
            return old
        }
        _ = old
        task?.cancel()
    }

    /// Returns once the service keeps what it has to tell: from then on nothing is missed.
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
                // The service may have forgotten the token; it gives the same one as long as it has not.
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
            // A service that is about to stop answers at once, too: whether it is still there, the token tells.
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

    /// Has listeners hear that this device has accepted a share.
    func noteAcceptance() { hand(out: .accepted) }

    private func hand(out event: Event) {
        for listener in state.withLock({ Array($0.listeners.values) }) { listener.yield(event) }
    }

    /// Notifications are of all databases; the scope goes along without a meaning. The service holds a poll for less
    /// than a minute.
    private var call: ServiceCall { ServiceCall(scope: .private, requestTimeout: 90) }
}

extension ServiceFailure {
    /// After how many seconds the service wants to be asked again.
    fileprivate var retryAfter: Double? {
        switch self {
        case .refused(let error): error.retryAfter.map { Double($0) }
        case .transport(_, _, let retryAfter): retryAfter
        case .cancelled: nil
        }
    }
}
