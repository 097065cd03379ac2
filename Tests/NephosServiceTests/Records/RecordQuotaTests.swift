import NephosPostgres
import NephosPostgresTesting
import NephosStorage
import NephosTesting
import NephosWire
import Testing

@testable import NephosService

/// The quotas of the records of databases.
@Suite struct RecordQuotaTests {
    private let cloud: TestCloud
    private static let value = String(repeating: "x", count: 1000)

    /// A database has room for some twenty records of a test.
    private static var configuration: ServiceConfiguration {
        var configuration = ServiceConfiguration()
        configuration.recordBytesPerAccount = 24_000
        configuration.recordBytesPerContainer = 48_000
        return configuration
    }

    init() { cloud = TestCloud(Self.configuration) }

    private func records(_ names: [String], _ value: String = value) -> [RecordOperation] {
        names.map { .force($0, ["text": .string(value)]) }
    }

    /// Saves records until the database is full.
    /// - Returns: the names of the saved records.
    private func fill(_ database: TestDatabase) async throws -> [String] {
        var saved: [String] = []
        for number in 0..<100 {
            let name = "record \(number)"
            let result = try #require(try await database.modify(records([name])).first)
            try await cloud.settle()
            if result.summary == "saved" { saved.append(name) } else { break }
        }
        return saved
    }

    @Test func `a full database refuses what makes it larger, and takes the rest`() async throws {
        let full = try await TestDatabase(cloud, "ada").making(zone: "notes")
        let saved = try await fill(full)
        #expect(21...24 ~= saved.count, "\(saved.count)")
        let results = try await full.modify(
            records(["new"]) + records([saved[0]], "less") + records([saved[1]], Self.value + "more")
                + [.delete(saved[2])], atomic: false)
        #expect(results.map(\.summary) == ["error 25", "saved", "error 25", "deleted"])
        #expect(results[0].error?.serverErrorCode == .quotaExceeded)
        let batch = try await full.modify(records(["new"]) + records([saved[3]], "less"), atomic: true)
        #expect(batch.map(\.summary) == ["error 25", "error 22"])
        let request = ModifyZonesRequest(
            operations: ["notes", "others"].map {
                ZoneOperation(operationType: .create, zoneID: ZoneIDDictionary(zoneName: $0))
            })
        let zones = try await cloud.service.modifyZones(request, full.context).zones
        guard case .zone = zones[0], case .failure(let error) = zones[1] else {
            Issue.record("\(zones)")
            return
        }
        #expect(error.serverErrorCode == .quotaExceeded)
    }

    @Test func `a quota is one database's`() async throws {
        let full = try await TestDatabase(cloud, "ada").making(zone: "notes")
        _ = try await fill(full)
        let others = [
            TestDatabase(cloud, "bob"), TestDatabase(cloud, "ada", .public),
            TestDatabase(cloud, "ada", zone: nil),
        ]
        var summaries: [String] = []
        for database in others { summaries += try await database.modify(records(["new"])).map(\.summary) }
        // The account's other zones are of the same database.
        #expect(summaries == ["saved", "saved", "error 25"])
        let inPublic = try await fill(TestDatabase(cloud, "bob", .public))
        #expect(inPublic.count > 36, "\(inPublic.count)")
        #expect(try await TestDatabase(cloud, "ada", .public).modify(records(["more"])).map(\.summary) == ["error 25"])
    }

