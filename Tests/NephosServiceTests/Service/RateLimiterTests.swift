import Testing

@testable import NephosService

/// The rates above which a caller's requests are refused.
@Suite struct RateLimiterTests {
    private static let second: Int64 = 1_000_000_000

    @Test func `ten seconds' requests may come at once, then one for each that the rate pays for`() {
        let limiter = RateLimiter<String>(perSecond: 2)
        for request in 0..<20 { #expect(limiter.take("ada", at: 0) == nil, "\(request)") }
        #expect(limiter.take("ada", at: 0) == 0.5)
        // What was refused costs nothing.
        #expect(limiter.take("ada", at: Self.second / 4) == 0.25)
        #expect(limiter.take("ada", at: Self.second / 2) == nil)
        #expect(limiter.take("ada", at: Self.second / 2) == 0.5)
        #expect(limiter.take("ada", at: Self.second * 100) == nil)
    }

    @Test func `callers do not use up each other's rate`() {
        let limiter = RateLimiter<String>(perSecond: 1)
        for _ in 0..<10 { _ = limiter.take("ada", at: 0) }
        #expect(limiter.take("ada", at: 0) != nil)
        #expect(limiter.take("bob", at: 0) == nil)
    }

    @Test func `a caller that goes on is known for as long as others come and go`() {
        let limiter = RateLimiter<String>(perSecond: 1, limit: 8)
        for _ in 0..<10 { _ = limiter.take("ada", at: 0) }
        for other in 0..<3 {
            _ = limiter.take("other \(other)", at: 0)
            #expect(limiter.take("ada", at: 0) != nil, "\(other)")
        }
    }

    @Test func `callers are bounded in number`() {
        let limiter = RateLimiter<Int>(perSecond: 1, limit: 8)
        for caller in 0..<100 { for _ in 0..<10 { #expect(limiter.take(caller, at: 0) == nil) } }
        #expect(limiter.count <= 8)
    }

    @Test func `without a rate all are allowed`() {
        let limiter = RateLimiter<String>(perSecond: nil)
        for _ in 0..<100 { #expect(limiter.take("ada", at: 0) == nil) }
    }
}
