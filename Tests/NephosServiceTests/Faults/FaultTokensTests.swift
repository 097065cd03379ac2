import Testing

@testable import NephosService

@Suite struct FaultTokensTests {
    private func plan() -> FaultPlan {
        let plan = FaultPlan(tokenLimit: 10)
        plan.setBounds(ServiceBounds(recordsPerRequest: 1, recordSize: 1, resultsPerPage: 1, tokenLifetime: 60_000))
        return plan
    }

    private func hasExpired(_ token: String, _ plan: FaultPlan) -> Bool {
        plan.expire([token], of: "phone", now: 1_000_000)
        return plan.hasExpired(token, of: "phone")
    }

    @Test func `with more tokens than are kept, the older half is evicted and valid again`() {
        let plan = plan()
        for number in 0..<10 { plan.note(["\(number)"], of: "phone", now: Int64(number)) }
        #expect(hasExpired("0", plan))
        plan.note(["0"], of: "phone", now: 0)
        plan.note(["10"], of: "phone", now: 10)
        #expect(!hasExpired("0", plan))
        #expect(!hasExpired("5", plan))
        #expect(hasExpired("6", plan))
        #expect(hasExpired("10", plan))
    }

    @Test func `with more expired tokens than are kept, all are valid again`() {
        let plan = plan()
        for number in 0..<10 { plan.expire("\(number)", of: "phone") }
        plan.note([], of: "phone", now: 0)
        #expect(plan.hasExpired("0", of: "phone"))
        plan.expire("10", of: "phone")
        plan.note([], of: "phone", now: 0)
        #expect(!plan.hasExpired("0", of: "phone"))
        #expect(!plan.hasExpired("10", of: "phone"))
    }
}