    @Test func `deletions make room, and a participant's save counts for the owner`() async throws {
        let owner = try await TestDatabase(cloud, "ada").making(zone: "notes")
        let body = """
            {"zoneID":{"zoneName":"notes"},"operations":[
            {"operationType":"create","record":{"recordName":"root","recordType":"Note"}},
            {"operationType":"create","record":{"recordName":"share","recordType":"cloudkit.share",
            "forRecord":{"recordName":"root"},"publicPermission":"READ_WRITE"}}]}
            """
        let shared = try await cloud.service.modifyRecords(
            ModifyRecordsRequest(decoding: Array(body.utf8)), owner.context
        ).records
        let guid = try #require(shared[1].record?.shareDetails?.shortGUID, "\(shared)")
        let ownerName = try await cloud.service.currentUser(owner.context).userRecordName
        _ = try await cloud.service.acceptShares(
            ShortGUIDsRequest(shortGUIDs: [.init(value: guid)]), cloud.context("bob"))
        let saved = try await fill(owner)
        func saveAsParticipant() async throws -> [String] {
            let request = ModifyRecordsRequest(
                operations: [.create(nil, ["text": .string(Self.value)], parent: "root")],
                zoneID: ZoneIDDictionary(zoneName: "notes", ownerRecordName: ownerName), wantsServerRecord: true)
            return try await cloud.service.modifyRecords(request, cloud.context("bob", .shared)).records.map(\.summary)
        }
        #expect(try await saveAsParticipant() == ["error 25"])
        _ = try await owner.modify(saved.map { .delete($0) })
        // It is measured again after a deletion, at most every ten seconds.
        try await cloud.settle()
        #expect(try await saveAsParticipant() == ["error 25"])
        cloud.advance(milliseconds: RecordQuota.fullRecheck)
        try await expectRoom("ada")
        #expect(try await saveAsParticipant() == ["saved"])
        #expect(try await owner.modify(records(["new"])).map(\.summary) == ["saved"])
    }

    /// Waits until an account's database is known to have room, without a save.
    private func expectRoom(_ account: String) async throws {
        try await eventually {
            try await cloud.withStore { store in
                let row = try #require(try await store.engine.read { try $0.account(named: account) })
                return store.quota.refusal(of: row.owner) == nil
            }
        }
    }

    @Test func `deletions of records and of zones make room at once, ten seconds after the last measurement`()
        async throws
    {
        for (account, deletesZone) in [("ada", true), ("bob", false)] {
            let full = try await TestDatabase(cloud, account).making(zone: "notes")
            let saved = try await fill(full)
            cloud.advance(milliseconds: RecordQuota.fullRecheck)
            if deletesZone {
                let request = ModifyZonesRequest(operations: [
                    ZoneOperation(operationType: .delete, zoneID: ZoneIDDictionary(zoneName: "notes"))
                ])
                _ = try await cloud.service.modifyZones(request, full.context)
            } else {
                _ = try await full.modify(saved.map { .delete($0) })
            }
            try await expectRoom(account)
        }
    }

