import NephosService
import NephosWire
import Testing

@testable import CloudKit
@testable import CloudKitLocal

@Suite struct UnfriendlyNotificationsTests {
    /// A service that is unfriendly in a certain way first.
    private func plan(_ treatment: NotificationTreatment) -> FaultPlan {
        for seed in UInt64(1)... {
            let plans = [FaultPlan(), FaultPlan()]
            for plan in plans { plan.setUnfriendly(seed: seed) }
            if plans[0].treatment() == treatment { return plans[1] }
        }
        return FaultPlan()
    }

    /// A queue of notifications, where a poll waits until it is cancelled if nothing is left.
    private final class Queue: Sendable {
        let waiting: Box<[String]>
        let received = Box<[String?]>([])

        init(_ waiting: [String]) { self.waiting = Box(waiting) }

        func poll(_ id: String?) async throws(ServiceFailure) -> NotificationPayload? {
            received.value.append(id)
            if let next = waiting.value.first {
                waiting.value.removeFirst()
                return NotificationPayload(
                    .database, notificationID: next, containerIdentifier: nil, userRecordName: nil, subscriptionID: nil,
                    databaseScope: .private, zoneID: nil)
            }
            while !Task.isCancelled { await Task.yield() }
            throw .cancelled
        }
    }

    /// Returns the IDs of the first notifications that a client gets.
    private func received(_ count: Int, of queue: Queue, _ treatment: NotificationTreatment) async throws -> [String?] {
        let (plan, notifications) = (plan(treatment), UnfriendlyNotifications())
        var environment = ServiceEnvironment.system
        environment.sleepUntil = { _ in }
        var ids: [String?] = []
        for _ in 0..<count {
            ids.append(
                try await notifications.next(plan, environment, ids.last ?? nil) { (id) throws(ServiceFailure) in
                    try await queue.poll(id)
                }?.notificationID)
        }
        return ids
    }

    @Test func `of two merged notifications the newer one arrives`() async throws {
        let queue = Queue(["a", "b"])
        let first = try await received(1, of: queue, .merged)
        // The pause may end before the second poll.
        #expect(first == ["b"] || first == ["a"] && queue.waiting.value == ["b"], "\(first)")
        #expect(queue.received.value.starts(with: [nil, "a"]))
    }

    @Test func `a notification that nothing follows is merged with nothing`() async throws {
        #expect(try await received(1, of: Queue(["a"]), .merged) == ["a"])
    }

    @Test func `a lost notification is acknowledged, and the next one arrives`() async throws {
        let queue = Queue(["a", "b", "c", "d", "e", "f"])
        let first = try await received(1, of: queue, .lost)
        #expect(first != ["a"])
        #expect(queue.received.value.starts(with: [nil, "a"]))
    }

    @Test func `a notification arrives twice`() async throws {
        #expect(try await received(2, of: Queue(["a"]), .twice) == ["a", "a"])
    }
}
