import FoundationEssentials
import NephosSQLite
import NephosStorage
import NephosWire
import Testing

@testable import NephosService

/// Names are compared by their bytes, as in the store, although Swift's strings compare canonically.
@Suite struct ExactNameTests {
    /// One text to Swift, two to a store.
    private let composed = "caf\u{E9}"
    private let decomposed = "cafe\u{301}"
    /// Canonically equivalent to "K".
    private let kelvin = "\u{212A}"

    @Test func `an account is the same in every Unicode form of its name, also after a restart`() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "nephos-names-\(UUID().uuidString)").path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        var cloud = TestCloud(ServiceConfiguration(), stores: try DataDirectory(path: path))
        _ = try await TestDatabase(cloud, decomposed).modify([.create("a")])
        #expect(try await TestDatabase(cloud, composed).existing("a") == ["a"])
        await cloud.service.close()
        cloud = TestCloud(ServiceConfiguration(), stores: try DataDirectory(path: path))
        #expect(try await TestDatabase(cloud, composed).existing("a") == ["a"])
        #expect(try await TestDatabase(cloud, decomposed).existing("a") == ["a"])
        await cloud.service.close()
    }

    @Test func `an account that was stored decomposed is still found`() async throws {
        let stores = OpenStores()
        let cloud = TestCloud(ServiceConfiguration(), stores: stores)
        _ = try await cloud.service.listZones(cloud.context("other"))
        let environment = cloud.service.environment
        try await stores.engine.write { transaction in
            let account = try transaction.insertAccount(name: "cafe\u{301}", userRecordName: "_old")
            let zone = try ZoneRegistry.defaultZone(owner: account.owner, in: transaction)
            try Accounts.putUserRecord(of: account, zone: zone.key, now: environment.now(), in: transaction)
        }
        for name in [composed, decomposed] {
            #expect(try await cloud.service.currentUser(cloud.context(name)).userRecordName == "_old")
        }
    }

    @Test func `a zone is neither found nor written under a canonically equivalent name`() async throws {
        let database = try await TestDatabase(TestCloud()).making(zone: "K")
        _ = try await database.modify([.create("a")])
        let (zone, other) = (ZoneIDDictionary(zoneName: "K"), ZoneIDDictionary(zoneName: kelvin))
        let lookup = LookupRecordsRequest(records: [
            .init(recordName: "a", zoneID: zone), .init(recordName: "a", zoneID: other),
        ])
        let found = try await database.cloud.service.lookupRecords(lookup, database.context).records
        #expect(found.map(\.summary) == ["saved", "error 26"])
        var operations = [RecordOperation.create("b"), .create("c")]
        (operations[0].record.zoneID, operations[1].record.zoneID) = (zone, other)
        #expect(try await database.modify(operations).map(\.summary) == ["saved", "error 26"])
    }

    @Test func `canonically equivalent types, fields and names are distinct`() async throws {
        let cloud = TestCloud()
        let database = TestDatabase(cloud)
        _ = try await database.modify([.create("K", ["K": .int64(1)], type: "K")])
        func query(_ query: Query) async throws -> [String] {
            try await cloud.service.queryRecords(QueryRecordsRequest(query: query), database.context).records
                .compactMap { $0.record?.recordName }
        }
        #expect(try await query(Query(recordType: "K")) == ["K"])
        await #expect(throws: ServiceError.self) { try await query(Query(recordType: kelvin)) }
        await #expect(throws: ServiceError.self) {
            try await query(Query(recordType: "K", filterBy: [Filter(.field(kelvin), .equals, .int64(1))]))
        }
        // An equivalent name beside the real one does not hide it.
        let names = FieldValue.list(of: .reference, [.link(kelvin), .link("K")])
        let named = Query(recordType: "K", filterBy: [Filter(.system(.recordName), .in, names)])
        #expect(try await query(named) == ["K"])
        let owned = try await database.modify([.create("K2", ["owner": .owner(kelvin)]), .force("K", type: "K")])
        #expect(owned.map(\.summary) == ["error 31", "saved"])
    }

    @Test func `subscription and client IDs are compared by their bytes`() async throws {
        let cloud = TestCloud()
        let context = cloud.context(client: composed)
        _ = try await TestDatabase(cloud).modify([.create("a")])
        func subscription(_ id: String, _ triggers: Set<SubscriptionDictionary.Trigger>) -> SubscriptionOperation {
            var subscription = SubscriptionDictionary(subscriptionID: id, subscriptionType: .query)
            subscription.query = Query(recordType: "Note")
            subscription.firesOn = triggers
            return .create(subscription)
        }
        let request = ModifySubscriptionsRequest(operations: [
            subscription(composed, [.create]), subscription(decomposed, [.create]),
            subscription(decomposed, [.delete]),
        ])
        let results = try await cloud.service.modifySubscriptions(request, context).subscriptions
        // The second asks for the same under another ID.
        #expect(results.map { if case .failure = $0 { false } else { true } } == [true, false, true])
        let tokens = try await [composed, decomposed].asyncMap { client in
            try await cloud.service.createToken(TokenRequest(apnsEnvironment: .development, clientID: client), context)
                .apnsToken
        }
        #expect(tokens[0] != tokens[1])
    }
}

extension Array {
    fileprivate func asyncMap<Result>(_ transform: (Element) async throws -> Result) async rethrows -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try await transform(element)) }
        return results
    }
}
