import NephosStorage
import NephosWire
import Testing

@testable import NephosService

@Suite struct ZoneTests {
    private func modify(
        _ type: ZoneOperation.OperationType, _ name: String, in database: TestDatabase
    ) async throws -> ZoneResult {
        let operation = ZoneOperation(operationType: type, zoneID: ZoneIDDictionary(zoneName: name))
        let request = ModifyZonesRequest(operations: [operation])
        return try await database.cloud.service.modifyZones(request, database.context).zones[0]
    }

    private func names(_ database: TestDatabase) async throws -> [String] {
        try await database.cloud.service.listZones(database.context).zones.map { result in
            guard case .zone(let zone) = result else { return "error" }
            return zone.zoneID.zoneName + (zone.atomic ? " atomic" : "")
        }
    }

    @Test func `a private database has the default zone, and custom zones that are atomic`() async throws {
        let database = TestDatabase(TestCloud())
        #expect(try await names(database) == ["_defaultZone"])
        for name in ["b", "A", "b"] { _ = try await modify(.create, name, in: database) }
        #expect(try await names(database) == ["_defaultZone", "A atomic", "b atomic"])
        #expect(try await names(TestDatabase(database.cloud, "other")) == ["_defaultZone"])
        #expect(try await names(TestDatabase(database.cloud, "me", .public)) == ["_defaultZone"])
        #expect(try await names(TestDatabase(database.cloud, "me", .shared)) == [])
    }

    @Test func `a database takes as many zones as the limit, and another one once a zone is deleted`() async throws {
        let database = TestDatabase(TestCloud())
        _ = try await modify(.create, "Z0", in: database)
        try await database.cloud.withStore { store in
            try await store.engine.write { transaction in
                let owner = try #require(try transaction.zones(after: 0, limit: 9).first { $0.name == "Z0" }).key.owner
                let sequence = try transaction.nextSequence()
                for number in try transaction.zones(owner: owner).count..<Limits.zonesPerDatabase {
                    _ = try transaction.insertZone(owner: owner, name: "Z\(number)", sequence: sequence)
                }
            }
        }
        guard case .failure(let refusal) = try await modify(.create, "more", in: database) else {
            Issue.record("not refused")
            return
        }
        #expect(refusal.serverErrorCode == .badRequest)
        #expect(refusal.reason == "a database has at most 10000 zones")
        #expect(try await isTaken(.create, "Z9", in: database))
        #expect(try await isTaken(.create, "more", in: TestDatabase(database.cloud, "another account")))
        #expect(try await isTaken(.delete, "Z0", in: database))
        #expect(try await isTaken(.create, "more", in: database))
        #expect(try await !isTaken(.create, "Z0", in: database))
    }

    private func isTaken(
        _ type: ZoneOperation.OperationType, _ name: String, in database: TestDatabase
    ) async throws -> Bool {
        if case .zone = try await modify(type, name, in: database) { true } else { false }
    }

    @Test func `deleting a zone deletes its records for good`() async throws {
        let database = try await TestDatabase(TestCloud()).making(zone: "Z")
        _ = try await database.modify((0..<400).map { .create("n\($0)", ["x": .int64(1)]) })
        guard case .zone(let deleted) = try await modify(.delete, "Z", in: database) else {
            Issue.record("not deleted")
            return
        }
        #expect(deleted.deleted)
        await #expect(throws: missingZone("Z", "the account has no zone of that name")) {
            try await database.lookup("n0")
        }
        _ = try await modify(.create, "Z", in: database)
        await database.cloud.service.settle()
        #expect(try await database.existing("n0", "n399") == [])
        #expect(try await database.modify([.create("n0")])[0].summary == "saved")
    }

    @Test func `deleting a zone that does not exist is zoneNotFound`() async throws {
        guard case .failure(let error) = try await modify(.delete, "Z", in: TestDatabase(TestCloud())) else {
            Issue.record("deleted")
            return
        }
        #expect(error.serverErrorCode == .zoneNotFound && error.clientErrorCode == 26)
        #expect(error.zoneID?.zoneName == "Z")
    }

    @Test(arguments: [DatabaseScope.public, .shared])
    func `custom zones are made in the private database only`(scope: DatabaseScope) async {
        let error = await #expect(throws: ServiceError.self) {
            try await modify(.create, "Z", in: TestDatabase(TestCloud(), "me", scope))
        }
        #expect(error?.clientCode == .badDatabase)
    }

    @Test(arguments: ["", "_z", "zöne", String(repeating: "z", count: 256)])
    func `a zone's name is 1 to 255 ASCII characters without a leading underscore, and others are made beside it`(
        name: String
    ) async throws {
        let database = TestDatabase(TestCloud())
        let operations = ["A", name, "B"].map {
            ZoneOperation(operationType: .create, zoneID: ZoneIDDictionary(zoneName: $0))
        }
        let results = try await database.cloud.service.modifyZones(
            ModifyZonesRequest(operations: operations), database.context
        ).zones
        guard results.count == 3, case .zone = results[0], case .failure(let error) = results[1],
            case .zone = results[2]
        else {
            Issue.record("\(results)")
            return
        }
        #expect(error.clientErrorCode == ServiceError.ClientCode.invalidArguments.rawValue)
        #expect(error.reason.contains("zoneName"))
        #expect(try await names(database) == ["_defaultZone", "A atomic", "B atomic"])
    }

    @Test func `the default zone needs no saving and cannot be deleted`() async throws {
        let database = TestDatabase(TestCloud())
        guard case .zone = try await modify(.create, "_defaultZone", in: database) else {
            Issue.record("refused")
            return
        }
        guard case .failure(let error) = try await modify(.delete, "_defaultZone", in: database) else {
            Issue.record("deleted")
            return
        }
        #expect(error.reason == "the default zone cannot be deleted")
    }

    @Test func `another owner's zone is not found, and the caller's own zones are`() async throws {
        let database = try await TestDatabase(TestCloud()).making(zone: "Z")
        let me = try await database.cloud.service.currentUser(database.context).userRecordName
        for (owner, found) in [(nil, true), ("__defaultOwner__", true), (me, true), ("_somebody", false)] {
            let zoneID = ZoneIDDictionary(zoneName: "Z", ownerRecordName: owner)
            let response = try await database.cloud.service.lookupZones(
                LookupZonesRequest(zones: [zoneID]), database.context)
            if case .zone = response.zones[0] { #expect(found) } else { #expect(!found) }
        }
    }
}
