import NephosStorage
import NephosWire
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
        return AdoptionPlan(stores, given: given, decided: decided, taken: taken)
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

    @Test func `a name of the form of an ID stops an adoption, and not what follows one`() {
        let id = "id:" + String(repeating: "a", count: 32)
        let stores = [AdoptionPlan.Names(store: Self.first, accounts: ["ada"], ids: [id])]
        let plan = AdoptionPlan(stores, given: [:])
        #expect(plan.problems.count == 1 && plan.problems[0].contains("'\(id)'"))
        #expect(AdoptionPlan(stores, given: [:], isProduction: true).problems == [])
    }

    // MARK: Invitations

    private func row(
        _ id: String, _ address: String, share: Int64 = 1, account: Int64 = 0, permission: SharePermission = .readOnly
    ) -> ShareParticipantRow {
        ShareParticipantRow(
            share: share, id: id, account: account, address: address, role: ParticipantRole.privateUser.number,
            permission: permission.number,
            status: (account == 0 ? AcceptanceStatus.pending : .accepted).number, addedAt: 0)
    }

    @Test func `an invitation is of the account whose name it spells in any case, if that is one`() {
        let addresses = AdoptedAddresses([
            "Ada@x.org": AdoptedName(signInName: "ada@y.org"), "bob": AdoptedName(signInName: "bob@y.org"),
            "Zoe": AdoptedName(signInName: "zoe1"), "zoe": AdoptedName(signInName: "zoe2"),
        ])
        #expect(addresses.address("ada@X.org") == "ada@y.org" && addresses.address("Bob") == "bob@y.org")
        #expect(addresses.address("Zoe") == "zoe1" && addresses.address("zoe") == "zoe2")
        #expect(addresses.address("ZOE") == "zoe", "not one of the two")
        #expect(addresses.address("Carl") == "carl" && addresses.address("+49123") == "+49123")
    }

    @Test func `of two invitations that become one, the accepted one stays, or the one that may do more`() {
        let addresses = AdoptedAddresses([
            "bob": AdoptedName(signInName: "bob@y.org"), "bob@x.org": AdoptedName(signInName: "bob@y.org"),
        ])
        let (accepted, pending) = (row("a", "bob", account: 7), row("b", "bob@x.org", permission: .readWrite))
        var renamed = accepted
        renamed.address = "bob@y.org"
        for rows in [[accepted, pending], [pending, accepted]] {
            #expect(Set(addresses.changes(rows)) == [.put(renamed), .remove(pending)])
        }
        let reader = row("a", "bob")
        var writer = pending
        writer.address = "bob@y.org"
        for rows in [[reader, pending], [pending, reader]] {
            #expect(Set(addresses.changes(rows)) == [.put(writer), .remove(reader)])
        }
        let elsewhere = row("c", "bob@y.org", share: 2)
        #expect(addresses.changes([elsewhere]) == [] && addresses.changes([reader, elsewhere]).count == 1)
    }
}
