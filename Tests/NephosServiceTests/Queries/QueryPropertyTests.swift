import NephosWire
import Testing

@testable import NephosService

@Suite("Any query gives what looking at every record gives")
struct QueryPropertyTests {
    /// Bounds under which few records take every way that many would.
    static let bounds: [QueryBounds] = {
        var tight = QueryBounds()
        tight.candidatesPerPage = 7
        tight.smallSet = 3
        tight.comparison = 12
        tight.rangesPerScan = 8
        var large = tight
        large.smallSet = 0
        large.keptBytes = 0
        return [QueryBounds(), tight, large].map { bounds in
            var bounds = bounds
            bounds.timePerPage = .seconds(600)
            return bounds
        }
    }()

    @Test(arguments: 1...12 as ClosedRange<UInt64>)
    func `random queries agree with the matcher`(seed: UInt64) async throws {
        var random = RandomQueries(seed: seed)
        let cloud = QueryCloud(bounds: Self.bounds[Int(seed) % Self.bounds.count])
        let zones = ["A", "B"]
        try await cloud.makeZones("A", "B")
        let names = (0..<40).map { "r\($0)" }
        for zone in zones {
            try await cloud.modify(names.map { random.record($0, others: names) }, zone: zone)
        }
        if seed % 4 != 0 { try await cloud.declare(random.indexes(), of: "Item") }
        var known = try await everything(cloud, names, zones)
        let wasReached = Reached()
        for round in 0..<120 {
            if round % 30 == 29 {
                for zone in zones {
                    try await cloud.modify(
                        names.filter { _ in random.random.chance(20) }.map { random.change($0, others: names) },
                        zone: zone)
                }
                known = try await everything(cloud, names, zones)
            }
            let query = random.query(names, extended: round % 2 == 1)
            let zoneWide = random.random.chance(30)
            try await expectAgreement(
                query, zoneWide, known, cloud, &random, wasReached, "seed \(seed), round \(round)")
        }
        #expect(wasReached.matches > 300, "seed \(seed): too few records matched to prove anything")
    }

    final class Reached { var matches = 0 }

    private func everything(
        _ cloud: QueryCloud, _ names: [String], _ zones: [String]
    ) async throws -> [KnownRecord] {
        let owner = try await cloud.service.currentUser(cloud.context).userRecordName
        var known: [KnownRecord] = []
        for zone in zones {
            let request = LookupRecordsRequest(
                records: names.map { .init(recordName: $0) }, zoneID: ZoneIDDictionary(zoneName: zone))
            for case .record(let record) in try await cloud.service.lookupRecords(request, cloud.context).records {
                known.append(KnownRecord(record, zone: zone, owner: owner))
            }
        }
        return known
    }

    private func expectAgreement(
        _ query: Query, _ zoneWide: Bool, _ known: [KnownRecord], _ cloud: QueryCloud, _ random: inout RandomQueries,
        _ reached: Reached, _ label: String
    ) async throws {
        let owner = known[0].zoneID.ownerRecordName ?? ""
        let condition = query.condition.mapFilters { filter -> Filter in
            guard case .reference(let reference) = filter.fieldValue.value, reference.recordName == "__defaultOwner__"
            else {
                return filter
            }
            var filter = filter
            filter.fieldValue.value = .reference(ReferenceValue(recordName: owner))
            return filter
        }
        let matcher = QueryMatcher(condition)
        let order = SortOrder(query.sortBy)
        let expected = known.filter { (zoneWide || $0.zoneID.zoneName == "A") && matcher.matches($0) }
            .sorted { order.precedes($0, $1) }.map {
                zoneWide ? "\($0.zoneID.zoneName)/\($0.recordName)" : $0.recordName
            }
        reached.matches += expected.count
        var limits = random.random
        let found = try await cloud.all(query, zone: "A", zoneWide: zoneWide) {
            limits.chance(50) ? nil : limits.pick([1, 2, 5, 13])
        }
        random.random = limits
        if query.sortBy.isEmpty {
            #expect(found.sorted() == expected.sorted(), "\(label): \(query)")
        } else {
            #expect(found == expected, "\(label): \(query)")
        }
        let count = try await cloud.page(query, zone: "A", zoneWide: zoneWide, count: true).count
        #expect(count == expected.count, "\(label), count: \(query)")
    }
}
