import NephosPostgresTesting
import NephosTesting
import NephosWire
import Testing

@testable import NephosService

/// Random subscriptions, grants, roles and changes: each account is notified of exactly the subscribed changes that it may
/// read, as in a model.
@Suite struct SubscriptionFuzzTests {
    private struct Model {
        var grants: [String: Set<String>] = [:]
        var curators: Set<String> = []
        var records: [String: (creator: String, value: Int64)] = [:]
        var subscriptions: [String: [String: (firesOn: Set<SubscriptionDictionary.Trigger>, above: Int64)]] = [:]

        func may(_ permissions: Set<String>, _ account: String, creator: String) -> Bool {
            var roles = ["_world", "_icloud"]
            if account == creator { roles.append("_creator") }
            if curators.contains(account) { roles.append("Curator") }
            return roles.contains { !(grants[$0] ?? []).isDisjoint(with: permissions) }
        }

        /// The accounts notified by each subscription.
        func told(_ trigger: SubscriptionDictionary.Trigger, value: Int64, creator: String) -> [String: Set<String>] {
            subscriptions.compactMapValues { $0 }.reduce(into: [:]) { told, entry in
                guard may(["READ", "WRITE"], entry.key, creator: creator) else { return }
                let ids = entry.value.filter { $0.value.firesOn.contains(trigger) && value > $0.value.above }.map(\.key)
                if !ids.isEmpty { told[entry.key] = Set(ids) }
            }
        }
    }

    private static let accounts = ["mei", "tom", "cora"]
    private let cloud = TestCloud.impatient()

    private func database(_ name: String) -> TestDatabase { TestDatabase(cloud, name, .public) }

    private func importGrants(_ grants: [String: Set<String>]) async throws {
        let list = grants.filter { !$0.value.isEmpty }.sorted { $0.key < $1.key }.map { role, permissions in
            ", GRANT \(permissions.sorted().joined(separator: ", ")) TO \(role == "Curator" ? role : "\"\(role)\"")"
        }.joined()
        let text = """
            DEFINE SCHEMA CREATE ROLE Curator; RECORD TYPE Note ("___recordID" REFERENCE QUERYABLE,
            "___createdBy" REFERENCE QUERYABLE, n INT64 QUERYABLE SORTABLE\(list));
            """
        #expect(try await cloud.service.importSchema(text, cloud.context(nil, .public)).findings == [])
    }

    private func randomGrants(_ random: inout SeededGenerator) -> [String: Set<String>] {
        var grants: [String: Set<String>] = [:]
        for role in ["_world", "_icloud", "_creator", "Curator"] {
            grants[role] = Set(["READ", "WRITE"].filter { _ in Int.random(in: 0..<3, using: &random) == 0 })
        }
        grants["_icloud", default: []].insert("CREATE")
        return grants
    }

    @Test(.timeLimit(.minutes(600)), arguments: FuzzBudget.seeds)
    func `accounts are notified only of subscribed records that they may read`(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        var model = Model()
        model.grants = randomGrants(&random)
        try await importGrants(model.grants)
        var devices: [String: TestDevice] = [:]
        for account in Self.accounts { devices[account] = try await TestDevice(cloud, account) }
        for step in 0..<FuzzBudget.steps(120) {
            let account = try #require(Self.accounts.randomElement(using: &random))
            let database = database(account)
            var told: [String: Set<String>] = [:]
            switch Int.random(in: 0..<10, using: &random) {
            case 0:
                model.grants = randomGrants(&random)
                try await importGrants(model.grants)
            case 1:
                let request = RoleRequest(account: account, role: "Curator")
                if model.curators.remove(account) != nil {
                    _ = try await cloud.service.revokeRole(request, cloud.context(nil, .public))
                } else {
                    model.curators.insert(account)
                    _ = try await cloud.service.assignRole(request, cloud.context(nil, .public))
                }
            case 2, 3:
                let id = "S\(Int.random(in: 0..<4, using: &random))"
                let triggers = Set(SubscriptionDictionary.Trigger.allCases.filter { _ in Bool.random(using: &random) })
                let above = Int64.random(in: -1...5, using: &random)
                let saved = try await database.save(
                    .query(id, triggers, where: [Filter(.field("n"), .greaterThan, .int64(above))]))
                if saved.subscription != nil { model.subscriptions[account, default: [:]][id] = (triggers, above) }
            default:
                let name = "r\(Int.random(in: 0..<6, using: &random))"
                let value = Int64.random(in: 0...6, using: &random)
                let isDeletion = Int.random(in: 0..<4, using: &random) == 0
                let result = try await database.modify([isDeletion ? .delete(name) : .force(name, ["n": .int64(value)])]
                )[0]
                let old = model.records[name]
                if result.error != nil {
                    #expect(
                        old.map { !model.may(["WRITE"], account, creator: $0.creator) } ?? false,
                        "seed \(seed), step \(step)")
                } else if isDeletion {
                    if let old { told = model.told(.delete, value: old.value, creator: old.creator) }
                    model.records[name] = nil
                } else {
                    let creator = old?.creator ?? account
                    told = model.told(old == nil ? .create : .update, value: value, creator: creator)
                    model.records[name] = (creator, value)
                }
            }
            for (account, device) in devices {
                var ids: [String] = []
                while let payload = try await device.next() { ids.append(payload.subscriptionID ?? "") }
                #expect(
                    ids.sorted() == (told[account] ?? []).sorted(),
                    "seed \(seed), step \(step): \(account) under \(model.grants)")
            }
        }
        #expect(cloud.log.all.allSatisfy { $0.hasSuffix("was made by its first write") }, "seed \(seed)")
    }
}
