import NephosStorage
import NephosWire
import Testing

@testable import NephosService

@Suite("Indexes hold what the records hold")
struct IndexMaintenanceTests {
    /// Queries of every shape, so that there are indexes of every kind.
    private func makeIndexes(_ cloud: QueryCloud, _ random: inout RandomQueries, names: [String]) async throws {
        for field in RandomQueries.scalars + RandomQueries.lists {
            for comparator in RandomQueries.comparators(field) where !comparator.isNegative && field != "loc" {
                _ = try await cloud.page(
                    Query(
                        recordType: "Item",
                        filterBy: [
                            Filter(
                                .field(field), comparator,
                                comparator.takesList
                                    ? .list(of: .unknown, [])
                                    : comparator.isFullText
                                        ? .string("red") : random.operandSample(comparator, field, names))
                        ]), zone: "A")
            }
        }
        for _ in 0..<25 { _ = try await cloud.page(random.query(names, extended: false), zone: "A", zoneWide: true) }
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `entries are exact after saves, updates, deletions and cascades`(seed: UInt64) async throws {
        let stores = OpenStores()
        let cloud = QueryCloud(stores: stores)
        try await cloud.makeZones("A", "B")
        var random = RandomQueries(seed: seed)
        let names = (0..<30).map { "r\($0)" }
        try await cloud.modify(names.map { random.record($0, others: names) }, zone: "A")
        try await makeIndexes(cloud, &random, names: names)
        for round in 0..<12 {
            let zone: String? = random.random.pick(["A", "B", nil])
            let operations = names.filter { _ in random.random.chance(30) }.map { name in
                switch random.random.pick([0, 0, 1, 2, 3]) {
                case 0: return random.change(name, others: names)
                case 1: return random.record(name, others: names)
                case 2:
                    var replacement = random.change(name, others: names)
                    replacement.operationType = .forceReplace
                    replacement.record.recordType = "Item"
                    replacement.record.keep = RandomQueries.scalars.filter { _ in random.random.chance(50) }
                    return replacement
                default: return .delete(name)
                }
            }
            try await cloud.modify(operations, zone: zone)
            // A tree of owned records, deleted at its root: at once in a custom zone, later in the default zone.
            try await cloud.modify(
                [.create("root\(round)", ["s": .string("root")], type: "Item")]
                    + (0..<5).map {
                        .create(
                            "leaf\(round).\($0)", ["s": .string("leaf"), "r": .owner("root\(round)")], type: "Item")
                    },
                zone: zone)
            try await cloud.modify([.delete("root\(round)")], zone: zone)
            await cloud.service.settle()
            try await expectExactEntries(stores, "seed \(seed), round \(round)")
        }
    }

    @Test func `entries are exact after a replacement that keeps one field, drops another and sends none`() async throws
    {
        let stores = OpenStores()
        let cloud = QueryCloud(stores: stores)
        try await cloud.makeZones("A")
        let records = (0..<80).map { number in
            RecordOperation.create("r\(number)", ["s": .string("x"), "i": .int64(1)], type: "Item")
        }
        try await cloud.modify(records, zone: "A")
        let query = Query(recordType: "Item", filterBy: [Filter(.field("s"), .equals, .string("x"))])
        _ = try await cloud.page(query, zone: "A")
        await cloud.service.settle()
        var operation = RecordOperation.make(.forceReplace, "r7", [:], type: "Item")
        operation.record.keep = ["i"]
        try await cloud.modify([operation], zone: "A")
        await cloud.service.settle()
        try await expectExactEntries(stores, "replaced")
    }

    @Test func `a deleted zone leaves no entries behind`() async throws {
        let stores = OpenStores()
        let cloud = QueryCloud(stores: stores)
        try await cloud.makeZones("A", "B")
        var random = RandomQueries(seed: 9)
        let names = (0..<300).map { "r\($0)" }
        for zone in ["A", "B"] { try await cloud.modify(names.map { random.record($0, others: names) }, zone: zone) }
        try await makeIndexes(cloud, &random, names: names)
        try await cloud.deleteZone("A")
        await cloud.service.settle()
        try await expectExactEntries(stores, "zone deleted")
        let zones = try await self.zones(stores)
        let left = try await stores.engine.read { try $0.allEntries(zones: zones) }
        let names2 = Set(left.map(\.zone.id))
        #expect(names2.count == 1)
    }

    private func zones(_ stores: OpenStores) async throws -> [ZoneKey] {
        let live = try await stores.engine.read { try $0.zones(after: 0, limit: .max).map(\.key) }
        let owners = Set(live.map(\.owner))
        let deleted = try await stores.engine.read { reader in
            try owners.flatMap { try reader.deletedZones(owner: $0, after: 0, limit: 100).map(\.key) }
        }
        return live + deleted
    }

    private func expectExactEntries(_ stores: OpenStores, _ label: String) async throws {
        let zones = try await zones(stores)
        let (actual, expected) = try await stores.engine.read {
            (try $0.allEntries(zones: zones), try $0.expectedEntries(zones: zones))
        }
        #expect(actual.count > 50, "\(label): too few entries to prove anything")
        #expect(actual.subtracting(expected) == [], "\(label): entries that should not be")
        #expect(expected.subtracting(actual) == [], "\(label): entries that are missing")
    }
}

extension RandomQueries {
    fileprivate mutating func operandSample(
        _ comparator: FilterComparator, _ field: String, _ names: [String]
    ) -> FieldValue {
        if comparator == .beginsWith || comparator == .listMemberBeginsWith { return .string("r") }
        let scalar = ["ls": "s", "li": "d", "lr": "r"][field] ?? field
        return value(of: scalar, names)
    }
}
