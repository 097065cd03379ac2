import NephosStorage
import Testing

@testable import NephosService

/// What becomes of the names of `nephos dev`.
@Suite struct AdoptionPlanTests {
    private static let (first, second) = (
        StoreID(container: "iCloud.a", environment: "development"),
        StoreID(container: "iCloud.b", environment: "production")
    )

    private func plan(
        _ first: Set<String>, _ second: Set<String> = [], addresses: Set<String> = [], given: [String: String] = [:],
        decided: [String: AdoptedName] = [:], taken: Set<String> = []
    ) -> AdoptionPlan {
        let stores = [
            AdoptionPlan.Names(store: Self.first, accounts: first, addresses: addresses),
            AdoptionPlan.Names(store: Self.second, accounts: second),
        ]
        return AdoptionPlan(
            stores.filter { !$0.accounts.isEmpty }, given: given, decided: decided, taken: taken)
    }

    @Test func `a name is one account in all stores, under its own name or the one that is given`() {
        let plan = plan(["ada", "Bob"], ["ada"], given: ["ada": "Ada@Example.org"])
        #expect(plan.problems == [])
        #expect(plan.people.map(\.signInName) == ["ada@example.org", "bob"])
        #expect(plan.people.map(\.names) == [["ada"], ["Bob"]])
        #expect(plan.people.map(\.stores) == [[Self.first, Self.second], [Self.first]])
    }

    @Test func `names that become equal are a problem until each is given a name`() {
        #expect(plan(["Ada"], ["ada"]).problems.count == 1)
        #expect(plan(["Ada"], ["ada"], given: ["Ada": "ada"]).problems.count == 1)
        let merged = plan(["Ada"], ["ada"], given: ["Ada": "ada", "ada": "ada"])
        #expect(merged.problems == [] && merged.people.map(\.names) == [["Ada", "ada"]])
        let apart = plan(["Ada"], ["ada"], given: ["Ada": "ada@a.org"])
        #expect(apart.problems == [] && apart.people.map(\.signInName) == ["ada", "ada@a.org"])
    }

    @Test func `two accounts of one store never become one`() {
        let plan = plan(["Ada", "ada"], given: ["Ada": "x", "ada": "x"])
        #expect(plan.problems.count == 1 && plan.problems[0].contains("iCloud.a, development"))
    }

    @Test func `every name that cannot sign in is listed at once`() {
        let plan = plan([" a", "id:b", "c\u{7}", "good"], given: ["nobody": "x"], taken: ["good"])
        #expect(plan.problems.count == 5)
        for name in ["' a'", "'id:b'", "'c\u{7}'", "'good'", "'nobody'"] {
            #expect(plan.problems.contains { $0.contains(name) }, "\(name)")
        }
    }

    @Test func `an address that was invited may be given a name too`() {
        let plan = plan(["ada"], addresses: ["ada", "zoe"], given: ["zoe": "zoe@example.org"])
        #expect(plan.problems == [] && plan.people.map(\.signInName) == ["ada"])
        #expect(plan.invited == ["zoe": "zoe@example.org"])
        #expect(self.plan(["ada"], addresses: ["zoe"], given: ["zoe": " "]).problems.count == 1)
    }

    @Test func `what was decided stays, and other wishes are refused`() {
        let decided = ["ada": AdoptedName(signInName: "ada@a.org", account: "id:1", recoveryKeyHash: "h")]
        let plan = plan(["ada", "bob"], decided: decided)
        #expect(plan.problems == [] && plan.isContinued && plan.people.map(\.signInName) == ["ada@a.org", "bob"])
        #expect(plan.people.map(\.id) == ["id:1", nil] && plan.people.map(\.hasRecoveryKey) == [true, false])
        let other = self.plan(["ada"], given: ["ada": "ada@b.org"], decided: decided)
        #expect(other.problems == ["'ada' became 'ada@a.org' when the adoption began"])
        // Every store was adopted, and the process ended before it said so.
        #expect(!self.plan([], decided: decided).isDone)
    }
}
