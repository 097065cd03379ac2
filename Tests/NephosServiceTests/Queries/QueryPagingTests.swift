import FoundationEssentials
import NephosCrypto
import NephosStorage
import NephosTesting
import NephosWire
import Testing

@testable import NephosService

@Suite("Paging while others write")
struct QueryPagingTests {
    private static let names = (0..<80).map { "r\($0)" }

    /// Queries whose records move: the orders that writes change, and those that they do not.
    private static let queries: [Query] = {
        let isOn = Filter(.field("on"), .equals, .int64(1))
        let center = LocationValue(latitude: 10, longitude: 20)
        func sorted(_ filters: [Filter], _ sort: QuerySortDescriptor...) -> Query {
            Query(recordType: "Item", filterBy: filters, sortBy: sort)
        }
        return [
            sorted([isOn], QuerySortDescriptor(.field("rank"))),
            sorted([isOn], QuerySortDescriptor(.field("rank"), ascending: false), QuerySortDescriptor(.field("other"))),
            sorted([], QuerySortDescriptor(.system(.modifiedTimestamp), ascending: false)),
            sorted([isOn], QuerySortDescriptor(.system(.modifiedTimestamp))),
            sorted([isOn], QuerySortDescriptor(.field("place"), relativeLocation: center)),
            sorted([isOn, Filter(.field("rank"), .greaterThan, .int64(2))]),
            sorted([Filter(.field("rank"), .greaterThan, .int64(2))]),
            sorted([isOn]),
            sorted([]),
            sorted([Filter(.field("on"), .notEquals, .int64(0))], QuerySortDescriptor(.field("rank"))),
            sorted([Filter(.field("place"), .near, .location(center), distance: 3_000_000)]),
        ]
    }()

    @Test(arguments: 1...10 as ClosedRange<UInt64>)
    func `no record is returned twice, and no record that always matches is missed`(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        var moved = 0
        for (index, query) in Self.queries.enumerated() {
            moved += try await page(query, &random, "seed \(seed), query \(index)")
        }
        #expect(moved > 100, "seed \(seed): too few pages were read while records moved")
    }

    /// - Returns: how many records changed between pages.
    private func page(_ query: Query, _ random: inout SeededGenerator, _ label: String) async throws -> Int {
        let cloud = QueryCloud(bounds: random.pick(QueryPropertyTests.bounds))
        try await cloud.makeZones("A", "B")
        let isWide = random.chance(40)
        for zone in ["A", "B"] {
            try await cloud.modify(Self.names.map { change($0, 100, &random) }, zone: zone)
        }
        var always = try await matching(query, cloud, isWide)
        var found: [String] = []
        var marker: String?
        var changes = 0
        repeat {
            let response = try await cloud.page(
                query, zone: "A", zoneWide: isWide, limit: random.pick([1, 3, 7, 20]), marker: marker)
            found += response.summary
            marker = response.continuationMarker
            guard marker != nil, random.chance(70) else { continue }
            for zone in ["A", "B"] {
                let writes = Self.names.filter { _ in random.chance(8) }.map { name -> RecordOperation in
                    random.chance(10) ? .delete(name) : change(name, 50, &random)
                }
                changes += writes.count
                try await cloud.modify(writes, zone: zone)
            }
            always.formIntersection(try await matching(query, cloud, isWide))
        } while marker != nil
        #expect(Set(found).count == found.count, "\(label): twice")
        #expect(always.subtracting(found) == [], "\(label): missed")
        return changes
    }

    private func change(_ name: String, _ percent: Int, _ random: inout SeededGenerator) -> RecordOperation {
        var fields: [String: FieldValue?] = [:]
        if random.chance(percent) { fields["rank"] = .int64(Int64.random(in: 0...9, using: &random)) }
        if random.chance(percent) { fields["other"] = .int64(Int64.random(in: 0...3, using: &random)) }
        if random.chance(percent / 2) { fields["on"] = .int64(random.chance(80) ? 1 : 0) }
        if random.chance(percent) {
            fields["place"] = .location(
                LocationValue(
                    latitude: Double.random(in: -30...40, using: &random),
                    longitude: Double.random(in: 0...40, using: &random)))
        }
        return .force(name, fields, type: "Item", parent: nil)
    }

    /// What matches now, read in one page that nothing comes between.
    private func matching(_ query: Query, _ cloud: QueryCloud, _ isWide: Bool) async throws -> Set<String> {
        var query = query
        query.sortBy = []
        return Set(try await cloud.all(query, zone: "A", zoneWide: isWide))
    }

