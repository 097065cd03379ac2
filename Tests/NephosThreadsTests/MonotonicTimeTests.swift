import Testing

@testable import NephosThreads

@Suite struct MonotonicTimeTests {
    @Test func `a duration is added to the nanosecond, and a sum out of range saturates`() {
        let time = MonotonicTime(nanoseconds: 5)
        #expect(time + .nanoseconds(7) == MonotonicTime(nanoseconds: 12))
        #expect(time + .milliseconds(1500) == MonotonicTime(nanoseconds: 1_500_000_005))
        #expect((time + .milliseconds(1500)).milliseconds == 1500)
        #expect(time + .seconds(Int64.max) == MonotonicTime(nanoseconds: .max))
        #expect(time + .seconds(Int64.max / 1_000_000_000) < MonotonicTime(nanoseconds: .max))
        #expect(MonotonicTime(nanoseconds: .max) + .nanoseconds(1) == MonotonicTime(nanoseconds: .max))
    }
}
