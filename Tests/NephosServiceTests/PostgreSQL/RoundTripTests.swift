import NephosPostgres
import NephosPostgresTesting
import NephosWire
import Testing

@testable import NephosService

/// The number of round trips of each request: the table of Documentation/PostgreSQL.md.
@Suite(.overPostgreSQL, .oneAtATime) struct RoundTripTests {
    @Test func `requests take a fixed number of round trips, however many records they have`() async throws {
        let stores = try PostgresStores(
            try TestCluster.address.get(),
            options: TestCluster.options(connections: 1))
        let cloud = TestCloud(ServiceConfiguration(), stores: stores)
        let database = try await TestDatabase(cloud).making(zone: "Z")
        let batch = (0..<200).map { "r\($0)" }
        func query(_ limit: Int? = nil) async throws -> Int {
            let query = Query(recordType: "Note", filterBy: [Filter(.field("n"), .equals, .int64(1))])
            return try await cloud.service.queryRecords(
                QueryRecordsRequest(query: query, zoneID: database.zoneID, resultsLimit: limit), database.context
            ).records.count
        }
        // What is looked up once: the account, the schema, the index of the query.
        _ = try await database.modify(batch.map { .force($0, ["n": .int64(1)]) })
        #expect(try await query() > 0)
        await cloud.service.settle()

        /// The least of several: the background asks now and then too.
        func count(_ body: () async throws -> Void) async throws -> Int {
            var least = Int.max
            for _ in 0..<4 {
                await cloud.service.settle()
                let before = stores.roundTrips
                try await body()
                least = min(least, stores.roundTrips - before)
            }
            return least
        }
        let one = try await count { _ = try await database.modify([.force("r1", ["n": .int64(1)])]) }
        #expect(one <= 2, "a save of one record: \(one)")
        let new = try await count {
            _ = try await database.modify([.create(nil, ["n": .int64(2)])])
        }
        #expect(new <= 2, "a save of a new record: \(new)")
        let many = try await count { _ = try await database.modify(batch.map { .force($0, ["n": .int64(1)]) }) }
        #expect(many <= 2, "a save of 200 records: \(many)")
        let lookup = try await count { _ = try await database.lookup("r1", "r2", "r3") }
        #expect(lookup <= 2, "a lookup: \(lookup)")
        let single = try await count { _ = try await database.lookup("r1") }
        #expect(single <= 1, "a lookup of one record: \(single)")
        let names = batch.map { LookupRecordsRequest.Item(recordName: $0) }
        let lookups = try await count {
            let request = LookupRecordsRequest(records: names, zoneID: database.zoneID)
            let found = try await cloud.service.lookupRecords(request, database.context).records
            #expect(found.count == 200)
        }
        #expect(lookups <= 2, "a lookup of 200 records: \(lookups)")
        let shared = try await shareTree(cloud, of: 100)
        for names in [["leaf1"], shared.names] {
            let request = LookupRecordsRequest(
                records: names.map { LookupRecordsRequest.Item(recordName: $0) }, zoneID: shared.zone)
            let trips = try await count {
                let found = try await cloud.service.lookupRecords(request, cloud.context("bob", .shared)).records
                #expect(found.allSatisfy { $0.record != nil } && found.count == names.count)
            }
            #expect(trips <= 2, "a lookup of \(names.count) shared records: \(trips)")
        }
        let saved = try await count {
            let saved = try await cloud.service.modifyRecords(
                ModifyRecordsRequest(
                    operations: [.create(nil, ["n": .int64(1)], parent: "root")], zoneID: shared.zone),
                cloud.context("bob", .shared)
            ).records
            #expect(saved[0].record != nil)
        }
        func saveShared(_ operations: [RecordOperation]) async throws {
            let saved = try await cloud.service.modifyRecords(
                ModifyRecordsRequest(operations: operations, zoneID: shared.zone), cloud.context("bob", .shared)
            ).records
            #expect(saved.allSatisfy { $0.record != nil })
        }
        let added = try await count {
            try await saveShared((0..<100).map { _ in .create(nil, ["n": .int64(1)], parent: "root") })
        }
        let changed = try await count {
            try await saveShared(shared.names.map { .force($0, ["n": .int64(2)]) })
        }
        #expect(added <= 10 && changed <= 10, "a participant's save of 100 records: \(added), \(changed)")
        #expect(saved <= 10, "a participant's save of a new record: \(saved)")
        let page = try await count { _ = try await database.changes() }
        #expect(page <= 2, "a page of a feed: \(page)")
        let found = try await count { _ = try await query() }
        #expect(found <= 2, "a page of a query: \(found)")
        let part = try await count {
            let found = try await query(50)
            #expect(found == 50)
        }
        #expect(part <= 2, "the first page of a query: \(part)")
        print(
            "Round trips: save \(one), new \(new), 200 saves \(many), lookup \(single) and \(lookup), feed \(page), query \(found)"
        )
        await cloud.service.close()
    }

    /// A hierarchy of alice's that bob takes part in.
    private func shareTree(
        _ cloud: TestCloud, of count: Int
    ) async throws -> (zone: ZoneIDDictionary, names: [String]) {
        let own = try await TestDatabase(cloud, "alice").making(zone: "Z")
        let body = """
            {"zoneID":{"zoneName":"Z"},"operations":[
            {"operationType":"create","record":{"recordName":"root","recordType":"List"}},
            {"operationType":"create","record":{"recordName":"share","recordType":"cloudkit.share",
            "forRecord":{"recordName":"root"},"publicPermission":"READ_WRITE"}}]}
            """
        let saved = try await cloud.service.modifyRecords(
            ModifyRecordsRequest(decoding: Array(body.utf8)), own.context
        ).records
        let guid = try #require(saved[1].record?.shareDetails?.shortGUID, "\(saved)")
        let names = (0..<count).map { "leaf\($0)" }
        _ = try await own.modify(names.map { .create($0, ["n": .int64(1)], parent: "root") })
        _ = try await cloud.service.acceptShares(
            ShortGUIDsRequest(shortGUIDs: [.init(value: guid)]), cloud.context("bob"))
        let owner = try await cloud.service.currentUser(cloud.context("alice")).userRecordName
        return (ZoneIDDictionary(zoneName: "Z", ownerRecordName: owner), names)
    }
}
