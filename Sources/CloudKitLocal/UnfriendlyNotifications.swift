import CloudKit
import NephosService
import NephosWire
import Synchronization

/// The notifications of an unfriendly service: some get lost, some arrive late or twice, as Apple's may.
final class UnfriendlyNotifications: Sendable {
    private let again = Mutex<NotificationPayload?>(nil)

    /// The pause of a late notification, in milliseconds.
    private static let lateness: Int64 = 200

    /// - Parameter poll: waits for the next notification, and acknowledges the received one.
    func next(
        _ plan: FaultPlan, _ environment: ServiceEnvironment, _ received: String?,
        _ poll: (String?) async throws(ServiceFailure) -> NotificationPayload?
    ) async throws(ServiceFailure) -> NotificationPayload? {
        if let repeated = again.withLock({ $0.take() }) { return repeated }
        var received = received
        while let payload = try await poll(received) {
            let (times, late) = plan.delivers()
            if late { try? await environment.sleepUntil(environment.now() + Self.lateness) }
            if times == 2 { again.withLock { $0 = payload } }
            if times > 0 { return payload }
            received = payload.notificationID
        }
        return nil
    }
}
