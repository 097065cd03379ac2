import NephosPostgresTesting
import NephosWire
import Testing

@testable import NephosService

struct ChangeFeedTests {
    private func customZone() async throws -> TestDatabase {
        try await TestDatabase(TestCloud()).making(zone: "Z")
    }

    @Test func `a feed has each record once, in its newest state, at its newest position`() async throws {
        let database = try await customZone()
        _ = try await database.modify([.create("a"), .create("b"), .create("c")])
        _ = try await database.modify([.force("a", ["x": .int64(1)])])
        let page = try await database.changes()
        #expect(page.summary == ["b", "c", "a"] && !page.moreComing)
        #expect(try await database.changes(since: page.syncToken).summary == [])
    }

    @Test func `a token leads to later changes, deletions with their type included`() async throws {
        let database = try await customZone()
        _ = try await database.modify([.create("a"), .create("b"), .create("c")])
        let token = try await database.changes().syncToken
        _ = try await database.modify([.delete("a"), .create("d")])
        _ = try await database.modify([.create("a2"), .delete("d")])
        let page = try await database.changes(since: token)
        #expect(page.summary == ["-a", "a2", "-d"])
        guard case .deleted(let deleted) = page.records[0] else { return }
        #expect(deleted.recordType == "Note")
    }

    @Test func `a first fetch omits deleted records`() async throws {
        let database = try await customZone()
        _ = try await database.modify([.create("a"), .create("b")])
        _ = try await database.modify([.delete("a")])
        #expect(try await database.changes().summary == ["b"])
    }

    @Test(arguments: [1, 2, 3, 7])
    func `pages have no gap and no repetition`(limit: Int) async throws {
        let database = try await customZone()
        _ = try await database.modify((0..<10).map { .create("n\($0)") })
        _ = try await database.modify([.delete("n3"), .force("n1", ["x": .int64(1)])])
        var names: [String] = []
        var token: String?
        var more = true
        while more {
            let page = try await database.changes(since: token, limit: limit)
            names += page.summary
            #expect(token != page.syncToken)
            (token, more) = (page.syncToken, page.moreComing)
        }
        #expect(names.sorted() == ["n0", "n1", "n2", "n4", "n5", "n6", "n7", "n8", "n9"])
    }

    @Test func `cascades and writes between pages appear in the feed`() async throws {
        let database = try await customZone()
        _ = try await database.modify([.create("list"), .create("item", ["list": .owner("list")]), .create("x")])
        let first = try await database.changes(limit: 1)
        #expect(first.summary == ["list"] && first.moreComing)
        _ = try await database.modify([.delete("list")])
        let rest = try await database.changes(since: first.syncToken)
        #expect(Set(rest.summary) == ["x", "-list", "-item"] && rest.summary.count == 3)
    }

    @Test func `tokens of a remade zone, of another zone, or garbled have expired`() async throws {
        let database = try await customZone()
        _ = try await database.modify([.create("a")])
        let token = try await database.changes().syncToken
        let other = try await database.making(zone: "Other")
        let request = ModifyZonesRequest(operations: [
            .init(operationType: .delete, zoneID: database.zoneID ?? .defaultZone)
        ])
        for (database, token) in [(other, token), (database, "garbage"), (database, ""), (database, "AQE=")] {
            await #expect(throws: ServiceError.changeTokenExpired) { try await database.changes(since: token) }
        }
        _ = try await database.cloud.service.modifyZones(request, database.context)
        let again = try await database.making(zone: "Z")
        await #expect(throws: ServiceError.changeTokenExpired) { try await again.changes(since: token) }
    }

    @Test func `the default zone and the public database have no feed`() async throws {
        let cloud = TestCloud()
        await #expect(throws: ServiceError.defaultZoneHasNoChanges) { try await TestDatabase(cloud).changes() }
        let error = await #expect(throws: ServiceError.self) {
            try await TestDatabase(cloud, "me", .public).databaseChanges()
        }
        #expect(error?.clientCode == .badDatabase)
    }

    @Test func `a custom zone comes with the token of its feed's end`() async throws {
        let database = TestDatabase(TestCloud())
        func zones() async throws -> [ZoneDictionary] {
            let (service, context) = (database.cloud.service, database.context)
            let listed = try await service.listZones(context).zones
            let request = LookupZonesRequest(zones: [.defaultZone, ZoneIDDictionary(zoneName: "Z")])
            #expect(try await service.lookupZones(request, context).zones == listed)
            return listed.compactMap { if case .zone(let zone) = $0 { zone } else { nil } }
        }
        let make = ZoneOperation(operationType: .create, zoneID: ZoneIDDictionary(zoneName: "Z"))
        let made = try await database.cloud.service.modifyZones(
            ModifyZonesRequest(operations: [make]), database.context)
        guard case .zone(let new) = made.zones[0] else {
            Issue.record("not made")
            return
        }

        let zone = try await database.making(zone: "Z")
        _ = try await zone.modify([.create("a"), .create("b")])
        let beginning = try #require(new.syncToken)
        #expect(try await zone.changes(since: beginning).summary == ["a", "b"])
        let listed = try await zones()
        #expect(listed[0].syncToken == nil, "the default zone has no feed")
        let token = try #require(listed[1].syncToken)
        #expect(try await zone.changes(since: token).summary == [])
        _ = try await zone.modify([.delete("a"), .create("c")])
        #expect(Set(try await zone.changes(since: token).summary) == ["-a", "c"])
        #expect(try await zones()[1].syncToken != token)
    }

    @Test func `a database's feed lists new, changed and deleted zones`() async throws {
        let database = try await customZone()
        let other = try await database.making(zone: "Other")
        let first = try await database.databaseChanges()
        #expect(first.zones.map(\.zoneID.zoneName) == ["Z", "Other"])
        #expect(try await database.databaseChanges(since: first.syncToken).zones.isEmpty)
        _ = try await database.modify([.create("a")])
        let second = try await database.databaseChanges(since: first.syncToken)
        #expect(second.zones.map(\.zoneID.zoneName) == ["Z"])
        _ = try await database.cloud.service.modifyZones(
            ModifyZonesRequest(operations: [.init(operationType: .delete, zoneID: other.zoneID ?? .defaultZone)]),
            database.context)
        let third = try await database.databaseChanges(since: second.syncToken)
        #expect(third.zones.map { "\($0.zoneID.zoneName) \($0.deleted)" } == ["Other true"])
        let paged = try await database.databaseChanges(since: first.syncToken, limit: 1)
        #expect(paged.zones.count == 1 && paged.moreComing)
    }

    @Test func `record types can be chosen, and the token moves past the others`() async throws {
        let database = try await customZone()
        _ = try await database.modify([.create("a"), .create("b", type: "Other"), .create("c")])
        let page = try await database.changes(types: ["Other"])
        #expect(page.summary == ["b"])
        #expect(try await database.changes(since: page.syncToken).summary == [])
    }
}