    @Test func `a full database takes no longer client change token with a save, and any with deletions`() async throws
    {
        let full = try await TestDatabase(cloud, "ada").making(zone: "notes")
        func send(_ operations: [RecordOperation], token: Int) async throws(ServiceError) -> [String] {
            let request = ModifyRecordsRequest(
                operations: operations, zoneID: full.zoneID, wantsServerRecord: true,
                clientChangeToken: String(repeating: "t", count: token))
            return try await cloud.service.modifyRecords(request, full.context).records.map(\.summary)
        }
        var saved: [String] = []
        while saved.count < 100, try await send(records(["record \(saved.count)"]), token: 300) == ["saved"] {
            saved.append("record \(saved.count)")
            try await cloud.settle()
        }
        for size in [300, 299] {
            #expect(try await send([.delete(saved[size - 299])], token: size) == ["deleted"])
        }
        let stored = try #require(try await full.lookup(saved[2])[0].record)
        let error = await #expect(throws: ServiceError.self) {
            _ = try await send([.update(stored)], token: 16 << 10)
        }
        #expect(error?.code == .quotaExceeded)
        // The request changed nothing.
        #expect(try await full.lookup(saved[2])[0].record?.recordChangeTag == stored.recordChangeTag)
        // What makes room is never refused.
        #expect(try await send([.delete(saved[2])], token: 16 << 10) == ["deleted"])
    }

    @Test func `zones that are made and deleted again and again fill a database, without their change tokens`()
        async throws
    {
        let database = try await TestDatabase(cloud, "ada").making(zone: "kept")
        func change(_ type: ZoneOperation.OperationType, _ name: String) async throws -> ServerErrorCode? {
            let result = try await cloud.service.modifyZones(
                ModifyZonesRequest(operations: [
                    ZoneOperation(operationType: type, zoneID: ZoneIDDictionary(zoneName: name))
                ]), database.context
            ).zones.first
            if case .failure(let error)? = result { return error.serverErrorCode }
            return nil
        }
        var made = 0
        while made < 400, try await change(.create, "zone \(made)") == nil {
            var request = ModifyRecordsRequest(
                operations: [.delete("none")], zoneID: ZoneIDDictionary(zoneName: "zone \(made)"))
            request.clientChangeToken = String(repeating: "t", count: 10_000)
            _ = try await cloud.service.modifyRecords(request, database.context)
            #expect(try await change(.delete, "zone \(made)") == nil)
            made += 1
            try await cloud.settle()
            cloud.advance(milliseconds: RecordQuota.fullRecheck)
        }
        #expect(100..<250 ~= made, "\(made)")
    }

    private func measured() async throws -> Int64 {
        try await cloud.withStore { store in
            let row = try #require(try await store.engine.read { try $0.account(named: "ada") })
            return try await DatabaseSize.measure(row.owner, store.engine)
        }
    }

    @Test func `records that are being purged count beyond as many bytes as the others have`() async throws {
        func delete(_ name: String) async throws {
            try await cloud.withStore { store in
                let row = try #require(try await store.engine.read { try $0.account(named: "ada") })
                // Without the job that purges the records.
                try await store.engine.write(of: [row.owner]) { transaction in
                    let zone = try #require(try transaction.zone(owner: row.owner, named: name)).key
                    try transaction.markZoneDeleted(zone, sequence: transaction.nextSequence(), at: 0, reason: 0)
                }
            }
        }
        var sizes: [Int64] = []
        for name in ["a", "b", "c"] {
            let database = try await TestDatabase(cloud, "ada").making(zone: name)
            _ = try await database.modify(records((0..<5).map { "record \($0)" }))
            sizes.append(try await measured())
        }
        let zone = sizes[1] - sizes[0]
        #expect(zone > 5000 && sizes[2] == sizes[1] + zone)
        try await delete("a")
        let names = sizes[2] - 3 * zone
        #expect(2 * zone...2 * zone + names + 300 ~= (try await measured()))
        try await delete("b")
        #expect(3 * zone / 2...3 * zone / 2 + names + 300 ~= (try await measured()))
    }

    @Test func `names, change tokens and keys count`() async throws {
        let database = try await TestDatabase(cloud, "ada").making(zone: "notes")
        let empty = try await measured()
        var request = ModifyRecordsRequest(
            operations: [.force("0123456789")], zoneID: database.zoneID, wantsServerRecord: true)
        request.clientChangeToken = "token"
        _ = try await cloud.service.modifyRecords(request, database.context)
        let fields = try await cloud.withStore { store in
            let row = try #require(try await store.engine.read { try $0.account(named: "ada") })
            return try await store.engine.write(of: [row.owner]) { transaction in
                let zone = try #require(try transaction.zone(owner: row.owner, named: "notes")).key
                try transaction.put(KeyRow(zone: zone, kind: .perZone, id: [1, 2], body: [1, 2, 3]))
                try transaction.put(
                    KeyRow(zone: ZoneKey(owner: row.owner, id: 0), kind: .listEntry, id: [1], body: [1]))
                return Int64(try #require(try transaction.record(zone: zone, named: "0123456789")).fields.count)
            }
        }
        #expect(try await measured() == empty + fields + 100 + 10 + 5 + (100 + 5) + (100 + 2))
    }

    @Test(.overPostgreSQL) func `two servers over one database measure the same`() async throws {
        let (options, address) = (TestCluster.options(connections: 4), try TestCluster.address.get())
        let clock = TestCloud.Clock()
        let clouds = try (0..<2).map { _ in
            TestCloud(Self.configuration, stores: try PostgresStores(address, options: options), clock: clock)
        }
        let databases = clouds.map { TestDatabase($0, "ada") }
        var results: [String] = []
        for number in 0..<100 {
            results += try await databases[number % 2].modify(records(["record \(number)"])).map(\.summary)
            for cloud in clouds { try await cloud.settle() }
            if results.suffix(2) == ["error 25", "error 25"] { break }
        }
        // Each knows the other's records.
        #expect(results.suffix(2) == ["error 25", "error 25"])
        #expect(21...24 ~= results.count { $0 == "saved" }, "\(results.count)")
        for cloud in clouds { await cloud.service.close() }
    }
}
