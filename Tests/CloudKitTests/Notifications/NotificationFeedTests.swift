import NephosTesting
import NephosWire
import Synchronization
import Testing

@testable import CloudKit

/// How the feed recovers from failures of the service; the answers are scripted.
@Suite struct NotificationFeedTests {
    private func payload(_ id: String) -> NotificationPayload {
        NotificationPayload(
            .database, notificationID: id, containerIdentifier: "c", userRecordName: "_me", subscriptionID: "s",
            databaseScope: .private, zoneID: nil)
    }

    @Test(.timeLimit(.minutes(15)))
    func `receipts are sent with the next poll, and failures are retried after a delay`() async {
        let failure = ServiceFailure.transport(.networkFailure, "no network")
        let service = CourierScript([
            .success(payload("1")), .success(payload("2")), .failure(failure), .failure(failure), .success(nil),
            .success(payload("3")),
        ])
        let waits = Mutex<[Double]>([])
        let feed = NotificationFeed(
            service, environment: SyncEngineEnvironment(sleep: { seconds in waits.withLock { $0.append(seconds) } }))
        var told: [String] = []
        for await event in feed.events() {
            switch event {
            case .notification(let notification): told.append(notification.notificationID?.uuidString ?? "")
            case .resumed: told.append("resumed")
            case .accepted: told.append("accepted")
            }
            if told.last == "3" { break }
        }
        #expect(told == ["1", "2", "resumed", "resumed", "3"])
        #expect(service.polls.prefix(6) == [nil, "1", "2", "2", "2", nil])
        #expect(waits.withLock { $0 } == [1, 2])
    }

    @Test(.timeLimit(.minutes(15))) func `without a listener there is no poll`() async {
        let service = CourierScript([.success(payload("1"))])
        let feed = NotificationFeed(service, environment: SyncEngineEnvironment(sleep: { _ in }))
        var iterator: NotificationEvents.AsyncIterator? = feed.events().makeAsyncIterator()
        _ = await iterator?.next()
        await service.untilHeld()
        iterator = nil
        #expect(service.isCancelled && service.polls == [nil, "1"])
    }
}

/// Answers polls from a script, then holds them until they are cancelled.
private final class CourierScript: PartialService {
    private struct State: Sendable {
        var answers: [Result<NotificationPayload?, ServiceFailure>]
        var polls: [String?] = []
        var isCancelled = false
        var waiting: CheckedContinuation<Void, Never>?
    }

    private let state: Mutex<State>

    init(_ answers: [Result<NotificationPayload?, ServiceFailure>]) {
        state = Mutex(State(answers: answers))
    }

    var polls: [String?] { state.withLock { $0.polls } }

    func answer(_ request: any Sendable, _: String, _: ServiceCall) async throws(ServiceFailure) -> (any Sendable)? {
        request is TokenRequest
            ? TokenResponse(apnsEnvironment: .development, apnsToken: "AAAA", webcourierURL: "/courier") : nil
    }

    func nextNotification(
        _: TokenResponse, received: String?, _: ServiceCall
    ) async throws(ServiceFailure) -> NotificationPayload? {
        let answer = state.withLock { state in
            state.polls.append(received)
            return state.answers.isEmpty ? nil : state.answers.removeFirst()
        }
        if let answer { return try answer.get() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isCancelled = state.withLock { state in
                    if !state.isCancelled { state.waiting = continuation }
                    return state.isCancelled
                }
                if isCancelled { continuation.resume() }
            }
        } onCancel: {
            noteCancellation()
        }
        throw .cancelled
    }

    private func noteCancellation() {
        let waiting = state.withLock { state in
            state.isCancelled = true
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.resume()
    }

    /// Whether a poll was cancelled.
    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Returns once a poll is held.
    func untilHeld() async {
        await eventually { state.withLock { $0.waiting != nil } }
    }
}
