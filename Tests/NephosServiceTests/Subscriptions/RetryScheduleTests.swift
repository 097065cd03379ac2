import NephosService
import Testing

@Suite struct RetryScheduleTests {
    let schedule = RetrySchedule(firstDelay: .seconds(2), longestDelay: .seconds(60), lifetime: .seconds(600))

    func notification(_ id: String = "3D1C5C2E", attempt: Int = 1, createdAt: Int64 = 0) -> OutgoingNotification {
        OutgoingNotification(
            id: id, container: "iCloud.org.example.App", environment: "development", account: "_a",
            subscriptionID: "sub", payload: [], isSilent: true, createdAt: createdAt, attempt: attempt)
    }

    @Test func `the delay doubles with every attempt up to the maximum`() {
        let waits = (1...8).map { schedule.delay(afterAttempt: $0, jitter: 1) }
        #expect(waits == [2, 4, 8, 16, 32, 60, 60, 60].map { .seconds($0) })
    }

    @Test func `jitter takes up to half of the delay`() {
        #expect(schedule.delay(afterAttempt: 3, jitter: 0) == .seconds(4))
        #expect(schedule.delay(afterAttempt: 3, jitter: 0.5) == .seconds(6))
        #expect(schedule.delay(afterAttempt: 3, jitter: -7) == .seconds(4))
        #expect(schedule.delay(afterAttempt: 3, jitter: 7) == .seconds(8))
    }

    @Test func `an absurd number of attempts has the maximum delay`() {
        #expect(schedule.delay(afterAttempt: .max, jitter: 1) == .seconds(60))
        #expect(schedule.delay(afterAttempt: .min, jitter: 1) == .seconds(2))
    }

    @Test func `a destination is not retried before its Retry-After`() {
        #expect(schedule.delay(afterAttempt: 1, jitter: 1, after: .seconds(30)) == .seconds(30))
        #expect(schedule.delay(afterAttempt: 5, jitter: 1, after: .seconds(3)) == .seconds(32))
        #expect(schedule.delay(afterAttempt: 1, jitter: 1, after: .seconds(86_400)) == .seconds(60))
    }

    @Test func `a retry after the lifetime is dropped`() throws {
        let due = try #require(schedule.nextAttempt(of: notification(attempt: 1), after: nil, now: 1000))
        #expect((2000...3000).contains(due))
        let last = notification(attempt: 1)
        #expect(schedule.nextAttempt(of: last, after: .seconds(10), now: 590_000) == 600_000)
        #expect(schedule.nextAttempt(of: last, after: .seconds(10), now: 590_001) == nil)
    }

    @Test func `notifications that failed together are retried apart`() {
        let dues = (0..<200).compactMap {
            schedule.nextAttempt(of: notification("id-\($0)", attempt: 5), after: nil, now: 0)
        }
        #expect(dues.count == 200)
        #expect(dues.allSatisfy { (16_000...32_000).contains($0) })
        // Each of eight equal parts of the span gets some: 25 expected, the odds of an empty one are nil in practice.
        #expect(Set(dues.map { ($0 - 16_000) / 2001 }).count == 8)
    }

    @Test func `the same attempt is due at the same time`() {
        let due = schedule.nextAttempt(of: notification(attempt: 2), after: nil, now: 5)
        #expect(due == schedule.nextAttempt(of: notification(attempt: 2), after: nil, now: 5))
        #expect(due != schedule.nextAttempt(of: notification("other", attempt: 2), after: nil, now: 5))
    }

    @Test func `the standard schedule has about a hundred attempts in three days`() {
        var attempts = 1
        var now: Int64 = 0
        while let next = RetrySchedule.standard.nextAttempt(
            of: notification(attempt: attempts), after: nil, now: now)
        {
            now = next
            attempts += 1
        }
        #expect((75...125).contains(attempts))
    }
}