    @Test func `no record is returned twice beyond the remembered results`() async throws {
        var bounds = QueryBounds()
        bounds.rememberedResults = 10
        let cloud = QueryCloud(bounds: bounds)
        var random = SeededGenerator(seed: 5)
        try await cloud.modify(Self.names.map { change($0, 100, &random) })
        let query = Query(recordType: "Item", sortBy: [QuerySortDescriptor(.field("rank"))])
        var found: [String] = []
        var marker: String?
        repeat {
            let response = try await cloud.page(query, limit: 6, marker: marker)
            found += response.summary
            marker = response.continuationMarker
            try await cloud.modify(Self.names.filter { _ in random.chance(10) }.map { change($0, 100, &random) })
        } while marker != nil && found.count < 1000
        #expect(Set(found).count == found.count)
        #expect(found.count > 40)
    }

    @Test func `a marker ends only when no records are left`() async throws {
        let cloud = QueryCloud()
        try await cloud.modify((0..<6).map { .create("n\($0)", ["rank": .int64(Int64($0))]) })
        let query = Query(recordType: "Note", sortBy: [QuerySortDescriptor(.field("rank"))])
        let first = try await cloud.page(query, limit: 3)
        #expect(first.continuationMarker != nil)
        let last = try await cloud.page(query, limit: 3, marker: first.continuationMarker)
        #expect(last.summary == ["n3", "n4", "n5"] && last.continuationMarker == nil)
        #expect(try await cloud.page(query, limit: 6).continuationMarker == nil)
        #expect(try await cloud.page(query, limit: 1000).records.count == 6)
    }

    @Test func `a cursor survives its text, and nothing else decodes as one`() {
        let strings = TokenCodec(key: .random(), database: "private _a")
        var given = GivenRecords()
        for number in 1...20 { given.insert(RowNumber(Int64(number) << 27)) }
        for phase in [
            QueryCursor.Phase.ordered(QueryPosition(key: [1, 0, 255], name: "é", zone: 3)),
            .changes(zone: 4, sequence: 99),
        ] {
            for order in [nil, "", "+rank"] {
                let cursor = QueryCursor(phase: phase, start: 12, given: given, order: order)
                let text = cursor.text(strings, query: [42])
                #expect(QueryCursor(text, strings, query: [42]) == cursor)
                #expect(QueryCursor(text, strings, query: [43]) == nil)
                for count in 0..<cursor.bytes.count {
                    #expect(QueryCursor(bytes: Array(cursor.bytes.prefix(count))) == nil)
                }
                #expect(QueryCursor(bytes: cursor.bytes + [0]) == nil)
            }
        }
        #expect([3 << 27, 3, 20 << 27, 21 << 27].map { given.contains(RowNumber($0)) } == [true, false, true, false])
        var random = SeededGenerator(seed: 1)
        for _ in 0..<2000 {
            let bytes = (0..<Int.random(in: 0...80, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            #expect(QueryCursor(Data(bytes).base64EncodedString(), strings, query: [42]) == nil)
        }
    }

    @Test func `a marker of the former encoding decodes`() throws {
        let numbers: [Int64] = [7 << 40, 3, 900]
        var former = ByteWriter(reserving: 256)
        former.append(4 as UInt8)
        for number in [12, 15, UInt64.max] { former.append(number) }
        former.append("")
        former.append(1 as UInt8)
        for number in [4, 99] as [UInt64] { former.append(number) }
        former.append(
            numbers.flatMap { number in
                stride(from: Int64(40), through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> $0) }
            })
        let cursor = try #require(QueryCursor(bytes: Array(former.bytes)))
        var given = GivenRecords()
        for number in numbers { given.insert(RowNumber(number)) }
        #expect(
            cursor == QueryCursor(phase: .changes(zone: 4, sequence: 99), start: 12, seen: 15, given: given, order: nil)
        )
        #expect(QueryCursor(bytes: cursor.bytes) == cursor)
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `a marker of random record numbers contains them and no others`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var numbers: Set<Int64> = []
        var cursor = QueryCursor(phase: .changes(zone: 1, sequence: 2), start: 1, given: GivenRecords(), order: nil)
        for _ in 0..<10 {
            for _ in 0..<Int.random(in: 0...50, using: &random) {
                let number = Int64.random(in: 0..<(1 << Int64.random(in: 1...48, using: &random)), using: &random)
                if numbers.insert(number).inserted { cursor.given.insert(RowNumber(number)) }
            }
            cursor = try #require(QueryCursor(bytes: cursor.bytes))
            #expect(cursor.given.count == numbers.count)
            #expect(numbers.allSatisfy { cursor.given.contains(RowNumber($0)) })
            for number in numbers where !numbers.contains(number + 1) {
                #expect(!cursor.given.contains(RowNumber(number + 1)))
            }
        }
    }

    @Test func `the largest marker of neighbouring records is below 200 KB`() {
        var given = GivenRecords()
        for number in 0..<Int64(QueryBounds().rememberedResults) { given.insert(RowNumber(number * 1000 + 1)) }
        let cursor = QueryCursor(phase: .changes(zone: 1, sequence: 2), start: 1, given: given, order: nil)
        let text = cursor.text(TokenCodec(key: .random(), database: "private _a"), query: [42])
        #expect(text.utf8.count < 200_000)
    }
}
