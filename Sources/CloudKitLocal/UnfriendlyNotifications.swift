import CloudKit
import NephosService
import NephosWire
import Synchronization

/// The notifications of an unfriendly service: some get lost, some arrive late, twice or merged, as Apple's may.
final class UnfriendlyNotifications: Sendable {
    typealias Poll = @Sendable (_ received: String?) async throws(ServiceFailure) -> NotificationPayload?

    private let again = Mutex<NotificationPayload?>(nil)

    /// The pause of a late notification, in milliseconds.
    private static let lateness: Int64 = 200

    /// - Parameter poll: waits for the next notification, and acknowledges the received one.
    func next(
        _ plan: FaultPlan, _ environment: ServiceEnvironment, _ received: String?, _ poll: @escaping Poll
    ) async throws(ServiceFailure) -> NotificationPayload? {
        if let repeated = again.withLock({ $0.take() }) { return repeated }
        var received = received
        while let payload = try await poll(received) {
            switch plan.treatment() {
            case .normal: return payload
            case .lost: received = payload.notificationID
            case .twice:
                again.withLock { $0 = payload }
                return payload
            case .late:
                await pause(environment)
                return payload
            case .merged: return await merged(payload, environment, poll)
            }
        }
        return nil
    }

    /// Returns the next notification if it arrives soon, in place of the one before.
    private func merged(
        _ payload: NotificationPayload, _ environment: ServiceEnvironment, _ poll: @escaping Poll
    ) async -> NotificationPayload {
        let next = Task { try? await poll(payload.notificationID) }
        let alarm = Task {
            await pause(environment)
            next.cancel()
        }
        let newest = await withTaskCancellationHandler {
            await next.value
        } onCancel: {
            next.cancel()
        }
        alarm.cancel()
        return newest ?? payload
    }

    private func pause(_ environment: ServiceEnvironment) async {
        try? await environment.sleepUntil(environment.now() + Self.lateness)
    }
}
