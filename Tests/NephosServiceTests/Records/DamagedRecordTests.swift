import Foundation
import NephosSQLite
import NephosStorage
import NephosWire
import Testing

@testable import NephosService

/// Damaged records: a disk lost a bit.
struct DamagedRecordTests {
    private let stores = TemporaryStores()

    /// A zone with three records and others, of which `middle` is damaged, in a service that was started again.
    private func damaged(
        others: Int = 0, indexes: [String?] = [nil, "text", "rank"], _ body: (TestDatabase) async throws -> Void
    ) async throws {
        defer { stores.remove() }
        let before = TestCloud(ServiceConfiguration(), stores: try stores.open())
        let database = try await TestDatabase(before).making(zone: "Z")
        for name in ["first", "middle", "last"] {
            _ = try await database.modify([
                .create(name, ["text": .string("needle-\(name)"), "rank": .int64(1)], parent: nil)
            ])
        }
        for start in stride(from: 0, to: others, by: 200) {
            _ = try await database.modify((start..<start + 200).map { .create("n\($0)", ["rank": .int64(7)]) })
        }
        // These indexes are made of the whole records.
        for field in indexes { _ = try await database.query(sortedBy: field) }
        await before.service.close()
        try stores.edit("iCloud.test") { data in
            while let place = data.range(of: Data("needle-middle".utf8)) { data[place.lowerBound] = 0x22 }
        }
        let log = TestCloud.Log()
        let cloud = TestCloud(ServiceConfiguration(), stores: try stores.open { log.add($0) })
        try await body(TestDatabase(cloud, zone: "Z"))
        #expect(log.all.count { $0.contains("record middle of zone") } == 1)
        await cloud.service.close()
    }

    private func expectDamage(_ results: [RecordResult], _ order: [String] = ["first", "middle", "last"]) throws {
        #expect(results.map { $0.record?.recordName ?? $0.error?.recordName } == order)
        let error = try #require(results.compactMap(\.error).first)
        #expect(error.recordName == "middle" && error.serverErrorCode == .internalError)
        #expect(error.reason.contains("damaged") && !error.reason.contains("needle"))
    }

    @Test func `a lookup reports the damage at the record's item, and returns the others`() async throws {
        try await damaged { database in
            try expectDamage(try await database.lookup("first", "middle", "last"))
        }
    }

    @Test func `a feed page reports the damage at the record's item, and returns the others, in every form`()
        async throws
    {
        try await damaged { database in
            let changes = try await database.changes()
            try expectDamage(changes.records)
            #expect(!changes.moreComing)
            var context = database.context
            context.takesEncodedRecords = true
            var zone = RecordZoneChangesRequest.Zone(zoneID: try #require(database.zoneID))
            let encoded = try await database.cloud.service.recordZoneChanges(
                RecordZoneChangesRequest(zones: [zone]), context)
            guard case .changes(let read) = try RecordZoneChangesResponse(decoding: encoded.encoded()).zones[0] else {
                Issue.record("no changes")
                return
            }
            try expectDamage(read.records)
            zone.packed = true
            let packed = try await database.cloud.service.recordZoneChanges(
                RecordZoneChangesRequest(zones: [zone]), context)
            guard case .changes(let page) = packed.zones[0], let records = page.packedRecords else {
                Issue.record("no packed records")
                return
            }
            var reader = PackedRecordsReader(records)
            var entries: [String] = []
            while let entry = try reader.next() {
                switch entry {
                case .record(let record): entries.append(try reader.string(record.name))
                case .unreadable(let name, let reason):
                    entries.append("\(try reader.string(name)): \(reader.texts[reason])")
                case .deleted: Issue.record("nothing was deleted")
                }
            }
            #expect(entries.count == 3 && entries[0] == "first" && entries[2] == "last")
            #expect(entries[1].hasPrefix("middle: The record is damaged"))
        }
    }

    @Test(arguments: [nil, "text", "rank"])
    func `a query reports the damage at the record's item, and returns the others`(_ sortedBy: String?) async throws {
        try await damaged { database in
            let results = try await database.query(sortedBy: sortedBy)
            try expectDamage(
                results.sorted { $0.recordedName < $1.recordedName }, ["first", "last", "middle"])
        }
    }

    /// Whether the index is made in one step, or gathered and sorted.
    @Test(arguments: [0, 2000])
    func `a query by a later index reports the damage, whatever its desired keys`(others: Int) async throws {
        try await damaged(others: others, indexes: []) { database in
            for condition in [#"{"fieldName":"text","comparator":"EQUALS","fieldValue":{"value":"needle-first"}}"#] {
                let results = try await database.query(where: condition)
                try expectDamage(results, ["middle", "first"])
            }
            let none = #"{"fieldName":"rank","comparator":"EQUALS","fieldValue":{"value":99}}"#
            try expectDamage(try await database.query(where: none), ["middle"])
            #expect(try await database.count(where: none) == 1)
            // By name no index is needed.
            let named =
                #"{"fieldName":"___recordID","comparator":"EQUALS","fieldValue":{"value":{"recordName":"first"}}}"#
            #expect(try await database.query(where: named).compactMap(\.record?.recordName) == ["first"])
            // Each once, though it is in no order.
            let all = try await database.query(sortedBy: "rank", where: Self.three)
            try expectDamage(all.sorted { $0.recordedName < $1.recordedName }, ["first", "last", "middle"])
        }
    }

    private static let three = #"{"fieldName":"rank","comparator":"LESS_THAN","fieldValue":{"value":5}}"#

    @Test func `deleting the zone or the index deletes its list of omitted records`() async throws {
        try await damaged(indexes: []) { database in
            _ = try await database.query(sortedBy: "rank")
            let engine = try #require(database.cloud.service.openStores.first).engine
            func lists() async throws -> Int {
                try await engine.read { reader in
                    try reader.indexDefinitions().reduce(0) { count, row in
                        try reader.zones(after: 0, limit: 100).reduce(count) { count, zone in
                            let list = IndexRange(
                                zone: zone.key, definition: row.leftOut, from: [], to: OrderedBytes.end)
                            return try count + reader.countIndexEntries(list, limit: 100)
                        }
                    }
                }
            }
            #expect(try await lists() > 0)
            let other = try await database.cloud.service.queryRecords(
                database.cloud.service.decodedQuery(Array(#"{"query":{"recordType":"Note"}}"#.utf8)), database.context)
            #expect(other.records.isEmpty)
            try await database.deleteZone("Z")
            await database.cloud.service.settle()
            #expect(try await lists() == 0)
        }
    }

    @Test func `a save or deletion of a damaged record is refused at its item, and the others succeed`() async throws {
        try await damaged { database in
            let results = try await database.modify(
                [.force("first", ["rank": .int64(2)]), .force("middle", ["rank": .int64(2)]), .delete("last")],
                atomic: false)
            #expect(results.map(\.summary) == ["saved", "error 1", "deleted"])
            #expect(try await database.lookup("middle")[0].error?.reason.contains("damaged") == true)
        }
    }

    @Test func `a record may refer to a damaged record, and its zone can be deleted`() async throws {
        try await damaged { database in
            #expect(try await database.modify([.create("child", parent: "middle")]).map(\.summary) == ["saved"])
            try await database.deleteZone("Z")
            await database.cloud.service.settle()
            let engine = try #require(database.cloud.service.openStores.first).engine
            #expect(try await engine.read { try $0.jobs(limit: 10) } == [])
        }
    }
}

extension RecordResult {
    fileprivate var recordedName: String { record?.recordName ?? error?.recordName ?? "" }
}

extension TestDatabase {
    fileprivate func query(sortedBy field: String? = nil, where condition: String = "") async throws -> [RecordResult] {
        try await answer(sortedBy: field, where: condition).records
    }

    fileprivate func count(where condition: String) async throws -> Int? {
        try await answer(sortedBy: nil, where: condition, #","nephosCount":true"#).count
    }

    private func answer(
        sortedBy field: String?, where condition: String, _ more: String = ""
    ) async throws -> QueryRecordsResponse {
        let body =
            #"{"zoneID":{"zoneName":"\#(zone ?? "_defaultZone")"},"query":{"recordType":"Note","filterBy":[\#(condition)]"#
            + (field.map { #","sortBy":[{"fieldName":"\#($0)"}]"# } ?? "") + "}\(more)}"
        return try await cloud.service.queryRecords(cloud.service.decodedQuery(Array(body.utf8)), context)
    }
}
